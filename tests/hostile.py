"""A report with everything that a report can hold, and the texts by which a model would break a page."""

import math
from dataclasses import replace

from lotbench.report.report import Report
from lotbench.report.sections import Excerpt, Grid, Plot, Section, Table
from lotbench.types import Metric
from tests.report.test_report import report

SCRIPT = "<script>document.title = 'broken'</script><img src=x onerror=\"document.title = 'broken'\">"
HOSTILE = (
    SCRIPT,
    "</style></title></textarea>--><svg onload=\"document.title = 'broken'\">",
    "{{ 7 * 7 }}{% raw %} $\\frac{1}{$ _under_ **bold** [link](javascript:alert(1))",
    "\u202eright to left\u202c \u2066 שלום \x00\x07\x1b[31m\ud800\ufeff",
    "'\" onmouseover=\"document.title = 'broken'\" x='",
    '=HYPERLINK("http://example.invalid")',
)
LONG = "word" * 12_500
"""50 kB without a place to break a line."""
NONE = (math.nan, math.nan)


def drawings() -> tuple[Plot, ...]:
    """Every kind of plot, with and without names, bands and labels."""
    rising = tuple((float(x), x / 10) for x in range(10))
    falling = tuple((float(x), 1 - x / 10) for x in range(10))
    band = tuple((max(0.0, y - 0.1), y + 0.1) for _, y in rising)
    names = ("science", "a category with quite a long name of its own", "美食", "music")
    bars = tuple((float(at), 4.0 + at) for at in range(4))
    ends = ((3.5, 4.6), NONE, (5.0, 7.5), (6.8, 7.1))
    pair = {"originality": bars, "feasibility": tuple((x, 9 - y) for x, y in bars)}
    dots = tuple((x * 1.7 % 5, x * 2.3 % 7) for x in range(12))
    return (
        Plot("step", "round", "share unsolved", {"S": falling, "T": rising}, "Survival", bands={"T": band}),
        Plot("bar", "category", "score", pair, "Bars", names=names, bands={"originality": ends}),
        Plot("bar", "rating", "ideas", {"novel": ((1.0, 3.0), (2.0, 9.0), (3.0, 4.0))}, "Histogram"),
        Plot("scatter", "IH", "DH", {"ideas": dots}, "Scatter", labels={"ideas": tuple("abcdefghijkl")}),
        Plot("scatter", "model", "score", {"score": bars}, "Dots", names=names, bands={"score": ends}),
        Plot("step", "x", "y", {"none": ((math.nan, 1.0), (1.0, math.inf))}, "Nothing to draw"),
    )


def heat() -> Grid:
    """A heat map with a metric, a metric without interval or value, and a gap."""
    cells = tuple(
        tuple(Metric(5 + (3 * row + column) % 7 / 2, 4.1, 8.2, n=20) for column in range(5))
        for row in range(3)
    )
    last = (Metric(4.0, n=1), Metric(None, why="the extra is missing"), None, Metric(9.5, 9, 10, n=3), None)
    return Grid(
        "model", "category", ("one", "two", "three", "four", "five"),
        ("science", "music", "history", "food"), (*cells, last), "Originality by category",
    )  # fmt: skip


def gallery() -> Section:
    """Every kind of drawing, and a reading."""
    reading = Excerpt("An early leap", (("guess", "the warm laptop"), ("verdict", "accepted")), "lot-0001", 2)
    return Section(
        "All that can be drawn", ("A note.",), plots=drawings(), grids=(heat(),), readings=(reading,)
    )


def everything() -> Report:
    """A report with every kind of drawing, and hostile text in every place where text can stand."""
    hostile = Section(
        HOSTILE[1],
        notes=HOSTILE,
        tables=(Table(HOSTILE, (HOSTILE,), HOSTILE[0]),),
        plots=tuple(
            Plot(kind, one, one, {one: ((0.0, 1.0), (1.0, 2.0)), "_hidden": ((0.0, 2.0),)}, one, names, {}, {one: (one, LONG)})
            for kind in ("step", "bar", "scatter")
            for names, one in (((), HOSTILE[0]), ((HOSTILE[3], LONG), HOSTILE[2]))
        ),
        grids=(Grid(HOSTILE[0], HOSTILE[1], (HOSTILE[3],), (HOSTILE[2],), ((Metric(0.5, n=1),),), HOSTILE[4]),),
        readings=(
            Excerpt(HOSTILE[0], tuple((one, one) for one in HOSTILE), HOSTILE[0], 1),
            Excerpt("A long word", (("reply", LONG), ("right to left", "مرحبا " * 40))),
        ),
    )  # fmt: skip
    plain = report()
    facts = replace(
        plain.facts,
        models={"candidate": ["gpt-x"], "judge": list(HOSTILE)},
        reasons=(*HOSTILE, LONG),
        settings={**plain.facts.settings, "hostile": list(HOSTILE)},
    )
    return replace(plain, facts=facts, sections=(*plain.sections, gallery(), hostile))
