"""Blocks of RINoBench: two ideas beside the same two lists, so that neither an idea nor a list tells the class alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from lotbench.benchmarks.rinobench import score
from lotbench.benchmarks.rinobench.lints import FEWEST, right_by_words
from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.benchmarks.rinobench.task import benchmark
from lotbench.benchmarks.rinobench.validation import built
from lotbench.report.leaderboard import Entry, board
from lotbench.report.ranking_sections import summed_up
from lotbench.types import Score, Trace
from tests.ideas import idea

WORDS = ("moss", "tide", "glass", "wheel", "salt", "lamp", "rope", "seed", "cloud", "brick", "horn", "wool")
PAIRS = [(x, y) for x in LABELS for y in LABELS if x < y]


def text(rng: Random) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(30))


def block(number: int, x: int, y: int, bold: str = "") -> list[Item]:
    """Idea A is of class x beside W1 and of y beside W2, B the other way round; an idea may say `bold` words."""
    rng = Random(number)
    ideas = [
        {
            "problem_statement": f"{text(rng)} {name}{number}",
            "objective": f"{text(rng)} {bold}",
            "solution_approach": text(rng),
        }
        for name in ("a", "b")
    ]
    lists = [
        [{"id": f"w{n}", "title": f"Work {name} {n} of {number}", "abstract": text(rng)} for n in range(1, 4)]
        for name in ("W1", "W2")
    ]
    places = ((0, 0, x), (0, 1, y), (1, 0, y), (1, 1, x))
    return [
        Item.model_validate(
            {
                "id": f"b{number}-{at}",
                "block": f"b{number}",
                "research_idea": ideas[one],
                "related_works": lists[works],
                "novelty_score": gold,
                "novelty_reasoning": "Looking is known. Leaping is new.",
            }
        )
        for at, (one, works, gold) in enumerate(places)
    ]


def blocks(count: int = 30, bold: bool = False) -> list[Item]:
    """Blocks in which every class is equally often the gold; the bold ones say so in their ideas."""
    pairs = [PAIRS[number % len(PAIRS)] for number in range(count)]
    return [
        item
        for number, (x, y) in enumerate(pairs)
        for item in block(number, x, y, f"bold{x} daring{y}" if bold else "")
    ]


def walked(items: list[Item], said: dict[str, int]) -> list[Trace]:
    """What a candidate that says these scores leaves behind."""
    return [
        Trace(
            item.id,
            1,
            item.id,
            "scored",
            Score(
                float(said[item.id] == item.novelty_score),
                parts={
                    "gold": item.novelty_score,
                    "said": said[item.id],
                    "status": "ok",
                    "shortened": 0,
                    "works": 3,
                    "alignment": None,
                    "counts": None,
                    "block": item.block,
                },
            ),
            (),
            {},
            {},
        )
        for item in items
    ]


def test_a_score_that_an_idea_tells_by_itself_is_found_by_the_check_of_the_data() -> None:
    rng = Random(1)
    items = [
        idea(
            number,
            gold=number % 5 + 1,
            research_idea={
                "problem_statement": f"{text(rng)} {' '.join(['tell' + 'abcde'[number % 5]] * 4)}",
                "objective": text(rng),
                "solution_approach": text(rng),
            },
        )
        for number in range(60)
    ]
    (found,) = benchmark.data.lints(items, {})
    assert (found.field, found.grave) == ("research_idea", False)
    assert "(0.20 by guessing)" in found.text
    assert benchmark.data.lints(items[: FEWEST - 1], {}) == []


def test_in_blocks_an_idea_that_sounds_bold_tells_its_class_in_half_of_its_rows_at_most() -> None:
    items = blocks(60, bold=True)
    # Whoever sees an idea alone is right in one of its two rows at most.
    assert right_by_words(items, [item.research_idea.told() for item in items]) <= 0.5


def test_rows_of_a_block_are_no_more_evidence_than_the_block() -> None:
    items = blocks(24)
    rng = Random(3)
    right = {item.id: item.novelty_score for item in items}
    said = {item.id: item.novelty_score if rng.random() < 0.5 else 1 for item in items[::4]}
    # Whoever is right in one row of a block is right in all.
    alike = {
        item.id: item.novelty_score if said[items[at - at % 4].id] != 1 else 1
        for at, item in enumerate(items)
    }
    by_block = score.macro_f1(score.judged(walked(items, alike)))
    apart = [item.model_copy(update={"block": ""}) for item in items]
    by_row = score.macro_f1(score.judged(walked(apart, alike)))
    assert by_block.value == by_row.value
    assert width(by_block) > 1.3 * width(by_row)
    records = score.headline(walked(items, right), Settings()).records
    assert len(records) == 24 and all(len(answers) == 4 for answers in records.values())
    # Runs on other ideas of the same blocks are not paired.
    half = score.headline(walked(items[::2], right), Settings()).records
    assert not half.keys() & records.keys()


def test_ideas_that_were_not_answered_are_counted_as_ideas_and_not_as_blocks() -> None:
    items = blocks(30)
    told = walked(items, {item.id: item.novelty_score for item in items})
    # In nine blocks one idea of four had no reply: 9 of 120, of which a run may lack a tenth.
    lost = {item.id for item in items[:36:4]}
    broken = [
        replace(one, outcome="candidate_failed", score=Score(None, "no reply", parts={"status": None}))
        if one.sample in lost
        else one
        for one in told
    ]
    made = Entry("run", "m", (), "rinobench", {}, 9, {}, headline=score.headline(broken, Settings()))
    assert (made.metric.unanswered, made.played, made.abstained) == (9, 120, False)
    assert len(made.metric.records) == 30
    few = Entry("run", "m", (), "rinobench", {}, 9, {}, headline=score.headline(broken[:80], Settings()))
    assert few.abstained
    assert "rests on 71 of 80 samples" in summed_up(board([few]))


def width(metric: Any) -> float:
    return float(metric.high - metric.low)


def test_a_block_of_two_ideas_and_two_lists_is_clean() -> None:
    assert benchmark.data.lints(blocks(10), {}) == []
    assert benchmark.data.faults(blocks(10), Settings()) == []


def test_classes_out_of_balance_are_a_fault() -> None:
    (fault,) = benchmark.data.faults(block(1, 1, 2), Settings())
    assert "not balanced (1: 2, 2: 2, 3: 0, 4: 0, 5: 0)" in fault


def test_a_judge_is_tried_on_the_justification_of_another_block_not_on_one_of_the_same_idea() -> None:
    rows = blocks(3)
    tried = built("judge", {one.id: one.model_copy(update={"novelty_reasoning": one.id}) for one in rows})
    other = [(one.sample, str(one.turn["reasoning"])) for one in tried if one.id.endswith("/other")]
    assert len(other) == 12
    assert all(sample.split("-")[0] != said.split("-")[0] for sample, said in other)
    assert built("judge", {one.id: one for one in rows[:4]})[1].id.endswith("/self")
