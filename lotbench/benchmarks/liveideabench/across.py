"""Comparison of runs: categories (v2, Fig. 3), Pareto front (Fig. 5), ideas (Fig. 6, Supp. Fig. S1-S3, S5, Note 5).

Correlations are computed over the ideas of all runs together, as in the papers, and over those of each run, since a
pooled correlation can reflect differences between the models.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from lotbench.benchmarks.liveideabench import relations
from lotbench.benchmarks.liveideabench.judged import Idea, Keyword, read_keyword
from lotbench.benchmarks.liveideabench.relations import LENGTH, QUALITY, REASONING
from lotbench.benchmarks.liveideabench.score import dimensions
from lotbench.benchmarks.liveideabench.sections import category_row
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.harness.benchmark import Runs
from lotbench.metrics.intervals import clustered_mean, studentised
from lotbench.metrics.pareto import front
from lotbench.report.report import describe_score
from lotbench.report.sections import Cell, Grid, Plot, Section, Table
from lotbench.types import Metric

Read = Mapping[str, tuple[Sequence[Keyword], Settings]]
BIN = 10
"""The width of a bar in the histogram of lengths, in words."""


def across(runs: Runs) -> tuple[Section, ...]:
    """Return the sections that compare runs: categories, Pareto front, quality and length, correlations, refusals."""
    read_as = {
        name: ([read_keyword(trace, settings.rules) for trace in traces], settings)
        for name, (traces, settings) in runs.items()
    }
    return _heat(read_as), _front(read_as), _quality(read_as), _pooled(read_as), _refusals(read_as)


def _heat(runs: Read) -> Section:
    """Return the section on the composite score of each run in each category, with interval and n."""
    names = sorted({keyword.category for keywords, _ in runs.values() for keyword in keywords})
    cells = tuple(
        tuple(
            category_row([keyword for keyword in keywords if keyword.category == name], settings.rules)[-1]
            for name in names
        )
        for keywords, settings in runs.values()
    )
    note = (
        "The composite (mean of the judged dimensions and fluency), its 95 % interval over keywords, and n."
    )
    grid = Grid("category", "run", tuple(names), tuple(runs), cells, "Composite by category")
    return Section("Runs by category", (note,), grids=(grid,))


def _front(runs: Read) -> Section:
    """Return the section on the runs' originality and feasibility: one point for each run, and the Pareto front."""
    metrics = {name: dimensions(keywords, settings) for name, (keywords, settings) in runs.items()}
    points = {
        name: (x, y)
        for name, by_name in metrics.items()
        if (x := by_name["feasibility"].value) is not None and (y := by_name["originality"].value) is not None
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


def _quality(runs: Read) -> Section:
    """Return the section on mean quality, length and dimensions of each run's ideas (Fig. 6 a-e).

    Intervals are over keywords.
    """
    versions = [settings.rules for _, settings in runs.values()]
    dimensions = list(dict.fromkeys(name for version in versions for name in version.dimensions))
    metrics = {name: _measures(keywords, settings, dimensions) for name, (keywords, settings) in runs.items()}
    measures = ("quality", "length (words)", *dimensions)
    rows = tuple(
        (name, *(describe_score(own[measure]) for measure in measures)) for name, own in metrics.items()
    )
    notes = (
        "Quality: the mean of the judged dimensions of an idea (Fig. 6a); its length is in words, a CJK character half a "
        "word (Fig. 6b); then each dimension (Fig. 6c-e). Means over ideas, 95 % intervals over keywords.",
    )
    return Section("Quality and length of ideas", notes, (Table(("run", *measures), rows),))


def _measures(
    keywords: Sequence[Keyword], settings: Settings, dimensions: Sequence[str]
) -> dict[str, Metric]:
    """Return the means of quality, length and these dimensions over a run's ideas, by name.

    A dimension that the run does not judge has no value.
    """
    rules = settings.rules
    metrics = {
        "quality": _mean(keywords, lambda idea: idea.quality(rules) if idea.rows else None, 10.0),
        "length (words)": _mean(keywords, lambda idea: relations.length(idea) if idea.ok else None, np.inf),
    }
    for name in dimensions:
        judged = name in rules.dimensions
        metrics[name] = _mean(keywords if judged else (), partial(Idea.mean, dimension=name), 10.0)
    return metrics


def _mean(keywords: Sequence[Keyword], of: Callable[[Idea], float | None], most: float) -> Metric:
    """Return the mean over ideas, with its interval over keywords.

    Args:
        keywords: The keywords of a run.
        of: Returns the value of an idea, or None to leave the idea out.
        most: The highest possible value.
    """
    values: dict[str, list[float]] = {}
    for keyword in keywords:
        for value in (value for idea in keyword.ideas if (value := of(idea)) is not None):
            values.setdefault(keyword.sample, []).append(value)
    if not values:
        return Metric(None, why="no idea")
    return clustered_mean(values.values(), (0.0, most), studentised)


def _pooled(runs: Read) -> Section:
    """Return the section on correlations of length, reasoning, quality and dimensions: over all runs together, and by run."""
    ours = {name: relations.verdicts(keywords, settings.rules) for name, (keywords, settings) in runs.items()}
    shared = [
        name
        for name in next(iter(runs.values()))[1].rules.dimensions
        if all(name in run.measures for run in ours.values())
    ]
    measures = (LENGTH, REASONING, QUALITY, *shared)
    pooled = relations.Verdicts(
        [sample for run in ours.values() for sample in run.samples],
        {name: np.concatenate([run.measures[name] for run in ours.values()]) for name in measures},
    )
    pairs = [(LENGTH, QUALITY), (REASONING, QUALITY), *combinations(shared, 2)]
    rows = [
        (name, *row)
        for name, source in {"all runs": pooled, **ours}.items()
        for row in relations.correlated(source, pairs)
    ]
    lengths = {
        name: [relations.length(idea) for keyword in keywords for idea in keyword.ideas if idea.rows]
        for name, (keywords, _) in runs.items()
    }
    return Section(
        "Length and quality over runs",
        (f"All runs: every verdict on every run, as the papers pool them. {relations.ABOUT}",),
        (Table(("ideas of", *relations.COLUMNS), tuple(rows)),),
        (
            _histogram("length (words)", lengths, BIN),
            _histogram(
                "mean of the judged dimensions",
                {name: run.measures[QUALITY].tolist() for name, run in ours.items()},
                1,
                "verdicts",
            ),
        ),
    )


def _histogram(x: str, values: Mapping[str, Sequence[float]], width: int, y: str = "ideas") -> Plot:
    """Return the histogram of the values of each run, in bins of equal width that begin at 0 (Supp. Fig. S1, S3).

    Args:
        x: The name of the values.
        values: The values by run.
        width: The width of a bin.
        y: The name of what is counted.
    """
    counted = {name: Counter(int(value // width) for value in numbers) for name, numbers in values.items()}
    bins = sorted({at for count in counted.values() for at in count})
    span = range(bins[0], bins[-1] + 1) if bins else range(0)
    names = tuple(f"{at * width} to {(at + 1) * width}" for at in span)
    series = {
        name: tuple((float(place), float(count[at])) for place, at in enumerate(span))
        for name, count in counted.items()
    }
    return Plot("bar", x, y, series, f"Distribution of {x}", names)


def _refusals(runs: Read) -> Section:
    """Return the section on refusals: how often each candidate refused, and how often it answered when asked again."""
    rows: list[tuple[Cell, ...]] = []
    for name, (keywords, _) in runs.items():
        ideas = [idea for keyword in keywords for idea in keyword.ideas]
        first = sum(idea.declined is not None or idea.refuses for idea in ideas)
        again = sum(idea.declined is not None for idea in ideas)
        still = sum(idea.declined is not None and idea.refuses for idea in ideas)
        share = first / len(ideas) if ideas else None
        rows.append((name, len(ideas), first, share, again, again - still, still))
    columns = ("run", "requests", "refused", "share", "asked again", "of these answered", "refused again")
    notes = (
        "A refused keyword is offered once more in an academic frame (v2, Methods: Handling refused responses).",
    )
    return Section("Refusals of runs", notes, (Table(columns, tuple(rows)),))
