"""RINoBench runs after their end: scored again without a call, gone on with, shown call by call."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lotbench import evaluate, load_run
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.benchmarks.rinobench.task import benchmark
from lotbench.cli import main
from lotbench.config import experiment as config
from lotbench.run.evaluate import resume
from lotbench.run.loading import Run
from lotbench.run.session import Session
from lotbench.storage import datasets
from tests.fakes import RuleModel, ScriptedModel
from tests.ideas import STEPS, answer, judge, known, novel, row

CHECKS = {"ground_known": known("k1", ["gk1"], ["w2"]), "ground_novelty": novel("n1", ["gn1"], True)}


async def play(folder: Path, judging: Any, candidate: Any = None, *, ideas: int = 3, **settings: Any) -> Run:
    (folder / "data").mkdir(exist_ok=True)
    lines = "".join(json.dumps(row(number)) + "\n" for number in range(1, ideas + 1))
    (folder / "data" / "samples.jsonl").write_text(lines, encoding="utf-8")
    return await evaluate(
        "rinobench",
        model=candidate or RuleModel(lambda request: answer(3), model_id="candidate"),
        roles={"judge": judging},
        data=str(folder / "data"),
        out=folder / "runs",
        check=False,
        max_failed=1.0,
        settings={"alignment_calls": 1, **settings},
    )


@pytest.mark.parametrize("change", [{"works_chars": 1}, {"max_claims": 1}])
def test_a_check_of_a_judge_depends_on_what_the_judge_sees(change: dict[str, Any]) -> None:
    """A check with one character of the related works counted for runs with all of them."""
    assert benchmark.validation
    pack = datasets.prompts("rinobench")
    keys = [benchmark.validation.key("judge", Settings(**each), pack, None, "") for each in ({}, change)]
    assert keys[0] != keys[1]


def test_a_run_is_scored_again_without_a_call_and_shows_what_it_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = asyncio.run(play(tmp_path, judge(["a"], ["b"], CHECKS, scores=(6,))))
    before = run.summary["scores"]
    assert main(["score", str(run.path)]) == 0
    assert "stand as they were" not in capsys.readouterr().out
    assert load_run(run.path).summary["scores"] == before
    # The evaluation steps belong to no idea: one call for all.
    calls = [json.loads(line) for line in (run.path / "calls.jsonl").read_text("utf-8").splitlines()]
    (steps,) = [call["key"] for call in calls if call["key"]["step"] == "alignment_steps"]
    assert steps["sample"] == "*"
    (key,) = {
        step["call"] for trace in run.traces for step in trace.steps if step["step"] == "alignment_steps"
    }
    assert main(["show", str(run.path), "--call", key]) == 0
    assert "Write the evaluation steps." in capsys.readouterr().out


@pytest.mark.parametrize(("how", "asked"), [("once", ["*"]), ("per_idea", ["idea-1", "idea-2", "idea-3"])])
async def test_the_judge_writes_the_steps_of_alignment_once_or_for_each_idea(
    tmp_path: Path, how: str, asked: list[str]
) -> None:
    judging = judge(["a"], ["b"], CHECKS, scores=(6,), alignment_steps=[STEPS] * 3)
    run = await play(tmp_path, judging, alignment_steps=how)
    assert sorted(one.key.sample for one in judging.asked if one.key.step == "alignment_steps") == asked
    assert run.score("alignment") == pytest.approx(0.6)


async def test_a_judge_that_could_not_be_read_is_asked_anew_when_a_run_is_resumed(tmp_path: Path) -> None:
    run = await play(
        tmp_path, judge(["a"], ["b"], CHECKS, scores=(6,), ground_novelty=["mumble"] * 2), ideas=1
    )
    assert run.summary["outcomes"] == {"judge_failed": 1}
    name = run.config.roles["judge"][0]
    reads = judge(["a"], ["b"], CHECKS, scores=(6,))
    own = {name: reads, run.config.model: ScriptedModel(answer(3), model_id="candidate")}
    stands = await resume(run.path, own=own, check=False)
    assert stands.summary["outcomes"] == {"judge_failed": 1}
    again = await resume(run.path, own=own, check=False, retry_failed=True)
    assert again.summary["outcomes"] == {"scored": 1}
    assert [request.key.step for request in reads.asked] == ["ground_novelty"]
    assert again.score("novelty_recall") == 1.0
    # A candidate that refused has no second chance: a fifth of refusals were gone after six retries.
    session = Session(SimpleNamespace(folder=SimpleNamespace(order=list)), again)  # type: ignore[arg-type]
    session.continues([replace(again.traces[0], outcome="candidate_failed")], retry_failed=True)
    assert len(session._done) == 1


def test_the_papers_preset_has_the_judge_and_the_steps_of_the_paper() -> None:
    paper = config.load(datasets.shipped("configs", "paper", "rinobench.toml")).experiment
    assert Settings(**paper.settings).alignment_calls == 1
    assert Settings(**paper.settings).alignment_steps == "per_idea"
    assert paper.roles == {"judge": ("gpt-4.1",)}
