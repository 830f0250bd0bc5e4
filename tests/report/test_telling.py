"""`lotbench replay` of an episode through the panel: every step, who said it, and what the benchmark has to read."""

import json
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.run.loading import Run
from tests.benchmarks.rinobench.test_rinobench_runs import play
from tests.fakes import ScriptedModel
from tests.ideas import answer, judge, known, novel


async def played(folder: Path) -> Run:
    checks = {"ground_known": known("k1", ["gk1"], ["w2"]), "ground_novelty": novel("n1")}
    judging = judge(["Looking is old."], ["Jumping is new."], checks, scores=(6,))
    candidate = ScriptedModel(model_id="candidate", respond=["mumble", answer(4)])
    return await play(folder, judging, candidate, ideas=2)


async def test_a_panel_episode_is_told_by_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = await played(tmp_path)
    assert main(["replay", str(run.path), "--sample", "idea-2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("idea-2, repeat 1\n")
    assert "Problem 2 is open." in told
    steps = [line for line in told.splitlines() if ", by the " in line]
    assert steps == [
        "respond, by the candidate",
        "respond, by the candidate",
        "gold arguments, by the judge",
        "claims, by the judge",
        "alignment steps, by the judge",
        "ground known, by the judge",
        "ground novelty, by the judge",
        "alignment, by the judge",
    ]
    assert "unparsed" in told
    # The page of the idea: which argument matched what.
    assert "idea-2: gold 3, predicted 4, alignment 0.60" in told
    assert "= in the gold, gk1: Looking is known." in told
    assert "< grounded in w2: Work 2" in told
    assert "! not grounded: a hallucination" in told
    assert told.rstrip().endswith("scored, score 0.0000")


async def test_it_is_there_as_json_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = await played(tmp_path)
    assert main(["replay", str(run.path), "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert (table["sample"]["id"], table["outcome"], len(table["steps"])) == ("idea-1", "scored", 8)
    assert [one["sample"] for one in table["readings"]] == ["idea-1"]
    (tmp_path / "data" / "samples.jsonl").unlink()
    assert main(["replay", str(run.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == table
    assert main(["replay", str(run.path), "--sample", "idea-3"]) == 2
    assert "no finished task of sample idea-3 in this run" in capsys.readouterr().err
