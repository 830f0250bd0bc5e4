"""The metrics of a run: dimensions as means over keywords, flexibility, and the average of all (v1 and v2, Methods).

A dimension is averaged over judges, then over ideas, then over keywords. Intervals are over whole keywords. What could
not be judged is left out and lowers n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.judged import FLUENCY, Keyword, from_steps, mean, read_keyword
from lotbench.benchmarks.liveideabench.settings import KeywordEpisode, Settings, Version, lacks
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.intervals import Floats, bootstrap, divided, studentised
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, by_sample, missing
from lotbench.types import JSON, Metric, Score, Trace

NAMES = ("average", "originality", "feasibility", "clarity", FLUENCY, "flexibility")
PERCENTILE = 0.30
"""Flexibility is the composite that 30 % of the keywords stay below (v2, Methods: Flexibility)."""


def average(dimensions: Mapping[str, float]) -> float:
    """Return the mean of the dimensions, flexibility included (v1, Table S.3: four; v2: five)."""
    return fmean(dimensions.values())


def grade(episode: KeywordEpisode) -> Score:
    """Return the composite of one keyword: the mean of its judged dimensions and its fluency."""
    settings, sample = episode.settings, episode.sample
    version = settings.rules
    ideas, comparisons = from_steps(episode.state["steps"], version)
    keyword = Keyword(sample.id, episode.repeat, sample.category, ideas, comparisons)
    value = keyword.composite(version) if episode.state["outcome"] == "scored" else None
    parts: dict[str, JSON] = {name: keyword.mean(name) for name in version.dimensions}
    parts |= {FLUENCY: keyword.fluency(version), "category": sample.category}
    parts |= {"ideas": sum(idea.ok for idea in ideas), "verdicts": sum(len(idea.rows) for idea in ideas)}
    return Score(value, None if value is not None else _why(episode.state["outcome"], keyword), parts)


def composite_ends(version: Version) -> tuple[float, float]:
    """Return the lowest and the highest possible composite, from judges' scores (1 to 10) and the grades of fluency."""
    grades = version.grades.values()
    return min(1.0, *grades), max(grades)


def _why(outcome: str | None, keyword: Keyword) -> str:
    if outcome != "scored":
        return f"{outcome or 'not over'}"
    failures = [idea.status for idea in keyword.ideas if not idea.ok]
    if len(failures) == len(keyword.ideas):
        return f"no idea: {', '.join(failures)}"
    return "no two ideas could be compared" + (f" ({', '.join(failures)})" if failures else "")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The values of a run, keyword by keyword.

    Attributes:
        names: The judged dimensions and fluency.
        values: [keywords, names] means over repeats, NaN where missing.
        composites: [units] composites in rising order. Flexibility is their percentile.
        owner: [units] index of each unit's keyword.
    """

    names: tuple[str, ...]
    values: Floats
    composites: Floats
    owner: NDArray[np.intp]

    def mean(self, name: str) -> Callable[[Floats], Floats]:
        """Return the mean of a dimension as a function of keyword weights [draws, keywords]."""
        column = self.values[:, self.names.index(name)]
        present = ~np.isnan(column)

        def statistic(weights: Floats) -> Floats:
            return divided(weights[..., present] @ column[present], weights[..., present].sum(axis=-1))

        return statistic

    def flexibility(self, weights: Floats) -> Floats:
        """Return the 30th percentile of the composites, [draws], interpolated linearly.

        Args:
            weights: [draws, keywords] how often each keyword is drawn.
        """
        if not len(self.composites):
            return np.full(weights.shape[:-1], np.nan)
        counts = weights[..., self.owner].cumsum(axis=-1)
        place = (counts[..., -1] - 1) * PERCENTILE
        below, above = (
            (counts <= rank[..., None]).sum(axis=-1) for rank in (np.floor(place), np.ceil(place))
        )
        last = len(self.composites) - 1
        low, high = (self.composites[np.minimum(index, last)] for index in (below, above))
        return np.where(counts[..., -1] > 0, low + (place - np.floor(place)) * (high - low), np.nan)

    def composite(self, weights: Floats) -> Floats:
        """Return the mean of the composites, [draws]."""
        counts = weights[..., self.owner]
        return divided(counts @ self.composites, counts.sum(axis=-1))

    def average(self, weights: Floats) -> Floats:
        """Return the mean of all dimensions, flexibility included, [draws]."""
        means = [self.mean(name)(weights) for name in self.names]
        return np.asarray(np.mean([*means, self.flexibility(weights)], axis=0))

    def metric(
        self,
        statistic: Callable[[Floats], Floats],
        present: NDArray[np.bool_],
        why: str,
        ends: tuple[float, float] | None = None,
    ) -> Metric:
        """Return a statistic with its interval over the keywords that have a value.

        Args:
            statistic: A function of keyword weights.
            present: [keywords] whether a keyword has a value.
            why: The reason if there is no value.
            ends: The lowest and the highest value of a mean; None bootstraps keywords, for statistics with a percentile.
        """
        weights, n = np.eye(len(self.values)), int(present.sum())
        value = float(statistic(weights.sum(axis=0))) if n else math.nan
        if math.isnan(value):
            return Metric(None, n=n, why=why)
        if ends is None:
            low, high = bootstrap(weights, statistic, 0)
        else:
            low, high = studentised(weights[present], statistic, ends)
        return Metric(value, low, high, n=n)


def sheet(keywords: Sequence[Keyword], version: Version, unit: str) -> Sheet:
    """Return the sheet of some keywords; `unit` is the unit of flexibility."""
    samples: dict[str, list[Keyword]] = {}
    for keyword in keywords:
        samples.setdefault(keyword.sample, []).append(keyword)
    names = (*version.dimensions, FLUENCY)
    values = np.full((len(samples), len(names)), np.nan)
    units: list[tuple[float, int]] = []
    for row, episodes in enumerate(samples.values()):
        of = {name: mean(episode.mean(name) for episode in episodes) for name in version.dimensions}
        of[FLUENCY] = mean(episode.fluency(version) for episode in episodes)
        values[row] = [np.nan if (value := of[name]) is None else value for name in names]
        composites = [value for episode in episodes for value in episode.composites(version, unit)]
        if composites and unit == "keyword":
            composites = [fmean(composites)]
        units += [(value, row) for value in composites]
    units.sort()
    return Sheet(
        names,
        values,
        np.array([value for value, _ in units], dtype=float),
        np.array([row for _, row in units], dtype=np.intp),
    )


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the dimensions of a run and their average, with 95 % intervals over keywords; n counts keywords."""
    version = settings.rules
    return dimensions([read_keyword(trace, version) for trace in traces], settings)


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return the average of the dimensions, keyword by keyword."""
    version = settings.rules
    keywords = {
        name: [read_keyword(episode, version) for episode in episodes] for name, episodes in by_sample(traces)
    }
    return of_keywords(keywords, settings)


def of_keywords(samples: Mapping[str, Sequence[Keyword]], settings: Settings) -> PrimaryMetric:
    """Return the average over keywords with a verdict; an idea that did not come counts as missing."""
    version, unit = settings.rules, settings.flexibility_unit
    records = {name: own for name, own in samples.items() if any(each.has_verdict(version) for each in own)}
    lacking = missing(
        1 - sum(idea.ok for episode in episodes for idea in episode.ideas) / (settings.ideas * len(episodes))
        if name in records
        else 1
        for name, episodes in samples.items()
    )

    def weighted(keywords: Sequence[Sequence[Keyword]]) -> Weighted:
        # A keyword that two runs have is two records.
        apart = [replace(own, sample=str(at)) for at, each in enumerate(keywords) for own in each]
        return sheet(apart, version, unit).average

    def measure(keywords: Sequence[Sequence[Keyword]]) -> Metric:
        return dimensions([episode for episodes in keywords for episode in episodes], settings)["average"]

    return PrimaryMetric(
        "average",
        records,
        measure,
        weighted,
        lacking,
        played=len(samples),
        may_differ=frozenset({"roles.judge"} if settings.panel else ()),
        ends=composite_ends(version),
        lacks=lacks(settings),
    )


def dimensions(keywords: Sequence[Keyword], settings: Settings) -> dict[str, Metric]:
    """Return the metrics of some keywords; the baseline is what the lowest grades would give."""
    version = settings.rules
    table = sheet(keywords, version, settings.flexibility_unit)
    present, composed = ~np.isnan(table.values), np.isin(np.arange(len(table.values)), table.owner)
    lowest = {name: 1.0 for name in version.dimensions} | {FLUENCY: version.grades["D"]}
    floor = fmean(lowest.values())
    by_name: dict[str, Metric] = {}
    for name in NAMES:
        if name in table.names:
            column = present[:, table.names.index(name)]
            ends = (lowest[name], max(version.grades.values()))
            by_name[name] = table.metric(table.mean(name), column, f"nothing was judged for {name}", ends)
        elif name in ("average", "flexibility"):
            why = "no keyword has every dimension judged"
            statistic = table.average if name == "average" else table.flexibility
            by_name[name] = table.metric(statistic, composed, why)
            lowest[name] = floor if name == "flexibility" else fmean([*lowest.values(), floor])
        else:
            by_name[name] = Metric(None, why=f"{settings.version} does not judge {name}")
    return {name: _with_floor(metric, lowest.get(name)) for name, metric in by_name.items()}


def _with_floor(metric: Metric, lowest: float | None) -> Metric:
    baselines = {} if lowest is None else {"lowest grades": lowest}
    return Metric(metric.value, metric.low, metric.high, metric.n, baselines=baselines, why=metric.why)
