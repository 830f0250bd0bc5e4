"""Games of finished runs become blind plays beside their data set."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.cli import main
from lotbench.errors import DataError
from lotbench.run import calibration
from lotbench.run.evaluate import evaluate
from lotbench.run.loading import Run
from lotbench.storage import datasets
from tests.fakes import RuleModel
from tests.judging import data_set, shipped
from tests.rules import game_rule

ITEMS = [item.model_copy(update={"tier": None}) for item in shipped(6)]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_set(tmp_path / "second", ITEMS)


async def played(data: Path, out: Path, **more: Any) -> Run:
    """Two games a sample of two rounds, played by a rule."""
    rule = game_rule(solve=0.5, unreadable=0.0, seed=3)
    model = RuleModel(rule, model_id="candidate")
    roles = {"judge": RuleModel(rule, model_id="judge"), "oracle": RuleModel(rule, model_id="oracle")}
    return await evaluate(
        "lotbench",
        model=model,
        roles=roles,
        out=out,
        data=str(data),
        repeats=2,
        check=False,
        settings={"max_rounds": 2, "judge_mode": "zero_shot"},
        **more,
    )


async def test_games_of_a_run_are_added_once(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await played(data, tmp_path / "runs")
    before = {path.name: path.read_bytes() for path in data.iterdir() if path.is_file()}
    assert main(["data", "calibrate", str(run.path), "--player", "a reader, by hand"]) == 0
    told = capsys.readouterr().out
    assert "12 plays added, 0 stood there already\n12 plays, 1 players, 6 no tier yet" in told
    assert f"note: {run.path.name} is not trusted, its plays count all the same: " in told
    assert "the judge was never checked" in told
    assert main(["data", "calibrate", str(run.path), "--player", "a reader, by hand"]) == 0
    assert "0 plays added, 12 stood there already" in capsys.readouterr().out

    lines = [json.loads(line) for line in (data / "calibration.jsonl").read_text("utf-8").splitlines()]
    solved = {(trace.sample, trace.repeat): trace.outcome == "solved" for trace in run.traces}
    assert {(one["sample"], one["repeat"]): one["solved"] is not None for one in lines} == solved
    assert {one["prompts"] for one in lines} == {run.digests["prompts"]}
    assert {one["player"] for one in lines} == {"a reader, by hand"}
    assert {path.name: path.read_bytes() for path in data.iterdir() if path.name in before} == before

    assert main(["data", "check", str(data)]) == 0
    assert "calibration.jsonl: 12 plays" in capsys.readouterr().out


async def test_plays_are_held_against_the_folder_that_is_named(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await played(data, tmp_path / "runs")
    kept = Path(shutil.copytree(data, tmp_path / "kept"))
    text = (data / "samples.jsonl").read_text("utf-8")
    (data / "samples.jsonl").write_text(text.replace(ITEMS[0].explanation, "Another reason."), "utf-8")
    assert main(["data", "calibrate", str(run.path)]) == 2
    assert f"no sample {ITEMS[0].id!r}, or another" in capsys.readouterr().err
    assert main(["data", "calibrate", str(run.path), "--data", str(kept)]) == 0
    assert (kept / "calibration.jsonl").is_file() and not (data / "calibration.jsonl").exists()


async def test_a_run_that_is_not_whole_or_on_other_samples_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await played(data, tmp_path / "runs")
    other = data_set(tmp_path / "other", ITEMS[:3])
    assert main(["data", "calibrate", str(run.path), "--data", str(other)]) == 2
    assert "was not played on" in capsys.readouterr().err
    summary = json.loads((run.path / "summary.json").read_text("utf-8"))
    (run.path / "summary.json").write_text(json.dumps(summary | {"complete": False}), "utf-8")
    assert main(["data", "calibrate", str(run.path)]) == 2
    assert "is not complete" in capsys.readouterr().err
    assert not (data / "calibration.jsonl").exists() and not (other / "calibration.jsonl").exists()


def test_faults_of_plays_are_named_by_line(data: Path) -> None:
    good = {
        "sample": ITEMS[0].id,
        "arm": "image+caption",
        "player": "p",
        "solved": None,
        "attempts": 1,
        "prompts": "d",
        "date": "2026-11-22",
    }
    lines = [good, good, {**good, "sample": "lot-9"}, {**good, "player": "q", "solved": 3}]
    (data / "calibration.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    with pytest.raises(DataError) as caught:
        calibration.read_plays(data)
    told = str(caught.value)
    for part in ("jsonl:2: is the play of line 1", "jsonl:3: sample: no sample 'lot-9'", "jsonl:4: solved"):
        assert part in told, told
    assert main(["data", "check", str(data)]) == 2


def test_a_sample_without_a_tier_of_its_own_is_clean_and_one_that_says_nothing_is_not(data: Path) -> None:
    assert not [one for one in benchmark.lints(ITEMS, benchmark.Settings(), {}) if one.field == "tier"]
    rows = [json.loads(line) for line in (data / "samples.jsonl").read_text("utf-8").splitlines()]
    del rows[0]["tier"]
    (data / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    items = datasets.samples(data, benchmark.Item)
    assert [one.field for one in benchmark.lints(items, benchmark.Settings(), {}) if one.field == "tier"] == [
        "tier"
    ]
