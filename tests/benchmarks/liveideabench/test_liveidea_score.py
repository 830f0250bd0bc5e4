"""LiveIdeaBench scores by hand: dimensions, the percentile over its units, severity, the front, people."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.liveideabench.across import across
from lotbench.benchmarks.liveideabench.judged import read_keyword
from lotbench.benchmarks.liveideabench.panelists import severity
from lotbench.benchmarks.liveideabench.people import review
from lotbench.benchmarks.liveideabench.score import average, dimensions, sheet
from lotbench.benchmarks.liveideabench.settings import VERSIONS, Settings
from lotbench.report.sections import Section
from tests.fakes import ScriptedModel
from tests.liveidea import ideas, items, judge, panel, play

REFERENCE = os.environ.get("LOTBENCH_REFERENCE_DATA")
reference = pytest.mark.skipif(not REFERENCE, reason="needs $LOTBENCH_REFERENCE_DATA")
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
    walked = await by_place()
    made = walked.metrics()
    # Keyword n: idea 1 has a mean of n + 1, idea 2 of 8, so originality is (n + 9) / 2: 5, 5.5, 6, 6.5.
    assert made["originality"].value == pytest.approx(5.75)
    assert made["feasibility"].value == 4
    assert made["clarity"].value == 3
    assert made["fluency"].value == pytest.approx((10 + 7 + 4 + 1) / 4)
    # Composites (originality + 4 + 3 + fluency) / 4: 5.5, 4.875, 4.25, 3.625; the 30th percentile stands 0.9 of the
    # way from the lowest to the next.
    assert [trace.score.value for trace in walked.traces] == [5.5, 4.875, 4.25, 3.625]
    assert made["flexibility"].value == pytest.approx(3.625 + 0.9 * 0.625)
    assert made["average"].value == pytest.approx((5.75 + 4 + 3 + 5.5 + 4.1875) / 5)
    assert {metric.n for metric in made.values()} == {4}
    assert next(iter(made)) == "average"


async def test_v1_averages_four_and_grades_from_zero() -> None:
    made = (await by_place(version="v1")).metrics()
    assert made["fluency"].value == pytest.approx(5)
    composites = sorted((((n + 9) / 2) + 4 + 10 - (n - 1) * 10 / 3) / 3 for n in (1, 2, 3, 4))
    assert made["flexibility"].value == pytest.approx(float(np.percentile(composites, 30)))
    expected = (5.75 + 4 + 5 + float(np.percentile(composites, 30))) / 4
    assert made["average"].value == pytest.approx(expected)


async def test_the_unit_of_flexibility() -> None:
    walked = await by_place()
    fluency = {n: 13 - 3 * n for n in (1, 2, 3, 4)}
    by_idea = [(n + 1 + 4 + 2 + fluency[n]) / 4 for n in fluency] + [
        (8 + 4 + 4 + fluency[n]) / 4 for n in fluency
    ]
    by_row = [(n + place + 4 + 2 + fluency[n]) / 4 for n in fluency for place in range(3)]
    by_row += [(8 + 4 + 4 + fluency[n]) / 4 for n in fluency for place in range(3)]
    keywords = [read_keyword(trace, V2) for trace in walked.traces]
    for unit, values in (("idea", by_idea), ("row", by_row)):
        found = dimensions(keywords, Settings(flexibility_unit=unit))
        assert found["flexibility"].value == pytest.approx(float(np.percentile(values, 30)))
        assert found["originality"].value == walked.value("originality")


async def test_the_percentile_of_a_draw_is_numpys() -> None:
    keywords = [read_keyword(trace, V2) for trace in (await by_place(8)).traces]
    rng = np.random.default_rng(1)
    weights = rng.multinomial(8, np.full(8, 1 / 8), size=50).astype(float)
    for unit in ("keyword", "idea", "row"):
        table = sheet(keywords, V2, unit)
        drawn = [np.repeat(table.composites, row[table.owner].astype(int)) for row in weights]
        assert table.flexibility(weights) == pytest.approx([np.percentile(one, 30) for one in drawn])
    low, high = (
        dimensions(keywords, Settings())["flexibility"].low,
        dimensions(keywords, Settings())["flexibility"].high,
    )
    assert low is not None and high is not None and low < high


async def test_what_could_not_be_judged_lowers_n_and_is_not_filled_in() -> None:
    given = items("a", "b")
    long = " ".join(["word"] * 201)
    candidate = ideas("One KEYWORD.", "Two of KEYWORD.")
    rule = candidate._rule
    candidate._rule = lambda request: (
        long if request.key.sample == "k-2" and request.key.round == 2 else rule(request)
    )
    made = (await play(given, candidate, panel(3))).metrics()
    assert (made["originality"].n, made["fluency"].n, made["average"].n) == (2, 1, 1)
    assert made["originality"].value == 6


async def test_repeats_of_a_keyword_are_one_keyword() -> None:
    once = (await by_place()).metrics()
    twice = (await by_place(repeats=2)).metrics()
    assert {name: one.value for name, one in twice.items()} == pytest.approx(
        {name: one.value for name, one in once.items()}
    )
    assert twice["average"].n == 4


@reference
def test_the_average_of_the_published_rows_is_the_mean_of_four() -> None:
    path = Path(str(REFERENCE), "liveideabench", "LiveIdeaBench-202412.csv")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 20
    for row in rows:
        four = {name: float(row[name]) for name in ("Fluency", "Feasibility", "Originality", "Flexibility")}
        assert average(four) == pytest.approx(float(row["Average"]), abs=1e-6)


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
    walked = await play(items(*"abcdefg"), ideas(*TWO), panel(5, by_severity))
    keywords = [read_keyword(trace, V2) for trace in walked.traces]
    model_of = {row.seat: row.model for one in keywords for idea in one.ideas for row in idea.rows}
    found = severity(keywords, "originality")
    assert found is not None
    assert {model_of[seat]: effect for seat, effect in found.items()} == pytest.approx(
        {f"judge-{place}": float(planted) for place, planted in enumerate(PLANTED)}
    )
    section = walked.section("Judges")
    rows = {row[0]: row for row in section.tables[0].rows}
    assert rows["judge-4"][2:] == pytest.approx((2, -2, 0), abs=1e-9)


async def test_judges_that_never_met_are_not_told_apart() -> None:
    walked = await play(items("a"), ideas(*TWO), panel(4), judges=1)
    assert "did not meet on enough ideas" in walked.section("Judges").notes[-1]


# ---- Sections ----


async def test_categories_have_means_with_interval_and_n() -> None:
    given = items(*"abcd", categories=("Physics", "Biology"))
    walked = await play(given, ideas(*TWO), panel(3, lambda place: BY_PLACE))
    section = walked.section("By category")
    # k-1 and k-3 are physics: originality 5 and 6, fluency 10 and 4, composites 5.5 and 4.25.
    assert section.tables[0].rows[1] == ("Physics", 2, 5.5, 4, 3, 7, 4.875)
    (grid,) = section.grids
    assert grid.rows == ("Biology", "Physics") and grid.columns[-1] == "composite"
    cell = grid.cells[1][0]
    assert cell is not None and (cell.value, cell.n) == (5.5, 2)
    # Of two keywords with 5 and 6: 5.5 -+ t(1, .975) / 2, cut off at the scale's end.
    assert (cell.low, cell.high) == (1.0, 10.0)


async def test_the_front_and_the_ideas_to_read() -> None:
    scores = {"originality": lambda r: 9 - r.key.round, "feasibility": lambda r: 2 + int(r.key.sample[2:])}
    walked = await play(items("a", "b"), ideas(*TWO), panel(3, lambda place: scores))
    assert walked.section("Originality and feasibility").tables[0].rows == (("b", 1, 8, 4),)
    titles = [reading.title for reading in walked.section("Ideas to read").readings]
    assert titles == ["Best: b (6.33)", "Median: a (6.00)", "Worst: a (5.67)"]
    best = walked.section("Ideas to read").readings[0]
    assert dict(best.texts)["idea"] == "One k-2."
    assert "judge-0: originality 8, feasibility 4, clarity 7" in dict(best.texts)["scores"]


async def test_length_goes_with_quality() -> None:
    given = ("word " * 5 + "KEYWORD.", "word " * 50 + "KEYWORD.")
    scores = {
        "originality": lambda r: 3 * r.key.round,
        "feasibility": 5,
        "clarity": lambda r: 9 - r.key.round,
    }
    walked = await play(items("a", "b"), ideas(*given), panel(3, lambda place: scores))
    rho = {row[:2]: row[2] for row in walked.section("Length").tables[0].rows}
    assert rho["length of the idea", "judged quality"] == pytest.approx(1)
    assert rho["length of the idea", "clarity"] == pytest.approx(-1)
    assert rho["originality", "clarity"] == pytest.approx(-1)
    assert rho["length of the idea", "feasibility"] is None


async def test_ideas_are_the_answers_that_models_are_compared_by() -> None:
    walked = await play(items("a", "b"), ideas("red green", "red blue"), panel(3))
    answers = walked.benchmark.comparison.answers(walked.traces, walked.settings)
    assert list(answers.values()) == [["red green", "red blue"]] * 2
    assert walked.benchmark.comparison.encoder(Settings(encoder="other")) == "other"


async def test_people_label_ideas_and_are_held_against_judges() -> None:
    by_sample = {"originality": lambda request: int(request.key.sample[2:])}
    walked = await play(items(*"abcd"), ideas("OpenAI KEYWORD.", "Two."), panel(3, lambda place: by_sample))
    rows = review(walked.traces, walked.settings, walked.evidence)
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
    (section,) = [one for one in walked.sections(labels=labels) if one.title == "People and judges"]
    name, n, people, judges, pearson, spearman, icc = section.tables[0].rows[0]
    assert (name, n, people, judges) == ("originality", 8, 4.5, 2.5)
    assert (pearson, spearman) == pytest.approx((1, 1))
    # Mean squares: rows 2 * 10 / 7, columns 16 * 1, error 0; (20/7) / (20/7 + 2 * 16 / 8).
    assert icc == pytest.approx((20 / 7) / (20 / 7 + 4))
    assert section.tables[0].rows[1] == ("feasibility", 0, None, None, None, None, None)
    assert len(section.tables) == 1


async def test_two_people_on_one_idea_are_held_against_each_other_as_judges_are_against_one() -> None:
    by_sample = {"originality": lambda request: int(request.key.sample[2:])}
    walked = await play(items(*"abcd"), ideas("KEYWORD.", "Two."), panel(3, lambda place: by_sample))
    rows = review(walked.traces, walked.settings, walked.evidence)
    marks = [(str(row["row"]), int(str(row["row"])[2])) for row in rows]
    labels = [{"row": row, "who": "ann", "originality": mark + 2} for row, mark in marks]
    labels += [{"row": row, "who": "ben", "originality": 6 - mark} for row, mark in marks[:6]]
    (section,) = [one for one in walked.sections(labels=tuple(labels)) if one.title == "People and judges"]
    among, beside = section.tables[1].rows[:2]
    assert among[:3] == ("originality", "one person and another", 6)
    assert among[3:5] == pytest.approx((-1, -1))
    assert beside[:3] == ("originality", "the judges and one person", 14)
    # An idea that both labelled counts once, with their mean.
    assert section.tables[0].rows[0][1] == 8


async def test_models_side_by_side() -> None:
    good = await play(items("a", "b"), ideas(*TWO), panel(3, lambda place: {"originality": 9}))
    bad = await play(items("a", "b"), ideas(*TWO), panel(3, lambda place: {"originality": 2}))
    dull = await play(
        items("a", "b"), ideas(*TWO), panel(3, lambda place: {"originality": 2, "feasibility": 9})
    )
    runs = {name: (one.traces, one.settings) for name, one in (("good", good), ("bad", bad), ("dull", dull))}
    heat, front, *_ = across(runs)
    assert heat.grids[0].rows == ("good", "bad", "dull") and heat.grids[0].columns == ("Physics",)
    assert heat.tables[0].rows == (("Physics", "7.75 (n = 2)", "6.00 (n = 2)", "7.00 (n = 2)"),)
    assert [row[0] for row in front.tables[0].rows] == ["dull", "good"]


async def test_ideas_of_several_models_by_quality_length_and_refusals() -> None:
    words = [" ".join(["word"] * n) for n in (2, 4)]
    short = await play(items(*"abc"), ideas(*words), panel(3, lambda place: {"originality": 3}))
    long = await play(
        items(*"abc"),
        ScriptedModel(
            respond=["I cannot provide ideas on this.", " ".join(["word"] * 20)],
            fallback=[" ".join(["word"] * 10)],
            model_id="candidate",
        ),
        panel(3, lambda place: {"originality": 9}),
    )
    found = across({name: (one.traces, one.settings) for name, one in (("short", short), ("long", long))})
    quality, pooled, refusals = found[2:]
    # Quality: the mean of originality, feasibility 5 and clarity 7; length by hand (Fig. 6a, 6b).
    (_, worth, length, originality, *_), (_, more, longer, *_) = quality.tables[0].rows
    assert worth.startswith("5.00 (") and length.startswith("3.00 (") and originality.startswith("3.00 (")
    assert more.startswith("7.00 (") and longer.startswith("15.00 (") and longer.endswith("n = 3)")
    bars = {plot.y: plot for plot in quality.plots}["length (words)"]
    assert bars.names == ("short", "long") and bars.series["length (words)"] == ((0.0, 3.0), (1.0, 15.0))
    rows = {row[:3]: row[3:] for row in pooled.tables[0].rows}
    # Pooled, longer ideas are the better ones; within a model length says nothing.
    assert rows["all runs", "length", "quality"][0] > 0.8 and rows["all runs", "length", "quality"][-1] == 12
    assert rows["short", "length", "quality"][0] is None
    assert ("all runs", "originality", "clarity") in rows
    lengths = pooled.plots[1]
    assert lengths.names == ("0 to 10", "10 to 20", "20 to 30")
    assert lengths.series["short"] == ((0.0, 6.0), (1.0, 0.0), (2.0, 0.0))
    assert lengths.series["long"] == ((0.0, 0.0), (1.0, 3.0), (2.0, 3.0))
    assert refusals.tables[0].rows == (("short", 6, 0, 0.0, 0, 0, 0), ("long", 6, 3, 0.5, 3, 3, 0))


async def test_every_table_is_whole_whatever_came_of_the_walks() -> None:
    def whole(sections: Any) -> None:
        for section in sections:
            assert isinstance(section, Section)
            for table in section.tables:
                assert all(len(row) == len(table.columns) for row in table.rows), section.title

    nothing = await play(
        items("a"), ideas("No.", "I cannot help with that."), panel(3, lambda p: {"clarity": 0})
    )
    for walked in (nothing, await by_place(1), await by_place(4, version="v1")):
        whole(walked.sections())
    whole(nothing.benchmark.sections([], Settings(), nothing.evidence))
    assert judge().model_id == "judge-0"
