"""The benchmark of docs/development.md, built from the page's own blocks and found as if installed."""

import re
import tomllib
from pathlib import Path

from tests.pages import ROOT

PAGE = "docs/development.md"
FILE = re.compile(r"^```\w+ title=(\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def build(folder: Path) -> Path:
    """Write every file that the page shows, and what pip would write beside the package; returns its data."""
    files = dict(FILE.findall((ROOT / PAGE).read_text(encoding="utf-8")))
    for name, body in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="utf-8")
    project = tomllib.loads(files["pyproject.toml"])["project"]
    about = folder / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", "utf-8")
    points = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    return folder / "uses" / "data"
