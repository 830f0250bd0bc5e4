"""Runs of before the move are scored, told and gone on with as they were (tests/old_runs.py)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.run.evaluate import resume
from tests.old_runs import FOLDER, RUNS, Player, benchmark_of, copied, cut_off, own, summary, walks

CHECK = "judge-check-python-judge-0-394a1e9f"


@pytest.mark.parametrize("name", RUNS)
def test_scoring_again_gives_the_same_summary_and_report(name: str, tmp_path: Path) -> None:
    run = copied(name, tmp_path)
    assert main(["score", str(run)]) == 0
    assert summary(run) == summary(FOLDER / name)
    assert (run / "report.md").read_text("utf-8") == (FOLDER / name / "report.md").read_text("utf-8")
    assert walks(run) == walks(FOLDER / name)


@pytest.mark.parametrize("name", RUNS)
def test_replay_tells_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(copied(name, tmp_path))]) == 0
    assert capsys.readouterr().out == (FOLDER / "replays" / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_cut_off_in_the_middle_is_gone_on_with_to_the_same_end(name: str, tmp_path: Path) -> None:
    run = copied(name, tmp_path)
    cut_off(run)
    asyncio.run(resume(run, own=own(benchmark_of(name))))
    assert walks(run) == walks(FOLDER / name)
    assert summary(run)["scores"] == summary(FOLDER / name)["scores"]


def test_a_judge_check_taken_again_asks_nothing_and_says_the_same(tmp_path: Path) -> None:
    check = copied(CHECK, tmp_path)
    for file in ("summary.json", "report.md", "checks.jsonl"):
        (check / file).unlink()
    experiment = Experiment(
        data="lotbench",
        roles={"judge": ("python:judge-0", "python:judge-1"), "oracle": ("python:oracle",)},
        repeats=1,
        settings={"judge_mode": "zero_shot"},
    )
    silent = {f"python:{name}": Player(name) for name in ("judge-0", "judge-1", "oracle")}
    wanted = Wanted(Config(experiment=experiment, limits=Limits()), out=check.parent, limit=20)
    checked = asyncio.run(judge_check(wanted, own=silent))
    assert checked.path == check
    assert [player.asked for player in silent.values()] == [[], [], []]
    for file in ("summary.json", "report.md"):
        assert (check / file).read_text("utf-8") == (FOLDER / CHECK / file).read_text("utf-8"), file
