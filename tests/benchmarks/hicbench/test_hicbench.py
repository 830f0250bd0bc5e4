"""HIC-Bench walks: what is asked in which words, what is read, and what a dynamic prompt remembers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.hicbench import memory
from lotbench.benchmarks.hicbench.sample import Item
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.benchmarks.hicbench.task import benchmark
from lotbench.edge.files import datasets
from lotbench.errors import CallFailed, UsageError
from lotbench.types import Reply, Request
from tests.fakes import RuleModel, ScriptedModel, text_of
from tests.walking import Walked, walk

ANSWER = re.compile(r"^ANSWER\n(.*?)\nEND OF ANSWER", re.MULTILINE | re.DOTALL)


def task(number: int = 1, **changed: Any) -> Item:
    table = {
        "id": f"t{number}",
        "language": "en",
        "field": "Acoustics" if number % 2 else "Optics",
        "principle": "standing waves",
        "challenge": "quiet trains",
        "question": f"How could standing waves make train number {number} quiet?",
        "knowledge": "A standing wave keeps its nodes in place. Its wavelength follows from the length of a pipe.",
    }
    return Item.model_validate(table | changed)


def verdict(originality: int, feasibility: int, value: int, hallucination: bool = False) -> dict[str, Any]:
    return {
        "originality": originality,
        "feasibility": feasibility,
        "value": value,
        "hallucination": hallucination,
    }


IH, DH, NEUTRAL = verdict(4, 3, 4), verdict(2, 2, 2, True), verdict(3, 4, 3)


def judged(request: Request) -> str:
    """The answer that a judge is asked about."""
    found = ANSWER.search(text_of(request))
    assert found
    return found[1]


def judge(says: Callable[[str], Any], model_id: str = "judge") -> RuleModel:
    """A judge whose verdict follows from the answer alone."""
    return RuleModel(lambda request: says(judged(request)), model_id=model_id)


def steady(*verdicts: Any, model_id: str = "judge") -> RuleModel:
    """A judge whose verdict on the n-th answer of a task is the n-th (answers are `a0`, `a1`, ...)."""
    return judge(lambda answer: verdicts[int(answer.rpartition("a")[2])], model_id)


def counting(model_id: str = "candidate") -> RuleModel:
    """A candidate whose answers are numbered by their draw."""
    return RuleModel(lambda request: f"{request.key.sample} a{request.key.draw}", model_id=model_id)


async def walked(players: dict[str, Any], items: Sequence[Item] = (), **settings: Any) -> Walked:
    return await walk(benchmark, items or [task()], players, **settings)


def sent(model: RuleModel | ScriptedModel, at: int = 0) -> str:
    return text_of(model.asked[at])


async def test_ten_calls_in_one_walk_each_judged_alone_at_temperature_0() -> None:
    candidate, one, two = counting(), judge(lambda _: NEUTRAL), judge(lambda _: IH, "second")
    done = await walked({"candidate": candidate, "judge": [one, two]})
    assert done.outcomes == ["scored"]
    assert sorted(request.key.draw for request in candidate.asked) == list(range(10))
    assert {request.sampling.temperature for request in candidate.asked} == {1.0}
    assert len({request.sampling.seed for request in candidate.asked}) == 10
    for model in (one, two):
        assert sorted(map(judged, model.asked)) == sorted(f"t1 a{draw}" for draw in range(10))
        assert {request.sampling.temperature for request in model.asked} == {0.0}
        assert all(request.schema for request in model.asked)
        assert not any("candidate" in text_of(request) for request in model.asked)


@pytest.mark.parametrize(
    ("settings", "there", "missing"),
    [
        ({"strategy": "scp"}, ["can be carried out", "precise"], ["step by step", "wavelength"]),
        ({"strategy": "cot"}, ["can be carried out", "step by step"], ["wavelength"]),
        ({"strategy": "rag"}, ["can be carried out", "Facts: A standing wave keeps"], ["step by step"]),
        ({"strategy": "rag", "rag_source": "principle"}, ["Facts: standing waves"], ["wavelength"]),
        ({"strategy": "rcp"}, ["brings a new idea"], ["can be carried out", "precise", "step by step"]),
    ],
)
async def test_each_strategy_has_its_own_words(
    settings: dict[str, Any], there: list[str], missing: list[str]
) -> None:
    candidate = counting()
    await walked({"candidate": candidate, "judge": judge(lambda _: NEUTRAL)}, answers=1, **settings)
    said = sent(candidate)
    for words in [*there, "Acoustics", "70 tokens", "How could standing waves make train number 1 quiet?"]:
        assert words in said
    for words in [*missing, "{{", "worth following"]:
        assert words not in said


@pytest.mark.parametrize("strategy", ["scp", "cot", "rag", "rcp"])
async def test_an_answer_shall_have_value_for_the_area_that_the_question_aims_at(strategy: str) -> None:
    """App. A.1: tasks cross fields, so the area is not that of the expert."""
    candidate = counting()
    await walked({"candidate": candidate, "judge": judge(lambda _: NEUTRAL)}, answers=1, strategy=strategy)
    assert "value for the area that the question aims at" in sent(candidate)


async def test_a_judge_is_told_what_the_paper_tells_it_of_hallucination_and_no_more() -> None:
    one = judge(lambda _: NEUTRAL)
    await walked({"candidate": counting(), "judge": one}, answers=1)
    _, _, told = sent(one).partition("decide on hallucination")
    said = told.partition("Answer with one JSON object")[0]
    assert all(
        words in said for words in ("core of the question", "departs from reality", "contradicts", "made up")
    )
    assert "new" not in said and "untried" not in said


async def test_a_whole_answer_is_judged_whole_and_counted_as_too_long() -> None:
    long = " ".join(["word"] * 71)
    candidate = ScriptedModel(long, " ".join(["word"] * 70))
    done = await walked({"candidate": candidate, "judge": judge(lambda _: NEUTRAL)}, answers=2)
    assert candidate.asked[0].sampling.max_tokens is None
    assert [value["over_length"] for value in done.steps("respond")] == [True, False]
    assert done.steps("respond")[0]["answer"] == long
    assert done.section("replies").tables[0].rows[-1] == ("of the ok: over length", 1, 0.5)


async def test_a_cut_answer_is_asked_for_with_70_tokens_and_judged_as_it_came() -> None:
    cut = Reply("an answer that ends in the", "c", finish="length")
    nothing = Reply("<think>still thinking", "c", finish="length")
    candidate = ScriptedModel(cut, nothing, Reply("", "c", finish="length"), "short")
    done = await walked(
        {"candidate": candidate, "judge": judge(lambda _: NEUTRAL)}, answers=4, answer_cap="cut"
    )
    assert candidate.asked[0].sampling.max_tokens == 70
    assert [value["status"] for value in done.steps("respond")] == ["ok", "truncated", "truncated", "ok"]
    assert [value["over_length"] for value in done.steps("respond")] == [True, False, False, False]


async def test_a_whole_answer_that_was_cut_off_is_truncated() -> None:
    candidate = ScriptedModel(Reply("an answer that ends in", "c", finish="length"), "fine")
    done = await walked({"candidate": candidate, "judge": judge(lambda _: NEUTRAL)}, answers=2)
    assert [value["status"] for value in done.steps("respond")] == ["truncated", "ok"]
    assert len(done.steps("judge")) == 1


async def test_what_is_refused_or_empty_is_counted_and_never_scored() -> None:
    candidate = ScriptedModel("I'm sorry, but I can't help with that.", "", "an answer")
    done = await walked({"candidate": candidate, "judge": judge(lambda _: IH)}, answers=3)
    assert [value["status"] for value in done.steps("respond")] == ["refused", "unparsed", "ok"]
    assert done.value("ih_ratio") == 1.0
    assert done.metrics()["ih_ratio"].n == 1


async def test_without_any_answer_the_candidate_has_failed() -> None:
    done = await walked({"candidate": ScriptedModel("", loop=True), "judge": judge(lambda _: IH)}, answers=2)
    assert done.outcomes == ["candidate_failed"]
    assert done.traces[0].score.value is None
    assert done.traces[0].arrived
    assert done.value("ifs") is None


async def test_a_verdict_that_cannot_be_read_is_asked_for_again_and_then_a_gap() -> None:
    garbled = ScriptedModel("what?", {**IH, "value": 7}, model_id="garbled")
    one = judge(lambda _: IH)
    done = await walked({"candidate": counting(), "judge": [garbled, one]}, answers=1)
    assert [value["status"] for value in done.steps("judge")] == ["unparsed", "unparsed", "ok"]
    assert "Answer again" in text_of(garbled.asked[1]) and garbled.asked[1].key.attempt == 1
    assert done.value("ih_ratio") == 1.0
    assert done.section("judges").tables[0].rows[0][:3] == (1, 0, 1)


@pytest.mark.parametrize("wrong", [0, 6, 2.5, True, "high", None])
async def test_a_mark_is_a_whole_number_from_1_to_5(wrong: Any) -> None:
    one = ScriptedModel({**IH, "value": wrong}, {**IH, "value": "4"})
    done = await walked({"candidate": counting(), "judge": one}, answers=1)
    assert [value["status"] for value in done.steps("judge")] == ["unparsed", "ok"]
    assert done.value("value") == 4
    properties: Any = one.asked[0].schema["properties"]  # type: ignore[index]
    assert (properties["value"]["minimum"], properties["value"]["maximum"]) == (1, 5)


async def test_without_any_verdict_the_judge_has_failed() -> None:
    done = await walked({"candidate": counting(), "judge": ScriptedModel("what?", loop=True)}, answers=2)
    assert done.outcomes == ["judge_failed"]
    assert done.value("originality") is None


def seated(candidate: str, *judges: str, **settings: Any) -> list[str]:
    from lotbench.config.model_names import parse

    extra = {"dhp_judge": (parse(settings.pop("own")),)} if "own" in settings else {}
    names = {"candidate": (parse(candidate),), "judge": tuple(map(parse, judges)), **extra}
    found = benchmark.judges.seat(Settings(**settings), names, 0)
    return [name.text for name in found["judge"]]


def test_a_judge_that_is_the_candidate_or_its_sibling_leaves_the_panel() -> None:
    assert seated("gpt-4o-2024-11-20", "gpt-4o", "deepseek/deepseek-chat") == ["deepseek/deepseek-chat"]
    assert seated("gpt-4o", "gpt-4o", exclude_self=False) == ["gpt-4o"]
    with pytest.raises(UsageError, match="may not judge itself"):
        seated("gpt-4o", "openai/gpt-4o")


def test_the_judge_of_the_examples_must_be_another() -> None:
    assert seated("m", "j", dhp=True, own="k") == ["j"]
    assert seated("m", "j", dhp=True, dhp_judge="panel") == ["j"]
    with pytest.raises(UsageError, match="--role dhp_judge=NAME"):
        seated("m", "j", dhp=True)
    with pytest.raises(UsageError, match="scores the answers too"):
        seated("m", "j", dhp=True, own="j")


def test_the_number_of_judges_is_written_down_and_can_be_demanded() -> None:
    assert benchmark.resolve(Settings(), {"judge": 2}).judges == 2
    assert benchmark.comparison.unrankable(benchmark.resolve(Settings(), {"judge": 1})) == [
        "only one judge sits"
    ]
    assert benchmark.comparison.unrankable(benchmark.resolve(Settings(), {"judge": 2})) == []
    with pytest.raises(UsageError, match="judges=3, and 2 sit"):
        benchmark.resolve(Settings(judges=3), {"judge": 2})


@pytest.mark.parametrize(
    "wrong",
    [
        {"dhp": True, "dhp_policy": "text"},
        {"dhp": True, "examples": {"positive": "x"}},
        {"examples": {"best": "x"}},
        {"strategy": "none"},
        {"w1": 1.2},
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Settings(**wrong)


# What a dynamic prompt remembers.

TASKS = [task(number) for number in range(1, 5)]
SCORES = {
    # Answers a0 and a1 of each task, as the judge of the examples sees them.
    "t1": (IH, DH),
    "t2": (verdict(5, 3, 4), NEUTRAL),
    "t3": (IH, verdict(5, 5, 5, True)),
    "t4": (NEUTRAL, NEUTRAL),
}


def by_task(answer: str) -> Any:
    sample, _, number = answer.partition(" a")
    return SCORES[sample][int(number)]


def examples(candidate: RuleModel) -> dict[str, tuple[str | None, str | None]]:
    """The positive and negative example that the prompt of each task showed."""
    found = {}
    for request in candidate.asked:
        said = text_of(request)
        good = re.search(r"worth following in its manner: (.*)", said)
        bad = re.search(r"faults are to be avoided: (.*)", said)
        found[request.key.sample] = (good and good[1], bad and bad[1])
    return found


async def dynamic(candidate: RuleModel, items: Sequence[Item] = TASKS, **settings: Any) -> Walked:
    players = {
        "candidate": candidate,
        "judge": judge(lambda _: NEUTRAL),
        "dhp_judge": judge(by_task, "chooses"),
    }
    return await walked(players, items, **{"answers": 2, "dhp": True, "order": "data"} | settings)


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (
            {},
            {
                "t1": (None, None),
                "t2": ("t1 a0", "t1 a1"),
                "t3": ("t2 a0", "t1 a1"),
                "t4": ("t2 a0", "t3 a1"),
            },
        ),
        (
            {"dhp_policy": "text", "examples": {"positive": "by people", "negative": "no good"}},
            {
                "t1": ("by people", "no good"),
                "t2": ("t1 a0", "t1 a1"),
                "t3": ("t2 a0", "t1 a1"),
                "t4": ("t2 a0", "t3 a1"),
            },
        ),
        (
            {"classes": "overlapping"},
            {
                "t1": (None, None),
                "t2": ("t1 a0", "t1 a1"),
                "t3": ("t2 a0", "t1 a1"),
                "t4": ("t3 a1", "t3 a1"),
            },
        ),
    ],
    ids=["algorithm1", "text", "overlapping"],
)
@pytest.mark.parametrize("strategy", ["scp", "rag", "rcp", "cot"])
async def test_the_memory_changes_between_tasks_by_the_policy(
    settings: dict[str, Any], shown: dict[str, tuple[str | None, str | None]], strategy: str
) -> None:
    candidate = counting()
    done = await dynamic(candidate, strategy=strategy, **settings)
    assert examples(candidate) == shown
    # One prompt a task: both answers of a task came of the same words.
    assert len({text_of(request) for request in candidate.asked}) == len(TASKS)
    assert {trace.lane for trace in done.traces} == {"order-1"}
    assert done.value("ih_ratio") == 0.0, "the judge of the examples gives no scores"


async def test_the_panel_can_choose_the_examples() -> None:
    candidate, panel = counting(), judge(by_task)
    players = {"candidate": candidate, "judge": panel}
    done = await walked(players, TASKS, answers=2, dhp=True, order="data", dhp_judge="panel")
    assert examples(candidate)["t4"] == ("t2 a0", "t3 a1")
    assert len(done.steps("judge")) == 2 and not done.steps("dhp_judge")


async def test_repeats_are_seeded_shuffles_walked_side_by_side() -> None:
    items = [task(number) for number in range(1, 9)]

    async def orders(seed: int) -> dict[str, list[str]]:
        candidate = counting()
        players = {
            "candidate": candidate,
            "judge": judge(lambda _: IH),
            "dhp_judge": judge(lambda _: IH, "k"),
        }
        done = await walk(benchmark, items, players, repeats=3, seed=seed, answers=1, dhp=True)
        assert candidate.peak == 3
        made: dict[str, list[str]] = {}
        for request in candidate.asked:
            made.setdefault(f"order-{request.key.repeat}", []).append(request.key.sample)
        assert {trace.lane for trace in done.traces} == set(made)
        return made

    first = await orders(0)
    assert len({tuple(tasks) for tasks in first.values()}) == 3
    assert all(sorted(tasks) == [item.id for item in items] for tasks in first.values())
    assert await orders(0) == first != await orders(1)


async def test_a_walk_that_fails_leaves_the_examples_as_they_were() -> None:
    def says(request: Request) -> str:
        if request.key.sample == "t2":
            raise CallFailed("gone")
        return f"{request.key.sample} a{request.key.draw}"

    candidate = RuleModel(says, model_id="candidate")
    done = await dynamic(candidate)
    assert done.outcomes == ["scored", "candidate_failed", "scored", "scored"]
    assert examples(candidate)["t3"] == ("t1 a0", "t1 a1")


async def test_a_run_that_goes_on_has_the_prompts_it_would_have_had(tmp_path: Path) -> None:
    whole, begun, gone_on = counting(), counting(), counting()
    first = await dynamic(whole)
    await dynamic(begun, only=("t1", "t2"), folder=tmp_path)
    second = await dynamic(gone_on, folder=tmp_path)
    assert {request.key.sample for request in gone_on.asked} == {"t3", "t4"}
    assert [trace.memory for trace in first.traces] == [trace.memory for trace in second.traces]
    assert examples(gone_on) == {name: examples(whole)[name] for name in ("t3", "t4")}


def test_an_example_of_people_gives_way_to_any_ih() -> None:
    settings = Settings(dhp=True, dhp_policy="text", examples={"positive": "by people"})
    low = memory.Rated("own", 11.0, ih=True, dh=False)
    assert memory.after(None, settings, "t1", [low])["positive"]["text"] == "own"
    assert memory.after(None, settings, "t1", [])["positive"]["text"] == "by people"


def test_the_first_of_equal_answers_stays_the_example() -> None:
    same = [memory.Rated(name, 12.0, ih=True, dh=True) for name in ("one", "two")]
    now = memory.after(None, Settings(dhp=True), "t1", same)
    assert (now["positive"]["text"], now["negative"]["text"]) == ("one", "two")
    assert json.loads(json.dumps(now)) == now


# Data and prompts.


def test_the_shipped_tasks_are_ten_in_each_of_ten_fields() -> None:
    items = datasets.samples(datasets.shipped("data", "hicbench"), Item)
    fields = [item.field for item in items]
    assert len(items) == 100 and {fields.count(field) for field in fields} == {10}


async def test_every_prompt_is_shown_filled_in() -> None:
    from lotbench.config import experiment as config
    from lotbench.run import plan
    from lotbench.run.preview import previewed

    sets = ["dhp=true"]
    flags = {"benchmark": "hicbench", "model": "m", "roles.judge": ["j"], "roles.dhp_judge": ["k"]}
    made = plan.make(config.load(None, sets, flags))
    asked = previewed(made)
    assert [question.role for question in asked] == ["candidate", "judge", "dhp_judge"]
    assert made.experiment.repeats == 1
    assert benchmark.calls(made.settings) == {"candidate": 10, "judge": 10, "dhp_judge": 10}
