"""Ideas built from a conference that never was: filter, bins, writing, checks, split, and every reason."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.rinobench.construction import papers as construction
from lotbench.benchmarks.rinobench.construction.papers import Paper, Rules
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.cli import main
from lotbench.errors import CallFailed, DataError, TooManyFailures
from lotbench.run.construct_rinobench import BuiltIdeas, build
from lotbench.run.construction import Order
from lotbench.storage import datasets
from tests.fakes import RuleModel, text_of

MODELS = {"writer": "python:writer", "judge": "python:judge"}
TECHNICAL, EMPIRICAL = construction.DIMENSIONS


def review(technical: Any, empirical: Any, **content: Any) -> dict[str, Any]:
    return {
        "reply_type": "review",
        "content": {
            "summary_of_the_paper": "They leap.",
            TECHNICAL: technical if not isinstance(technical, int) else f"{technical}: in words",
            EMPIRICAL: empirical if not isinstance(empirical, int) else f"{empirical}: in words",
            "main_review": "Looking is known, leaping is new.",
            **content,
        },
    }


def cited(number: int, section: str = "1 Introduction", **fields: Any) -> dict[str, Any]:
    return {
        "title": f"Work {number}",
        "abstract": f"It looks {number} times.",
        "sections": [section],
        **fields,
    }


def paper(name: str, *ratings: tuple[Any, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "title": f"Leaping {name}",
        "abstract": "Leaping is fun.",
        "pdf": f"https://example.org/{name}.pdf",
        "replies": [review(*pair) for pair in ratings]
        + [{"reply_type": "comment", "content": {"text": "Hm."}}],
        "related_works": [cited(number) for number in range(1, 6)],
        **fields,
    }


def conference() -> list[dict[str, Any]]:
    """Twenty papers that hold, four for each pair of ratings, and one for each way to fall out."""
    pairs = [((1, 1), (1, 2)), ((2, 1), (2, 2)), ((2, 2), (3, 2)), ((3, 3), (3, 3)), ((4, 3), (4, 4))]
    good = [paper(f"good{group}{one}", *pair) for group, pair in enumerate(pairs) for one in range(4)]
    return [
        *good,
        paper("apart", (1, 2), (3, 2)),
        paper("across", (2, 4)),
        paper("unrated"),
        paper("poor", (2, 2), related_works=[cited(1), cited(2), cited(3), cited(4), cited(5, "Experiments")]),
        paper("leaky", (2, 2), title="Leaping leaky"),
        paper("plural", (2, 2), title="Leaping plural"),
        paper("loose", (2, 2), title="Leaping loose"),
        paper("empty", (2, 2), title="Leaping empty"),
        paper("mumbled", (2, 2), title="Leaping mumbled"),
        paper("spoken", (2, 2), title="Leaping spoken"),
        paper("voiced", (2, 2), title="Leaping voiced"),
        paper("reported", (2, 2), title="Leaping reported"),
    ]  # fmt: skip


def writer_rule(request: Any) -> Any:
    said, step = text_of(request), request.key.step
    if step == "preflight":
        return {"word": "ready"}
    if step == "idea":
        return {
            "problem_statement": f"Problem of {request.key.sample}.",
            "objective": "We want to leap." if request.key.sample == "spoken" else "The aim is to leap.",
            "solution_approach": "Look first, then leap.",
        }
    assert "(1) " in said
    number = "It scores 4 for novelty. " if request.key.sample == "leaky" else ""
    return {"justification": f"{number}Looking is known from work 1; leaping is new ({request.key.sample})."}


def judge_rule(request: Any) -> Any:
    step, sample = request.key.step, request.key.sample
    if step == "preflight":
        return {"word": "ready"}
    if step == "formal":
        return {
            "reason": "read it",
            "idea_in_first_person": sample == "voiced",
            "justification_in_one_voice": sample != "reported",
            "summary_of_several_reviews": sample == "plural",
            "novelty_score_as_number": False,
        }
    if step == "gold_arguments":
        if sample == "mumbled":
            return "mumble"
        none: Mapping[str, list[str]] = {"known": [], "novelty": []}
        return none if sample == "empty" else {"known": ["Looking is known."], "novelty": ["Leaping is new."]}
    if step == "ground_known":
        return {"k1_reason": "seen", "k1_works": [] if sample == "loose" else ["w1"]}
    return {"n1_reason": "seen", "n1_in_idea": True}


async def built(folder: Path, rows: Any = None, **more: Any) -> tuple[BuiltIdeas, RuleModel, RuleModel]:
    source = folder / "conf2031.json"
    source.write_text(json.dumps(conference() if rows is None else rows), encoding="utf-8")
    writer = RuleModel(more.pop("writer", writer_rule), model_id="gpt-oss-120b")
    judge = RuleModel(more.pop("judge", judge_rule), model_id="judge")
    rules = Rules(**more.pop("rules", {}))
    wanted = Order((source,), folder / "out", MODELS, rules, **more)
    made = await build(wanted, {"python:writer": writer, "python:judge": judge})
    return made, writer, judge


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_a_conference_becomes_two_splits_and_each_paper_left_out_has_its_reason(tmp_path: Path) -> None:
    made, _, judge = await built(tmp_path)
    dropped = {
        row["paper"]: (row["stage"], row["reason"]) for row in rows(tmp_path / "out" / "dropped.jsonl")
    }
    assert dropped == {
        "apart": ("ratings", "ratings are 2 apart, more than 1"),
        "across": ("ratings", "ratings are 2 apart, more than 1"),
        "unrated": ("ratings", "no review rates its novelty"),
        "poor": (
            "related works",
            "4 related works with an abstract in introduction and related work, fewer than 5",
        ),
        "leaky": ("quality", "the justification may give its score away: 'scores 4'"),
        "plural": ("quality", "a text sums up several reviews: read it"),
        "loose": ("quality", "not grounded: k1: Looking is known."),
        "empty": ("quality", "the justification has no arguments"),
        "spoken": ("quality", "the idea is in the first person: 'We'"),
        "voiced": ("quality", "the idea is in the first person: read it"),
        "reported": ("quality", "the justification is not in one reviewer's voice: read it"),
        "mumbled": (
            "judge_failed",
            "gold_arguments: the answer is not one JSON object of the form asked for",
        ),
    }
    assert made.stages == {
        "papers": 32,
        "with ratings that agree": 29,
        "with enough related works": 28,
        "with an idea and a justification that hold": 20,
    }
    train = datasets.samples(tmp_path / "out" / "train", Item)
    test = datasets.samples(tmp_path / "out" / "test", Item)
    assert (len(train), len(test)) == (len(made.train), len(made.test))
    assert {item.id for item in train} | {item.id for item in test} == {
        f"idea-good{group}{one}" for group in range(5) for one in range(4)
    }
    one = train[0]
    assert one.research_idea.solution_approach == "Look first, then leap."
    assert one.gold_writers == ("gpt-oss-120b",)
    assert one.source.startswith("https://example.org/")
    # A paper whose text gives its score away, or an idea that says "we", is not shown to the judge at all.
    assert not {"leaky", "spoken"} & {request.key.sample for request in judge.asked}


async def test_the_card_says_how_the_scores_were_cut(tmp_path: Path) -> None:
    await built(tmp_path)
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    means = [float(np.mean(Paper.model_validate(row).ratings)) for row in conference() if "good" in row["id"]]
    means += [2.0] * 9
    width = np.linspace(min(means), max(means), 6)
    edges = 0.7 * np.quantile(means, np.linspace(0, 1, 6)) + 0.3 * width
    assert card["edges"] == pytest.approx(edges.tolist())
    assert card["models"] == {"writer": "gpt-oss-120b", "judge": "judge"}
    assert sum(card["support"]["rated"].values()) == 29
    assert card["dropped"] == {"ratings": 3, "related works": 1, "quality": 7, "judge_failed": 1}
    assert card["rules"]["quantile_share"] == 0.7


async def test_a_build_goes_on_where_it_was_and_takes_from_the_store(tmp_path: Path) -> None:
    calls = 0

    def fails_later(request: Any) -> Any:
        nonlocal calls
        calls += 1
        return CallFailed("gone") if calls > 12 else writer_rule(request)

    with pytest.raises(TooManyFailures):
        await built(tmp_path, writer=fails_later)
    assert not (tmp_path / "out" / "card.json").exists()
    made, writer, _ = await built(tmp_path)
    assert len(made.train) + len(made.test) == 20
    # Two calls for each of 28 papers but one (an idea that says "we" gets no justification), without the eleven that
    # had come before, and one to test the connection.
    assert len([r for r in writer.asked if r.key.step != "preflight"]) == 2 * 28 - 1 - 11

    (tmp_path / "again").mkdir()
    again, writer, judge = await built(tmp_path / "again")
    assert again.train == made.train
    assert {request.key.step for request in [*writer.asked, *judge.asked]} == {"preflight", "gold_arguments"}
    assert {r.key.sample for r in judge.asked if r.key.step != "preflight"} == {"mumbled"}
    edited = tmp_path / "out" / "train" / "samples.jsonl"
    edited.write_text("edited", "utf-8")
    await built(tmp_path)
    assert edited.with_suffix(".jsonl.before").read_text("utf-8") == "edited"


async def test_a_writer_that_writes_nothing_is_asked_again_and_then_a_failure(tmp_path: Path) -> None:
    def blank(request: Any) -> Any:
        said = writer_rule(request)
        if request.key.sample == "good00" and request.key.step == "idea":
            return {**said, "objective": "..."}
        return said

    made, writer, _ = await built(tmp_path, writer=blank)
    assert made.stages["with an idea and a justification that hold"] == 19
    (row,) = [one for one in rows(tmp_path / "out" / "dropped.jsonl") if one["paper"] == "good00"]
    assert (row["stage"], row["reason"]) == ("writer_failed", "idea: objective: it says nothing")
    assert len([r for r in writer.asked if r.key.sample == "good00" and r.key.step == "idea"]) == 2


async def test_the_writer_reads_reviews_in_words_without_their_ratings(tmp_path: Path) -> None:
    _, writer, _ = await built(tmp_path, [paper("one", (2, 3), (3, 3))])
    (idea,), (justification,) = writer.heard("idea"), writer.heard("justification")
    assert "(2) They leap." in idea
    assert "technical novelty and significance: in words" in justification
    assert "Looking is known, leaping is new." in justification
    assert "2: in words" not in justification and "They leap." not in justification


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("3: fine", 3), ("4", 4), (2, 2), ("Not applicable", None), ("5: no", None), (None, None),
        (True, None), (0, None),
    ],
)  # fmt: skip
def test_a_rating_is_the_number_before_the_words(given: Any, said: int | None) -> None:
    assert construction.rating(construction.Reply(content={TECHNICAL: given}), TECHNICAL) == said


def test_only_works_that_introduction_or_related_work_cite_count_once() -> None:
    works = [
        cited(1, "Introduction"),
        cited(2, "2. Related Work"),
        cited(3, "II Related Works"),
        cited(4, "Experiments"),
        cited(5, "Introduction", abstract=None),
        {**cited(1, "Related Work"), "title": "WORK 1"},
        {**cited(6), "sections": "introduction"},
        {**cited(7), "sections": []},
    ]
    made = Paper.model_validate(paper("a", (2, 2), related_works=works))
    assert [work.title for work in made.works] == ["Work 1", "Work 2", "Work 3", "Work 6"]


def test_scores_are_cut_at_edges_closed_on_the_right() -> None:
    edges = (1.0, 1.5, 2.0, 2.5, 3.5, 4.0)
    means = (1.0, 1.5, 1.51, 2.0, 2.5, 2.6, 3.5, 3.51, 4.0)
    assert [construction.score(mean, edges) for mean in means] == [1, 1, 2, 2, 3, 4, 4, 5, 5]


def test_edges_stand_between_quantiles_and_bins_of_equal_width() -> None:
    means = [1.0, 1.0, 1.0, 2.0, 2.5, 3.0, 3.5]
    assert construction.cut(means, Rules(quantile_share=0)) == pytest.approx((1, 1.5, 2, 2.5, 3, 3.5))
    blend = 0.7 * np.quantile(means, np.linspace(0, 1, 6)) + 0.3 * np.linspace(1, 3.5, 6)
    assert construction.cut(means, Rules()) == pytest.approx(tuple(blend))
    papers = [
        Paper.model_validate(paper(f"{venue}{low}", (low, low), venue=venue))
        for venue, lows in (("a", (1, 2)), ("b", (3, 4)))
        for low in lows
    ]
    pooled, edges = construction.binned(papers, Rules())
    assert (edges[0], edges[-1]) == (1, 4)
    assert (pooled[0].score, pooled[-1].score) == (1, 5)


def test_the_split_has_of_every_score_its_share_whatever_the_order() -> None:
    support = {1: 75, 2: 299, 3: 436, 4: 403, 5: 168}
    scores = {f"p{label}-{one}": label for label, count in support.items() for one in range(count)}
    test = construction.split(scores, 0.2, seed=0)
    assert [sum(scores[name] == label for name in test) for label in support] == [15, 60, 87, 81, 34]
    assert construction.split(dict(reversed(scores.items())), 0.2, seed=0) == test
    assert construction.split(scores, 0.2, seed=1) != test


@pytest.mark.parametrize(
    "text",
    ["It scores 4 for that.", "I would rate it 3/5", "Novelty: 2.", "a rating of 3.5", "4 out of five"],
)
def test_a_number_that_gives_the_score_away_is_found(text: str) -> None:
    assert construction.leak(text)


@pytest.mark.parametrize(
    "text",
    [
        "We train 3 models at a learning rate of 0.01.",
        "Work 4 is known.",
        "It scored 3 % more.",
        "of 1 to 2 words",
    ],
)
def test_other_numbers_give_nothing_away(text: str) -> None:
    assert construction.leak(text) is None


async def test_faults_of_the_input_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 2: title: .*\n.*row 3"):
        await built(tmp_path, [paper("a", (2, 2)), {**paper("b", (2, 2)), "title": ""}, "no paper"])
    with pytest.raises(DataError, match="paper 'a' comes 2 times"):
        await built(tmp_path, [paper("a", (2, 2)), paper("a", (2, 2))])
    with pytest.raises(DataError, match="of 1 papers none has ratings that agree"):
        await built(tmp_path, [paper("a", (1, 4))])
    with pytest.raises(DataError, match="no paper has 5 related works"):
        await built(tmp_path, [paper("a", (2, 2), related_works=[])])
    assert not (tmp_path / "out").exists()


def test_the_command_builds_from_recorded_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, *_ = asyncio.run(built(tmp_path))
    calls = f"file:{tmp_path / 'out' / 'calls.jsonl'}"
    command = [
        "data", "build-rinobench", str(tmp_path / "conf2031.json"), "--out", str(tmp_path / "again"),
        "--writer", calls, "--judge", calls, "--no-preflight", "--set", "test_share=0.5",
    ]  # fmt: skip
    assert main(command) == 0
    assert "20  with an idea and a justification that hold" in capsys.readouterr().out
    train = datasets.samples(tmp_path / "again" / "train", Item)
    test = datasets.samples(tmp_path / "again" / "test", Item)
    texts = {item.id: item.research_idea for item in (*made.train, *made.test)}
    assert {item.id: item.research_idea for item in (*train, *test)} == texts
    assert len(test) >= 9


def test_the_command_names_what_a_rule_has_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.json").write_text(json.dumps(conference()), encoding="utf-8")
    command = [
        "data", "build-rinobench", str(tmp_path / "c.json"), "--out", str(tmp_path / "out"), "--writer", "local",
        "--judge", "local",
    ]  # fmt: skip
    assert main([*command, "--set", "bins=3"]) == 2
    assert "bins" in capsys.readouterr().err
