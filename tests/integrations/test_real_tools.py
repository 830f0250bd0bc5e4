"""What the schemas of every-eval-ever make of exported runs: the newest release, fetched without installing."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest

from lotbench.cli import main
from tests.old_runs import FOLDER, RUNS

pytestmark = pytest.mark.slow


def pip(*arguments: str, python: str = sys.executable) -> None:
    command = [python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=600)


def exported(tool: str, out: Path) -> dict[str, Path]:
    """Every recorded run, each in a folder of its own."""
    for name in RUNS:
        assert main(["export", str(FOLDER / name), "--to", tool, "--out", str(out / name)]) == 0
    return {name: out / name for name in RUNS}


def test_the_schemas_of_every_eval_ever_take_every_file_and_every_line(tmp_path: Path) -> None:
    pip(
        "download",
        "--no-deps",
        "--python-version",
        "3.12",
        "--only-binary=:all:",
        "-d",
        str(tmp_path),
        "every-eval-ever",
    )
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        whole, row = (
            json.loads(packed.read(f"every_eval_ever/schemas/{name}.schema.json"))
            for name in ("eval", "instance_level_eval")
        )
    for folder in exported("every-eval-ever", tmp_path / "out").values():
        [about], [walks] = folder.rglob("*.json"), folder.rglob("*.jsonl")
        jsonschema.validate(json.loads(about.read_text(encoding="utf-8")), whole)
        for line in walks.read_text(encoding="utf-8").splitlines():
            jsonschema.validate(json.loads(line), row)
