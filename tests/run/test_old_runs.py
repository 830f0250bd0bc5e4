"""Runs of before the move are scored, told and gone on with as they were (tests/old_runs.py).

What later versions of the benchmarks moved is named in tests/old_runs.py, with the reason, and its values stand in
moved.json; everything else is the same to the byte.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.run.evaluate import resume
from tests.old_runs import (
    FOLDER,
    RUNS,
    Player,
    benchmark_of,
    copied,
    cut_off,
    own,
    recorded,
    summary,
    told,
    walks,
)

CHECK = "judge-check-python-judge-0-394a1e9f"


@pytest.mark.parametrize("name", RUNS)
def test_scoring_again_gives_the_same_summary_and_report(name: str, tmp_path: Path) -> None:
    run = copied(name, tmp_path)
    assert main(["score", str(run)]) == 0
    assert summary(run) == recorded(name)
    assert told(run / "report.md") == told(FOLDER / name / "report.md")
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
    assert summary(run)["scores"] == recorded(name)["scores"]


def test_a_judge_check_of_other_prompts_and_rows_is_another_check_and_leaves_the_old_one_as_it_is(
    tmp_path: Path,
) -> None:
    old = copied(CHECK, tmp_path)
    before = {path.name: path.read_bytes() for path in old.iterdir() if path.is_file()}
    experiment = Experiment(
        data="lotbench_easy",
        roles={"judge": ("python:judge-0", "python:judge-1"), "oracle": ("python:oracle",)},
        repeats=1,
        settings={"judge_mode": "zero_shot"},
    )
    wanted = Wanted(Config(experiment=experiment, limits=Limits()), out=old.parent, limit=20)

    def taken() -> tuple[Path, list[int], dict[str, object]]:
        players = {f"python:{name}": Player(name) for name in ("judge-0", "judge-1", "oracle")}
        checked = asyncio.run(judge_check(wanted, own=players))
        found = json.loads((checked.path / "summary.json").read_text("utf-8"))
        return checked.path, [len(player.asked) for player in players.values()], found

    path, asked, found = taken()
    assert path != old
    assert sum(asked) > 40
    assert {file.name: file.read_bytes() for file in old.iterdir() if file.is_file()} == before
    for file in ("summary.json", "report.md", "checks.jsonl"):
        (path / file).unlink()
    assert taken() == (path, [0, 0, 0], found)
