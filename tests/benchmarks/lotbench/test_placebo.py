"""The placebo, and the chance line that reports print: played, expected from a judge check, or not known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lotbench import load_run
from lotbench.benchmarks.lotbench import placebo, questions, words
from lotbench.benchmarks.lotbench.chance import NAMES
from lotbench.benchmarks.lotbench.placebo import lines
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.score import expected
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.edge.calls import judge_records
from lotbench.edge.files import datasets
from lotbench.errors import UsageError
from lotbench.run import plan, results, shards
from lotbench.run.evaluate import evaluate, resume
from lotbench.run.loading import Run
from tests.benchmarks.lotbench.test_no_leaks import with_other_secrets
from tests.play import CHINESE, DATA, OTHERS, SAMPLE
from tests.playing import play, steps
from tests.server import FakeServer

SHIPPED: tuple[Item, ...] = datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
CHOSEN = Settings()


def drawn(item: Item, data: tuple[Any, ...] = SHIPPED, seed: int = 0) -> dict[str, Any]:
    return dict(lines(item, data, CHOSEN, Random(seed)))


# ---- What it says ----


@pytest.mark.parametrize("item", SHIPPED, ids=lambda item: item.id)
def test_it_has_fillings_for_every_round_of_every_shipped_sample_and_none_is_right(item: Item) -> None:
    said = drawn(item)["filling"]
    assert len(said) >= CHOSEN.max_rounds
    assert not {words.same(text) for text in said} & {
        words.same(text) for text in (item.key_text, *item.accept)
    }
    for text in said:
        # Read as it is meant: nothing of it is cut off.
        assert words.same(
            words.filling(text, item.frame, CHOSEN.max_words, CHOSEN.max_characters)
        ) == words.same(text)
        assert not words.other_language(text, item.language)


def test_every_question_of_its_list_may_be_put() -> None:
    for language, listed in placebo.questions().items():
        asked: list[str] = []
        for text in listed:
            asked.append(questions.question(text, asked))
            assert not words.other_language(text, language)
        assert len(asked) == 20


def test_nothing_that_it_says_depends_on_a_secret_of_its_sample() -> None:
    for item in SHIPPED:
        right = {words.same(text) for text in (item.key_text, *item.accept)}
        other = drawn(with_other_secrets(item, CHOSEN, 0))
        # Leaving out what would be right is all that a secret does.
        other["filling"] = [text for text in other["filling"] if words.same(text) not in right]
        assert drawn(item) == other, item.id


def test_right_answers_and_other_languages_are_left_out() -> None:
    twin = OTHERS[0].model_copy(update={"id": "lot-9", "key_text": "The Alarm-Clock"})
    alike = OTHERS[1].model_copy(update={"id": "lot-8", "key_text": "Metronome"})
    said = drawn(SAMPLE, (*DATA, twin, alike))["filling"]
    assert sorted(said) == sorted(one.key_text for one in OTHERS)
    with pytest.raises(UsageError, match="no other sample in 'zh' lends a guess to lot-5"):
        drawn(CHINESE, DATA)


def test_the_draw_decides_the_order() -> None:
    one, same, other = drawn(SHIPPED[0]), drawn(SHIPPED[0]), drawn(SHIPPED[0], seed=1)
    assert one == same != other
    assert sorted(one["filling"]) == sorted(other["filling"])


# ---- What it gets ----


@pytest.mark.parametrize(("fpr", "score"), [(0.01, 0.051), (0.03, 0.141), (0.05, 0.220)])
def test_expected_scores_are_those_of_the_audit(fpr: float, score: float) -> None:
    found = expected(fpr, fpr, CHOSEN)
    assert found["creativity_score"] == pytest.approx(score, abs=1e-3)
    assert found["creativity_score"] == pytest.approx(
        sum(fpr * (1 - fpr) ** k * math.exp(-0.2 * k) for k in range(15))
    )
    assert found["solve_rate"] == pytest.approx(1 - (1 - fpr) ** 15)
    assert found["mean_rounds"] == pytest.approx(sum((1 - fpr) ** k for k in range(15)))
    assert found["creativity_score_cap"] == pytest.approx(
        found["creativity_score"] + (1 - fpr) ** 15 * math.exp(-3)  # type: ignore[operator]
    )


@pytest.mark.parametrize(("stop", "score", "rounds"), [(0.0, 0.0, 15.0), (1.0, 1.0, 1.0)])
def test_judges_that_never_or_always_err(stop: float, score: float, rounds: float) -> None:
    found = expected(stop, None, CHOSEN)
    assert (found["creativity_score"], found["mean_rounds"]) == (score, rounds)
    assert found["creativity_score_unconfirmed"] is None


def test_the_first_judge_alone_has_its_own_rate() -> None:
    found = expected(0.01, 0.05, CHOSEN)
    assert found["creativity_score_unconfirmed"] == pytest.approx(0.220, abs=1e-3)


# ---- How it plays ----


def baselines(run: Run) -> dict[str, Any]:
    return {name: run.summary["scores"][name]["baselines"] for name in NAMES}


async def test_it_plays_and_later_runs_with_the_same_judge_have_its_score_as_chance_line(
    tmp_path: Path,
) -> None:
    with FakeServer() as server:
        before = await play(server, tmp_path / "before")
        assert baselines(before) == {name: {"placebo": None} for name in NAMES}
        assert "Chance line (placebo): unknown: check the judge, or play" in before.report.read_text("utf-8")
        placebo = await play(server, tmp_path / "placebo", candidate="placebo", settings={"framework": "cot"})
        after = await play(server, tmp_path / "after")
        other = await play(server, tmp_path / "other", settings={"max_rounds": 2})
    assert {trace.outcome for trace in placebo.traces} <= {"solved", "unsolved"}
    assert placebo.summary["models"]["candidate"] == ["placebo"]
    assert placebo.summary["usage"]["by_role"]["candidate"]["cost_usd"] == 0
    said = {value["filling"] for value in steps(placebo, "respond")}
    assert said <= {item.key_text for item in SHIPPED} and len(said) > 3
    assert all(value["status"] == "ok" for value in (*steps(placebo, "respond"), *steps(placebo, "ask")))
    own = {name: {"placebo": placebo.summary["scores"][name]["value"]} for name in NAMES}
    assert baselines(placebo) == baselines(after) == own
    told = f"Chance line (placebo): played, {placebo.path.name}, 3 samples"
    assert told in after.report.read_text("utf-8") and told in (after.path / "report.html").read_text("utf-8")
    assert baselines(other) == {name: {"placebo": None} for name in NAMES}
    # The run folder says it without the store.
    for path in judge_records.place().glob("*.json"):
        path.unlink()
    results.rewritten(after)
    assert baselines(load_run(after.path)) == own


async def test_it_goes_on_with_a_run_as_it_would_have_gone_on(tmp_path: Path) -> None:
    with FakeServer() as server:
        whole = await play(server, tmp_path / "whole", candidate="placebo")
        lines_of = (whole.path / "traces.jsonl").read_bytes().splitlines(keepends=True)
        (whole.path / "traces.jsonl").write_bytes(lines_of[0])
        (whole.path / "calls.jsonl").write_bytes(b"")
        again = await resume(whole.path)
    fillings = [value["filling"] for value in steps(again, "respond")]
    assert fillings == [
        step["value"]["filling"]
        for line in lines_of
        for step in json.loads(line)["steps"]
        if step["step"] == "respond"
    ]


async def test_it_is_a_candidate_of_the_game_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--model placebo: it plays lotbench only, not rinobench"):
        await evaluate("rinobench", model="placebo", out=tmp_path, roles={"judge": "gpt-4o-mini"})
    with pytest.raises(UsageError, match="--judge placebo: the placebo is a candidate only"):
        await evaluate("lotbench", model="human", out=tmp_path, roles={"judge": "placebo"})
    made = plan.make(Config(experiment=Experiment(model="placebo"), limits=Limits()))
    with pytest.raises(UsageError, match="--shards: placebo"):
        shards.refuse_alone(made)
