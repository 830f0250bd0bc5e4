"""A browser is found where there is one; where there is none, tests of pages are left out and the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browsing import NAMED, NoBrowser, chromium
from tests.of_tests.test_conftest import run_pytest


def program(folder: Path, name: str, code: int = 0) -> str:
    """A program that takes itself for a browser, or (by its exit code) says that it is none."""
    path = folder / name
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit {code}\nexit 9\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_the_first_place_with_a_browser_that_runs_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = program(tmp_path, "chromium-browser", 1)
    there, last = program(tmp_path, "google-chrome"), program(tmp_path, "own")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert chromium({}, ("no-such-program", stub, "google-chrome", last)) == there
    assert chromium({}, (str(tmp_path / "absent"), last)) == last
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(NoBrowser):
        chromium({}, ("no-such-program", stub, str(tmp_path / "text")))


def test_a_browser_that_is_named_is_taken_or_complained_of(tmp_path: Path) -> None:
    named, other = program(tmp_path, "named"), program(tmp_path, "other")
    assert chromium({NAMED: named}, (other,)) == named
    assert chromium({NAMED: ""}, (other,)) == other
    for wrong in (str(tmp_path / "absent"), program(tmp_path, "stub", 1)):
        with pytest.raises(FileNotFoundError, match=f"LOTBENCH_CHROMIUM: {wrong} "):
            chromium({NAMED: wrong}, (other,))


NOWHERE = """
from contextlib import nullcontext
from types import SimpleNamespace
from tests import browsing
browsing.PLACES = ()
browsing.sync_playwright = lambda: nullcontext(SimpleNamespace(chromium=SimpleNamespace(executable_path="/absent")))
def test_page(chromium): pass
def test_another_page(chromium): pass
def test_other(): pass
"""


@pytest.mark.slow
def test_without_a_browser_pages_are_left_out_and_the_run_says_how_to_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NAMED, raising=False)
    monkeypatch.delenv("CI", raising=False)
    *_, told, closing = run_pytest(tmp_path, NOWHERE, "-q").splitlines()
    assert told.startswith("2 tests of pages were left out") and NAMED in told
    assert closing.startswith("1 passed, 2 skipped")
    monkeypatch.setenv(NAMED, "/absent/chromium")
    printed = run_pytest(tmp_path, NOWHERE, "-q")
    assert "/absent/chromium is no browser that runs" in printed and "1 passed, 2 errors" in printed
