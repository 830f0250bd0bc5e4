"""LiveIdeaBench scores by hand: dimensions, the percentile over its units, severity, the front, people."""

from statistics import fmean
from typing import Any

import numpy as np
import pytest
import scipy

from lotbench.benchmarks.liveideabench.judged import Comparison, Idea, Keyword, Row, read_keyword
from lotbench.benchmarks.liveideabench.people import review
from lotbench.benchmarks.liveideabench.relations import lengths
from lotbench.benchmarks.liveideabench.score import dimensions, primary_metric, sheet
from lotbench.benchmarks.liveideabench.sections import severity
from lotbench.benchmarks.liveideabench.settings import VERSIONS, Settings
from lotbench.report.sections import Section
from tests.liveidea import ideas, items, judge, panel, play

V2 = VERSIONS["v2"]

# Two judges would disagree by draw: idea 1 of keyword k-n gets n, n + 1, n + 2 for originality, idea 2 gets 8.
BY_PLACE = {
    "originality": lambda request: (
        int(request.key.sample[2:]) + request.key.draw if request.key.round == 1 else 8
    ),
    "feasibility": 4,
    "clarity": lambda request: 2 * request.key.round,
    "grade": lambda request: "ABCD"[(int(request.key.sample[2:]) - 1) % 4],
}
TWO = ("One KEYWORD.", "Two of KEYWORD.")


async def by_place(keywords: int = 4, **settings: Any) -> Any:
    return await play(
        items(*"abcdefgh"[:keywords]), ideas(*TWO), panel(3, lambda place: BY_PLACE), **settings
    )


async def test_the_dimensions_by_hand() -> None:
    played = await by_place()
    made = played.metrics()
    # Keyword n: idea 1 has a mean of n + 1, idea 2 of 8, so originality is (n + 9) / 2: 5, 5.5, 6, 6.5.
    assert made["originality"].value == pytest.approx(5.75)
    assert made["feasibility"].value == 4
    assert made["clarity"].value == 3
    assert made["fluency"].value == pytest.approx((10 + 7 + 4 + 1) / 4)
    # Composites (originality + 4 + 3 + fluency) / 4: 5.5, 4.875, 4.25, 3.625; the 30th percentile stands 0.9 of the
    # way from the lowest to the next.
    assert [trace.score.value for trace in played.traces] == [5.5, 4.875, 4.25, 3.625]
    assert made["flexibility"].value == pytest.approx(3.625 + 0.9 * 0.625)
    assert made["average"].value == pytest.approx((5.75 + 4 + 3 + 5.5 + 4.1875) / 5)
    assert {metric.n for metric in made.values()} == {4}
    assert next(iter(made)) == "average"
    # More ideas of one keyword than were asked for make up for no other's.
    assert [primary_metric(played.traces, Settings(ideas=asked)).unanswered for asked in (1, 2, 4)] == [
        0,
        0,
        2,
    ]


async def test_the_percentile_of_a_draw_is_numpys() -> None:
    keywords = [read_keyword(trace, V2) for trace in (await by_place(8)).traces]
    weights = np.random.default_rng(1).multinomial(8, np.full(8, 1 / 8), size=50).astype(float)
    for unit in ("keyword", "idea", "row"):
        table = sheet(keywords, V2, unit)
        drawn = [np.repeat(table.composites, row[table.owner].astype(int)) for row in weights]
        assert table.flexibility(weights) == pytest.approx([np.percentile(one, 30) for one in drawn])
    low, high = (
        dimensions(keywords, Settings())["flexibility"].low,
        dimensions(keywords, Settings())["flexibility"].high,
    )
    assert low is not None and high is not None and low < high


# ---- Judges ----

PLANTED = (-2, -1, 0, 1, 2)


def by_severity(place: int) -> dict[str, Any]:
    """A judge that gives the idea's worth (5 to 7 by keyword and idea), plus its own severity."""
    return {
        "originality": lambda request: (
            5 + (int(request.key.sample[2:]) + request.key.round) % 3 + PLANTED[place]
        ),
        "feasibility": 5 - PLANTED[place],
    }


async def test_planted_severities_are_recovered() -> None:
    played = await play(items(*"abcdefg"), ideas(*TWO), panel(5, by_severity))
    keywords = [read_keyword(trace, V2) for trace in played.traces]
    model_of = {row.index: row.model for one in keywords for idea in one.ideas for row in idea.rows}
    found = severity(keywords, "originality")
    assert found is not None
    assert {model_of[index]: effect for index, effect in found.items()} == pytest.approx(
        {f"judge-{place}": float(planted) for place, planted in enumerate(PLANTED)}
    )
    section = played.section("Severity of judges")
    rows = {row[0]: row for row in section.tables[0].rows}
    assert rows["judge-4"][2:] == pytest.approx((2, -2, 0), abs=1e-9)


# ---- Sections ----


async def test_people_label_ideas_and_are_held_against_judges_and_each_other() -> None:
    by_sample = {"originality": lambda request: int(request.key.sample[2:])}
    played = await play(items(*"abcd"), ideas("OpenAI KEYWORD.", "Two."), panel(3, lambda place: by_sample))
    rows = review(played.traces, played.settings, played.evidence)
    assert rows[0] == {
        "row": "k-1/1/1",
        "keyword": "a",
        "idea": "OpenAI k-1.",
        "originality": None,
        "feasibility": None,
        "clarity": None,
    }
    # People give two points more than the judges, and agree on the order.
    labels = tuple({**row, "originality": int(str(row["row"])[2]) + 2} for row in rows)
    (section,) = [one for one in played.sections(labels=labels) if one.title == "People and judges"]
    name, n, people, judges, pearson, spearman, icc = section.tables[0].rows[0]
    assert (name, n, people, judges) == ("originality", 8, 4.5, 2.5)
    assert (pearson, spearman) == pytest.approx((1, 1))
    # Mean squares: rows 2 * 10 / 7, columns 16 * 1, error 0; (20/7) / (20/7 + 2 * 16 / 8).
    assert icc == pytest.approx((20 / 7) / (20 / 7 + 4))
    assert section.tables[0].rows[1] == ("feasibility", 0, None, None, None, None, None)
    assert len(section.tables) == 1
    # Two people on one idea are held against each other, as judges are against one.
    marks = [(str(row["row"]), int(str(row["row"])[2])) for row in rows]
    both = [{"row": row, "who": "ann", "originality": mark + 2} for row, mark in marks]
    both += [{"row": row, "who": "ben", "originality": 6 - mark} for row, mark in marks[:6]]
    (section,) = [one for one in played.sections(labels=tuple(both)) if one.title == "People and judges"]
    among, beside = section.tables[1].rows[:2]
    assert among[:3] == ("originality", "one person and another", 6)
    assert among[3:5] == pytest.approx((-1, -1))
    assert beside[:3] == ("originality", "the judges and one person", 14)
    # An idea that both labelled counts once, with their mean.
    assert section.tables[0].rows[0][1] == 8


async def test_every_table_is_whole_whatever_came_of_the_episodes() -> None:
    def whole(sections: Any) -> None:
        for section in sections:
            assert isinstance(section, Section)
            for table in section.tables:
                assert all(len(row) == len(table.columns) for row in table.rows), section.title

    nothing = await play(
        items("a"), ideas("No.", "I cannot help with that."), panel(3, lambda p: {"clarity": 0})
    )
    for played in (nothing, await by_place(1), await by_place(4, version="v1")):
        whole(played.sections())
    whole(nothing.benchmark.sections([], Settings(), nothing.evidence))
    assert judge().model_id == "judge-0"


def thought(number: int, reasoning: int, words: int, marks: list[tuple[int, int]]) -> Idea:
    """An idea with so much reasoning and the originality and feasibility that each judge gave it."""
    rows = tuple(
        Row(index, f"judge {index}", {"originality": one, "feasibility": other})
        for index, (one, other) in enumerate(marks)
    )
    return Idea(number, "ok", "An idea.", None, rows, 0, words=words, reasoning=reasoning)


def test_length_and_reasoning_go_with_each_dimension_verdict_by_verdict() -> None:
    v1 = VERSIONS["v1"]
    keywords = [
        Keyword(
            f"kw-{at}",
            0,
            "physics",
            (
                thought(1, 100 * 2**at, 60 + at, [(3 + at, 5), (4, 6 - at % 3), (5, 5)]),
                thought(2, 900, 80 - at, [(6, 2 + at), (7 - at, 4)]),
            ),
            (Comparison((1, 2), ("ABCD"[at % 4],)),),
        )
        for at in range(5)
    ]
    verdicts = [(one.fluency(v1), idea, row) for one in keywords for idea in one.ideas for row in idea.rows]
    table = lengths(keywords, v1).tables[0]
    rows = {row[:2]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert {other for one, other in rows if one == "length of the reasoning"} == {
        *("judged quality", "originality", "feasibility", "fluency", "quality and fluency")
    }
    assert {row["verdicts"] for row in rows.values()} == {len(verdicts)} == {25}
    reasoning = [float(idea.reasoning) for _, idea, _ in verdicts]
    for name, values in {
        "originality": [row.scores["originality"] for *_, row in verdicts],
        "feasibility": [row.scores["feasibility"] for *_, row in verdicts],
        "fluency": [fluency for fluency, *_ in verdicts],
        "quality and fluency": [fmean([*row.scores.values(), fluency]) for fluency, _, row in verdicts],
    }.items():
        found = rows["length of the reasoning", name]
        assert found["rho"] == pytest.approx(scipy.stats.spearmanr(reasoning, values).statistic)
        assert found["r"] == pytest.approx(scipy.stats.pearsonr(np.log1p(reasoning), values).statistic)
    length = rows["length of the idea", "judged quality"]
    quality = [fmean(row.scores.values()) for *_, row in verdicts]
    assert length["r"] == pytest.approx(
        scipy.stats.pearsonr([idea.words for _, idea, _ in verdicts], quality).statistic
    )
