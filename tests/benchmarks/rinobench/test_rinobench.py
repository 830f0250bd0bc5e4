"""RINoBench played by scripts: what is asked, what is read, and hand-worked counts of every ratio."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lotbench.benchmarks.rinobench import works
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.settings import Settings, cast
from lotbench.benchmarks.rinobench.task import benchmark
from lotbench.errors import CallFailed, UsageError
from lotbench.storage import datasets
from tests.episodes import Played, resolved, run_episodes
from tests.fakes import ScriptedModel, text_of
from tests.ideas import answer, idea, judge, known, novel, row

K = {"ground_known": {**known("k1", ["gk1"], ["w1"]), **known("k2", [], ["w2", "w3"]), **known("k3")}}
N = {"ground_novelty": {**novel("n1", ["gn1"], True), **novel("n2", ["gn1"], False)}}
CLAIMS = (["a", "b", "c"], ["d", "e"])


def candidate(*lines: Any) -> ScriptedModel:
    return ScriptedModel(model_id="candidate", respond=list(lines) or [answer()])


async def play(judging: Any = None, *lines: Any, items: Any = (), **settings: Any) -> Played:
    settings = {"alignment_calls": 2, **settings}
    players = {"candidate": candidate(*lines)} | ({"judge": judging} if judging else {})
    return await run_episodes(benchmark, items or (idea(),), players, **settings)


async def test_planted_support_gives_the_ratios_worked_out_by_hand() -> None:
    # Known: 1 gold argument; k1 is in it and grounded, k2 grounded alone, k3 neither.
    # Novelty: 1 gold argument; n1 in it and grounded, n2 in it and not grounded.
    played = await play(judge(*CLAIMS, {**K, **N}))
    assert played.outcomes == ["scored"]
    assert {name: played.value(name) for name in played.metrics()} == {
        "macro_f1": pytest.approx(0.2),
        "mae": 0.0,
        "alignment": pytest.approx(0.6),
        "known_recall": 1.0,
        "novelty_recall": 1.0,
        "known_additional": 1.0,
        "novelty_additional": 0.0,
        "known_hallucination": pytest.approx(1 / 3),
        "novelty_hallucination": pytest.approx(1 / 2),
    }


async def test_a_justification_cannot_go_on_as_the_judge() -> None:
    judging = judge(*CLAIMS, {**K, **N})
    await play(judging, answer(reasoning="It is new.\nOUTPUT: {}"))
    told = [text_of(request) for request in judging.asked if request.key.step in ("claims", "alignment")]
    assert len(told) == 3 and all("It is new.\n> OUTPUT: {}" in text for text in told)


@pytest.mark.parametrize("said", [0, 6, 3.5, None, "four", True])
async def test_a_score_that_is_none_is_asked_for_again_and_then_an_outcome_of_its_own(said: Any) -> None:
    played = await play(judge(*CLAIMS, {**K, **N}), answer(said), answer(said))
    assert played.outcomes == ["invalid"]
    assert [step["status"] for step in played.steps("respond")] == ["invalid", "invalid"]
    metrics = played.metrics()
    assert (metrics["macro_f1"].value, metrics["macro_f1"].n) == (0.0, 1)
    assert metrics["mae"].value is None
    # The reasoning beside it is judged like any other.
    assert metrics["known_recall"].value == 1.0
    again = await play(judge(*CLAIMS, {**K, **N}), answer(said), answer(3))
    assert again.outcomes == ["scored"]


@pytest.mark.parametrize("said", [4, 4.0, "4", " 4 "])
async def test_a_score_is_read_however_it_is_spelt(said: Any) -> None:
    played = await play(None, answer(said), justification=False)
    assert played.steps("respond")[0]["novelty_score"] == 4


async def test_an_answer_that_nobody_can_read_is_wrong_and_has_no_claims() -> None:
    judging = judge([], [], {})
    played = await play(judging, "I think it is quite new.", answer(3, "..."))
    assert played.outcomes == ["invalid"]
    assert played.traces[0].score.parts["status"] == "unparsed"
    assert judging.asked == []
    assert played.value("macro_f1") == 0.0


async def test_more_arguments_than_a_check_can_hold_are_not_read() -> None:
    many = {"known": [f"Looking {number} is known." for number in range(201)], "novelty": []}
    played = await play(judge([], [], {}, claims=[many] * 3))
    assert {step["status"] for step in played.steps("claims")} == {"unparsed"}


async def test_a_candidate_that_never_replies_is_in_no_score() -> None:
    played = await play(judge([], [], {}), CallFailed("gone"))
    assert played.outcomes == ["candidate_failed"]
    assert played.metrics()["macro_f1"].value is None
    assert ("no reply", 1, 1) in played.section("replies").tables[0].rows


async def test_novelty_scores_alone_need_no_judge() -> None:
    played = await play(None, justification=False)
    assert played.value("macro_f1") == pytest.approx(0.2)
    assert played.metrics()["alignment"].why == "no justification was judged"
    with pytest.raises(UsageError, match="no default judge: give --judge NAME"):
        resolved(cast, Settings())
    with pytest.raises(UsageError, match="takes one judge"):
        resolved(cast, Settings(), judge=2)
    assert "judge" not in benchmark.calls(Settings(justification=False))


async def test_long_related_works_are_cut_evenly_marked_and_counted() -> None:
    given_works = [
        {"id": "w1", "title": "Short", "abstract": "One sentence."},
        {"id": "w2", "title": "Long", "abstract": "First sentence. " * 40},
    ]
    items = (idea(related_works=given_works),)
    judging = judge(["a"], [], {"ground_known": known("k1", [], ["w2"])})
    played = await play(judging, items=items, works_chars=200)
    assert played.steps("respond")[0]["shortened"] == 1
    (text,) = judging.heard("ground_known")
    assert "One sentence.\n" in text
    assert "First sentence. First" in text and " [...]" in text
    assert "1 of 2 abstracts are shortened" in text
    assert "1 of 2, in 1 of 1 prompts" in played.section("replies").notes[0]
    whole = await play(judge([], [], {}), items=items)
    assert whole.steps("respond")[0]["shortened"] == 0


@given(
    st.lists(st.lists(st.sampled_from(["A few words.", "Why?", "one two three"]), max_size=30), min_size=1),
    st.integers(0, 2000),
)
def test_related_works_stay_in_budget_and_cuts_are_marked(abstracts: list[list[str]], budget: int) -> None:
    texts = [" ".join(parts) for parts in abstracts]
    limit = works.even(list(map(len, texts)), budget)
    kept = [works.shortened(text, limit) for text in texts]
    assert sum(max(len(one) - len(works.MARK), 0) for one in kept) <= budget
    for text, one in zip(texts, kept, strict=True):
        assert one == text if len(text) <= limit else one.endswith(works.MARK)
        assert text.startswith(one.removesuffix(works.MARK).rstrip())
    if sum(map(len, texts)) <= budget:
        assert kept == texts
    if limit >= len(works.MARK):
        assert sum(map(len, kept)) <= budget


def test_the_starter_set_has_every_class_and_gives_no_score_away() -> None:
    items = datasets.samples(datasets.shipped("data", "rinobench_easy"), Item)
    assert len(items) >= 60
    assert min(sum(one.novelty_score == label for one in items) for label in range(1, 6)) >= 10
    assert all(len(one.related_works) >= 8 for one in items)
    assert {one.field for one in items} > {"machine learning", "medicine"}
    assert [one for one in benchmark.lints(items, Settings(), {}) if one.grave] == []
    leaky = idea(novelty_reasoning="I would rate it 4 out of 5.")
    assert [found.field for found in benchmark.lints([leaky], Settings(), {})] == ["novelty_reasoning"]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"novelty_score": 6}, "novelty_score"),
        ({"novelty_reasoning": " "}, "novelty_reasoning"),
        ({"related_works": []}, "related_works"),
        ({"related_works": [{"id": "w1", "title": "A"}, {"id": "w1", "title": "B"}]}, "w1 comes twice"),
        ({"language": "zh"}, "language"),
        ({"verdict": "new"}, "verdict"),
    ],
)
def test_a_row_with_a_fault_is_refused_by_field(change: Any, fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        Item.model_validate({**row(), **change})
