"""Several models side by side: the heat map of models and categories, the Pareto front between models, their ideas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lotbench.benchmarks.liveideabench import across_ideas
from lotbench.benchmarks.liveideabench.across_ideas import Read
from lotbench.benchmarks.liveideabench.judged import read_keyword
from lotbench.benchmarks.liveideabench.score import dimensions
from lotbench.benchmarks.liveideabench.sections import category_row
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.metrics.pareto import front
from lotbench.report.sections import Grid, Plot, Section, Table
from lotbench.types import Trace

Runs = Mapping[str, tuple[Sequence[Trace], Settings]]


def across(runs: Runs) -> tuple[Section, ...]:
    """The sections on several runs, from the traces and settings of each by its name."""
    read_as = {
        name: ([read_keyword(trace, settings.rules) for trace in traces], settings)
        for name, (traces, settings) in runs.items()
    }
    return _heat(read_as), _front(read_as), *across_ideas.sections(read_as)


def _heat(runs: Read) -> Section:
    """The composite of each model on each category, with interval and n."""
    names = sorted({one.category for keywords, _ in runs.values() for one in keywords})
    cells = tuple(
        tuple(
            category_row([one for one in keywords if one.category == name], settings.rules)[-1]
            for name in names
        )
        for keywords, settings in runs.values()
    )
    rows = tuple(
        (category, *(across_ideas.shown(line[place]) for line in cells))
        for place, category in enumerate(names)
    )
    note = (
        "The composite (mean of the judged dimensions and fluency), its 95 % interval over keywords, and n."
    )
    grid = Grid("category", "run", tuple(names), tuple(runs), cells, "Composite by category")
    return Section("Runs by category", (note,), (Table(("category", *runs), rows),), grids=(grid,))


def _front(runs: Read) -> Section:
    """Originality against feasibility, one point a run."""
    found = {name: dimensions(keywords, settings) for name, (keywords, settings) in runs.items()}
    points = {
        name: (x, y)
        for name, made in found.items()
        if (x := made["feasibility"].value) is not None and (y := made["originality"].value) is not None
    }
    values, names = list(points.values()), list(points)
    best = front(values)
    rows = tuple((names[i], values[i][1], values[i][0]) for i in best)
    plot = Plot(
        "scatter",
        "feasibility (1 to 10)",
        "originality (1 to 10)",
        {"runs": tuple(values), "front": tuple(values[i] for i in best)},
        labels={"runs": tuple(names), "front": tuple(names[i] for i in best)},
    )
    note = "The front: runs that no other beats on one of the two and equals or beats on the other."
    return Section(
        "Originality and feasibility of runs",
        (note,),
        (Table(("run", "originality", "feasibility"), rows, "The Pareto front"),),
        (plot,),
    )
