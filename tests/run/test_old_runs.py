"""Runs of before the move are scored, told and gone on with as they were (tests/old_runs.py)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.run.evaluate import resume
from tests.old_runs import FOLDER, Player, own

RUNS = sorted(path.name for path in FOLDER.glob("2026*"))
CHECK = "judge-check-python-judge-0-394a1e9f"


def benchmark_of(name: str) -> str:
    return str(json.loads((FOLDER / name / "run.json").read_text("utf-8"))["benchmark"])


def summary(run: Path) -> dict[str, Any]:
    """What a run came to, without the time that it took and the version that scored it."""
    found: dict[str, Any] = json.loads((run / "summary.json").read_text("utf-8"))
    found.pop("wall_s")
    found["digests"].pop("code")
    return found


def walks(run: Path) -> list[dict[str, Any]]:
    """The traces without their seconds."""
    traces = [json.loads(line) for line in (run / "traces.jsonl").read_text("utf-8").splitlines()]
    for trace in traces:
        for step in trace["steps"]:
            step.pop("seconds")
    return traces


@pytest.fixture
def copied(tmp_path: Path) -> Any:
    def copy(name: str) -> Path:
        return Path(shutil.copytree(FOLDER / name, tmp_path / "runs" / name))

    return copy


@pytest.mark.parametrize("name", RUNS)
def test_scoring_again_gives_the_same_summary_and_report(name: str, copied: Any) -> None:
    run = copied(name)
    assert main(["score", str(run)]) == 0
    assert summary(run) == summary(FOLDER / name)
    assert (run / "report.md").read_text("utf-8") == (FOLDER / name / "report.md").read_text("utf-8")
    assert walks(run) == walks(FOLDER / name)


@pytest.mark.parametrize("name", RUNS)
def test_replay_tells_the_same(name: str, copied: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(copied(name))]) == 0
    assert capsys.readouterr().out == (FOLDER / "replays" / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_cut_off_in_the_middle_is_gone_on_with_to_the_same_end(name: str, copied: Any) -> None:
    run = copied(name)
    for file, share in (("calls.jsonl", 0.6), ("traces.jsonl", 0.4)):
        lines = (run / file).read_bytes().splitlines(keepends=True)
        (run / file).write_bytes(b"".join(lines[: int(share * len(lines))]))
    (run / "summary.json").unlink()
    asyncio.run(resume(run, own=own(benchmark_of(name))))
    assert walks(run) == walks(FOLDER / name)
    assert summary(run)["scores"] == summary(FOLDER / name)["scores"]


def test_a_judge_check_taken_again_asks_nothing_and_says_the_same(copied: Any) -> None:
    check = copied(CHECK)
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
