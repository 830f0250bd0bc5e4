"""The site of docs/: it is built without a warning, every link in it leads somewhere, and its search finds the game."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.pages import ROOT


@pytest.mark.slow
def test_the_site_is_built_and_whole(tmp_path: Path) -> None:
    site = ["-f", str(ROOT / "configs/docs.yml"), "-d", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", *site],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert ended.returncode == 0, ended.stderr
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.html")}
    docs = ROOT / "docs"
    assert {path.relative_to(docs).with_suffix(".html").as_posix() for path in docs.rglob("*.md")} <= pages
    for page in pages - {"404.html"}:
        text = (tmp_path / page).read_text("utf-8")
        for link in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', text):
            assert ((tmp_path / page).parent / unquote(link)).exists(), (page, link)
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', text), page
    found = json.loads((tmp_path / "search" / "search_index.json").read_text("utf-8"))["docs"]
    assert any("Kaplan-Meier" in one["text"] and one["location"].startswith("measures.html") for one in found)
