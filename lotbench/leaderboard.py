"""Runs of several models on one benchmark, ranked: means, ties, paired differences, and what they go with.

Only what was measured alike is ranked together: runs on other data, with other prompts, settings or judges
are refused with what differs. A walk that failed has no value and is left out of its sample's mean; how many
there are is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean

import numpy as np

from lotbench.config import differences
from lotbench.errors import UsageError
from lotbench.metrics import compare, people
from lotbench.metrics.compare import ALPHA, Difference
from lotbench.metrics.correlation import Correlation, coefficient
from lotbench.metrics.intervals import bootstrap
from lotbench.section import Metric, Plot, Section, Table
from lotbench.types import JSON, Trace

Cell = str | float | int | None
HUMAN = "human"
MOST_BANDS = 3
"""Curves that have their intervals drawn; those of more would hide each other."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A run as a ranking sees it.

    Attributes:
        name: Of the run's folder.
        asked: The candidate's name as it was asked for, and `answered` the ids that it gave itself.
        values: The mean score of each sample's walks that have one.
        failed: Walks without a score.
        conditions: What must be the same for runs to be ranked together; `roles` are the models of the
            other roles by seat, as they were asked for.
        ids: What the models of each role call themselves, as far as they were called.
        reasons: Why the run may not be ranked; none if it may.
        curves: Plots of steps in the run's report, by caption.
    """

    name: str
    asked: str
    answered: tuple[str, ...]
    benchmark: str
    values: Mapping[str, float]
    failed: int
    conditions: Mapping[str, JSON]
    ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    curves: Mapping[str, Plot] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The candidate, as it is shown."""
        return ", ".join(self.answered) or self.asked

    @property
    def person(self) -> bool:
        """Whether a person played."""
        return self.asked == HUMAN or self.asked.startswith(f"{HUMAN}:")


@dataclass(frozen=True, slots=True)
class Place:
    """A run in a ranking: its mean over the samples that all runs of it share, and the letters of its ties."""

    label: str
    entry: Entry
    mean: Metric
    ties: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs of a ranking, the better one first; `p` is corrected for the number of pairs."""

    better: str
    other: str
    difference: Difference
    p: float

    @property
    def apart(self) -> bool:
        """Whether the two were told apart."""
        return self.p < ALPHA


@dataclass(frozen=True, slots=True)
class Board:
    """A ranking of runs that were measured alike, best first; people stand beside it."""

    benchmark: str
    places: tuple[Place, ...]
    pairs: tuple[Pair, ...]
    people: tuple[Entry, ...]
    shared: int


def by_sample(traces: Iterable[Trace]) -> tuple[dict[str, float], int]:
    """The mean score of each sample, and how many walks have none."""
    found: dict[str, list[float]] = {}
    failed = 0
    for trace in traces:
        if trace.score.value is None:
            failed += 1
        else:
            found.setdefault(trace.sample, []).append(trace.score.value)
    return {sample: fmean(values) for sample, values in found.items()}, failed


def differing(one: Entry, other: Entry) -> list[str]:
    """In what two runs were not measured alike, with both values."""
    names = differences(dict(one.conditions), dict(other.conditions))
    found = [f"{name}: {_at(one.conditions, name)} and {_at(other.conditions, name)}" for name in names]
    for role in sorted(one.ids.keys() & other.ids.keys()):
        ours, theirs = set(one.ids[role]), set(other.ids[role])
        # A second judge that was never needed has no id: a part of the other's ids is no difference.
        if not (ours <= theirs or theirs <= ours):
            found.append(f"{role}: {', '.join(sorted(ours))} and {', '.join(sorted(theirs))}")
    return found


def alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The entries in groups that were measured alike, in order of their first."""
    groups: list[list[Entry]] = []
    for entry in entries:
        for group in groups:
            if not differing(group[0], entry):
                group.append(entry)
                break
        else:
            groups.append([entry])
    return groups


def board(entries: Sequence[Entry], seed: int = 0) -> Board:
    """Rank runs that were measured alike.

    Raises:
        UsageError: Two were not, with what differs; or the models have no sample in common.
    """
    for other in entries[1:]:
        if found := differing(entries[0], other):
            raise UsageError(f"{entries[0].name} and {other.name} cannot be compared: {'; '.join(found)}")
    models = [entry for entry in entries if not entry.person]
    labels = _labels(models)
    shared = sorted(set.intersection(*(set(entry.values) for entry in models))) if models else []
    if models and not shared:
        raise UsageError("no sample has a score in every run")
    means = {label: _mean(entry, shared, seed) for label, entry in zip(labels, models, strict=True)}
    order = sorted(labels, key=lambda label: (-(means[label].value or 0.0), label))
    entry_of = dict(zip(labels, models, strict=True))
    pairs = _pairs(order, entry_of, seed)
    letters = compare.ties(order, {(one.better, one.other) for one in pairs if one.apart})
    places = tuple(Place(label, entry_of[label], means[label], letters[label]) for label in order)
    played = tuple(entry for entry in entries if entry.person)
    return Board(entries[0].benchmark, places, pairs, played, len(shared))


def sections(made: Board, seed: int = 0) -> list[Section]:
    """A ranking laid out: places, pairs, curves one over the other, people."""
    found = [_ranking(made)] if made.places else []
    if made.pairs:
        found.append(_differences(made))
    found += _curves(made)
    if made.people:
        found.append(_people(made, seed))
    return found


def correlations(
    title: str, x: tuple[str, Mapping[str, float]], y: tuple[str, Mapping[str, float]]
) -> Section:
    """How two measures of the same models go together; each a name and values by model."""
    models = sorted(x[1].keys() & y[1].keys())
    ours, theirs = [x[1][name] for name in models], [y[1][name] for name in models]
    found = (coefficient("pearson", ours, theirs), coefficient("spearman", ours, theirs))
    rows = tuple(_correlation(name, one) for name, one in zip(("Pearson", "Spearman"), found, strict=True))
    plot = Plot(
        "scatter", x[0], y[0], {"models": tuple(zip(ours, theirs, strict=True))},
        f"{y[0]} by {x[0]}, a point a model", labels={"models": tuple(models)},
    )  # fmt: skip
    notes = [
        "Intervals: Fisher's z for Pearson, Bonett and Wright's for Spearman; they take the models for a random "
        "draw of all models.",
    ]
    if len(models) < 3:
        notes.insert(0, f"{len(models)} models have both; a correlation needs three.")
    columns = ("coefficient", "models", "value", "low", "high", "p")
    return Section(title, tuple(notes), (Table(columns, rows),), (plot,))


def values(made: Board) -> dict[str, float]:
    """The mean of each model; of several runs of one model, their mean."""
    found: dict[str, list[float]] = {}
    for place in made.places:
        if place.mean.value is not None:
            found.setdefault(place.entry.model, []).append(place.mean.value)
    return {name: fmean(means) for name, means in found.items()}


def matched(table: Mapping[str, float], made: Board) -> dict[str, float]:
    """A table's values by the board's model names, whatever of its names a model goes by in the table."""
    found = {}
    known = {name.casefold(): value for name, value in table.items()}
    for place in made.places:
        for name in (place.entry.model, *place.entry.answered, place.entry.asked, place.entry.name):
            if name.casefold() in known:
                found[place.entry.model] = known[name.casefold()]
                break
    return found


def _mean(entry: Entry, shared: Sequence[str], seed: int) -> Metric:
    found = np.array([[entry.values[name], 1.0] for name in shared])
    low, high = bootstrap(found, lambda sums: sums[..., 0] / sums[..., 1], seed)
    return Metric(float(found[:, 0].mean()), low, high, n=len(shared))


def _pairs(order: Sequence[str], entries: Mapping[str, Entry], seed: int) -> tuple[Pair, ...]:
    found = [
        (one, other, compare.difference(entries[one].values, entries[other].values, seed))
        for one, other in combinations(order, 2)
    ]
    corrected = compare.holm([1.0 if difference.p is None else difference.p for *_, difference in found])
    return tuple(Pair(*given, p) for given, p in zip(found, corrected, strict=True))


def _ranking(made: Board) -> Section:
    rows = tuple(
        (
            place.label,
            place.mean.value,
            place.mean.low,
            place.mean.high,
            place.ties,
            len(place.entry.values),
            place.entry.failed,
            "; ".join(place.entry.reasons) or None,
        )
        for place in made.places
    )
    points = tuple((float(at), place.mean.value or 0.0) for at, place in enumerate(made.places))
    bands = tuple(_ends(place.mean) for place in made.places)
    plot = Plot(
        "scatter",
        "",
        "mean score of a sample",
        {"mean": points},
        f"{made.benchmark}: mean score with its 95 % interval",
        tuple(f"{place.label} ({place.ties})" for place in made.places),
        {"mean": bands},
    )
    notes = (
        f"Means are over the {made.shared} samples that have a score in every run. Models that share a letter "
        "were not told apart; intervals that overlap do not say so, since the samples are the same.",
        "A walk that failed has no score and is left out here; a benchmark's own metric may count it as censored.",
    )
    columns = ("model", "mean", "low", "high", "ties", "samples", "failed walks", "not rankable because")
    return Section("Ranking", notes, (Table(columns, rows),), (plot,))


def _differences(made: Board) -> Section:
    rows = tuple(
        (
            pair.better,
            pair.other,
            pair.difference.n,
            pair.difference.mean,
            pair.difference.low,
            pair.difference.high,
            pair.difference.p,
            pair.p,
            "yes" if pair.apart else "no",
            pair.difference.detectable,
            pair.difference.needed,
        )
        for pair in made.pairs
    )
    columns = (
        "better",
        "than",
        "samples",
        "difference",
        "low",
        "high",
        "p",
        "p (Holm)",
        "told apart",
        "detectable",
        "needed",
    )
    notes = [
        "Paired by sample; p of a two-sided sign-flip test, corrected after Holm for all pairs; told apart: "
        "below 0.05.",
        "Detectable: the difference that so many samples show with a power of 80 %, uncorrected. Needed: "
        "samples with which a true difference of the size that was seen would be shown so.",
        *_plans(made.pairs),
    ]
    return Section("Differences", tuple(notes), (Table(columns, rows),))


def _plans(pairs: Iterable[Pair]) -> list[str]:
    """What it would take to tell apart what was not."""
    return [
        f"To separate {pair.better} and {pair.other} you need about {pair.difference.needed:,} samples "
        f"({pair.difference.n:,} here)."
        for pair in pairs
        if not pair.apart and pair.difference.needed is not None
    ]


def _curves(made: Board) -> list[Section]:
    """The plots of steps that every run has, one over the other."""
    if len(made.places) < 2:
        return []
    common = [
        name for name in made.places[0].entry.curves if all(name in p.entry.curves for p in made.places)
    ]
    return [
        Section(
            caption, ("One curve a run, as its own report draws it.",), plots=(_over(caption, made.places),)
        )
        for caption in common
    ]


def _over(caption: str, places: Sequence[Place]) -> Plot:
    first = places[0].entry.curves[caption]
    series, bands = {}, {}
    for place in places:
        plot = place.entry.curves[caption]
        for name, points in plot.series.items():
            label = place.label if len(plot.series) == 1 else f"{place.label}: {name}"
            series[label] = points
            if name in plot.bands and len(places) <= MOST_BANDS:
                bands[label] = plot.bands[name]
    return replace(first, series=series, bands=bands, labels={})


def _people(made: Board, seed: int) -> Section:
    """What people reach, and how models stand to them."""
    label = dict(zip(_labels(made.people), made.people, strict=True))
    means = {name: fmean(entry.values.values()) for name, entry in label.items() if entry.values}
    rows = tuple((f"people, {name}", *_cells(metric)) for name, metric in people.thirds(means).items())
    played = {name: entry.values for name, entry in label.items() if entry.values}
    efficiency = tuple(
        (place.label, *_cells(people.normalised(place.entry.values, played, seed))) for place in made.places
    )
    notes = (
        "High, medium and low are the best, the middle and the last third of people by mean score.",
        "Efficiency is a model's mean score over that of the median person, on the samples that all have.",
    )
    tables = (
        Table(("third", "mean", "low", "high", "n", "why none"), rows, "What people reach; n counts people"),
        Table(
            ("model", "efficiency", "low", "high", "n", "why none"),
            efficiency,
            "Against people; n counts samples",
        ),
    )
    return Section("People", notes, tables)


def _cells(metric: Metric) -> tuple[Cell, ...]:
    return (metric.value, metric.low, metric.high, metric.n, metric.why)


def _correlation(name: str, one: Correlation) -> tuple[Cell, ...]:
    return (name, one.n, one.value, one.low, one.high, one.p)


def _labels(entries: Sequence[Entry]) -> list[str]:
    """A name for each: the model's, and the run's as well where one model has several runs."""
    models = [entry.model for entry in entries]
    return [
        entry.model if models.count(entry.model) == 1 else f"{entry.model} ({entry.name})"
        for entry in entries
    ]


def _ends(metric: Metric) -> tuple[float, float]:
    if metric.low is None or metric.high is None:
        return (math.nan, math.nan)
    return (metric.low, metric.high)


def _at(table: Mapping[str, JSON], name: str) -> JSON:
    value: JSON = table
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
