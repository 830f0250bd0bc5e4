"""Recorded runs are scored and gone on with as they were (tests/recorded.py)."""

import asyncio
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.run.evaluate import resume
from tests.recorded import FOLDER, RUNS, benchmark_of, copied, cut_off, episodes, own, summary


@pytest.mark.parametrize("name", RUNS)
def test_scoring_again_gives_the_same_summary_and_report(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = copied(name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["score", name]) == 0
    assert summary(run) == summary(FOLDER / name)
    assert (run / "report.md").read_text("utf-8") == (FOLDER / name / "report.md").read_text("utf-8")
    assert episodes(run) == episodes(FOLDER / name)
    drawn = "games by the round that solved them" in (run / "report.html").read_text("utf-8").lower()
    assert drawn == (benchmark_of(name) == "lotbench")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_cut_off_in_the_middle_is_gone_on_with_to_the_same_end(name: str, tmp_path: Path) -> None:
    run = copied(name, tmp_path)
    cut_off(run)
    asyncio.run(resume(run, own=own(benchmark_of(name))))
    assert episodes(run) == episodes(FOLDER / name)
    assert summary(run)["scores"] == summary(FOLDER / name)["scores"]
