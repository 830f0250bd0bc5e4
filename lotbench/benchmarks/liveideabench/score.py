"""The metrics of a run: dimensions as means over keywords, flexibility, and the average of all (v1 and v2, Methods).

A dimension is averaged over judges, then over ideas, then over keywords. Intervals are over whole keywords. A keyword
without a value is left out and lowers n.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.judged import FLUENCY, Keyword, filled, from_steps, mean, read_keyword
from lotbench.benchmarks.liveideabench.settings import KeywordEpisode, Settings, Version, lacks
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.intervals import Ends, Floats, Statistic, bootstrap, divided, studentised
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, by_sample, missing
from lotbench.types import JSON, Metric, Score, Trace

NAMES = ("average", "originality", "feasibility", "clarity", FLUENCY, "flexibility")
PERCENTILE = 0.30
"""Flexibility is the composite that 30 % of the keywords stay below (v2, Methods: Flexibility)."""
FEWEST = 8
"""The fewest keywords whose values bound a percentile: a bootstrap of five covers 85 %."""


def grade(episode: KeywordEpisode) -> Score:
    """Return the score of one episode: the composite, which is the mean of the judged dimensions and fluency.

    The value is None, with the reason, if one of them is missing or the episode did not end as scored.
    """
    settings, sample = episode.settings, episode.sample
    version = settings.rules
    ideas, comparisons = from_steps(episode.state["steps"], version)
    keyword = Keyword(sample.id, episode.repeat, sample.category, ideas, comparisons)
    value = keyword.composite(version) if episode.state["outcome"] == "scored" else None
    parts: dict[str, JSON] = {name: keyword.mean(name) for name in version.dimensions}
    parts |= {FLUENCY: keyword.fluency(version), "category": sample.category}
    parts |= {"ideas": sum(idea.ok for idea in ideas), "verdicts": sum(len(idea.rows) for idea in ideas)}
    return Score(value, None if value is not None else _why(episode.state["outcome"], keyword), parts)


def composite_ends(version: Version) -> Ends:
    """Return bounds of the composite: the lowest and the highest score of any dimension (1 to 10) or letter of fluency."""
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
    """The values of a run by keyword, from which all metrics are computed.

    The methods take weights [draws, keywords]: how often each keyword is in each bootstrap draw. They return [draws].

    Attributes:
        names: The names of the judged dimensions, then fluency.
        values: [keywords, names] means over repeats, NaN where missing.
        composites: [units] composites in rising order; a unit is a keyword or a verdict.
        owner: [units] index of each unit's keyword.
    """

    names: tuple[str, ...]
    values: Floats
    composites: Floats
    owner: NDArray[np.intp]

    def mean(self, name: str) -> Statistic:
        """Return a function that maps weights of the keywords to weighted means of the dimension with this name."""
        column = self.values[:, self.names.index(name)]
        present = ~np.isnan(column)

        def statistic(weights: Floats) -> Floats:
            return divided(weights[..., present] @ column[present], weights[..., present].sum(axis=-1))

        return statistic

    def flexibility(self, weights: Floats) -> Floats:
        """Return the 30th percentile of the composites in each draw, interpolated linearly; NaN without composites."""
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
        """Return the mean of the composites in each draw."""
        counts = weights[..., self.owner]
        return divided(counts @ self.composites, counts.sum(axis=-1))

    def average(self, weights: Floats) -> Floats:
        """Return the mean of the dimensions, fluency and flexibility in each draw."""
        means = [self.mean(name)(weights) for name in self.names]
        return np.asarray(np.mean([*means, self.flexibility(weights)], axis=0))

    def metric(
        self, statistic: Statistic, present: NDArray[np.bool_], why: str, ends: Ends | None = None
    ) -> Metric:
        """Return a statistic with its interval over the keywords that have a value.

        Args:
            statistic: Maps weights of the keywords, [draws, keywords], to values, [draws].
            present: [keywords] whether a keyword has a value.
            why: The reason to give if there is no value.
            ends: The lowest and the highest possible value, for Student's interval of a mean. None bootstraps the
                keywords, as a percentile needs; the interval of fewer than FEWEST keywords is open.
        """
        weights, n = np.eye(len(self.values)), int(present.sum())
        value = float(statistic(weights.sum(axis=0))) if n else math.nan
        if math.isnan(value):
            return Metric(None, n=n, why=why)
        if ends is None:
            low, high = bootstrap(weights, statistic, 0) if n >= FEWEST else (None, None)
        else:
            low, high = studentised(weights[present], statistic, ends)
        return Metric(value, low, high, n=n)


def sheet(keywords: Sequence[Keyword], version: Version, unit: str) -> Sheet:
    """Return the sheet of these keywords; `unit` is the unit of flexibility: `keyword` or `row` (a verdict)."""
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
    """Return the dimensions of a run and their average by name, with 95 % intervals over keywords.

    The field `n` of a metric is the number of keywords with a value.
    """
    version = settings.rules
    return dimensions([read_keyword(trace, version) for trace in traces], settings)


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return the average of the dimensions as the primary metric, with one record for each keyword (`of_keywords`)."""
    version = settings.rules
    keywords = {
        name: [read_keyword(episode, version) for episode in episodes] for name, episodes in by_sample(traces)
    }
    return of_keywords(keywords, settings)


def of_keywords(samples: Mapping[str, Sequence[Keyword]], settings: Settings) -> PrimaryMetric:
    """Return the average of the dimensions as the primary metric; a record is the episodes of one keyword.

    An idea that was asked for and has no readable text counts as missing. So do all ideas of a keyword without a verdict.
    """
    version, unit = settings.rules, settings.flexibility_unit
    lacking = missing(
        max(
            0, 1 - sum(idea.ok for each in episodes for idea in each.ideas) / (settings.ideas * len(episodes))
        )
        if any(episode.has_verdict(version) for episode in episodes)
        else 1
        for episodes in samples.values()
    )

    def weighted(keywords: Sequence[Sequence[Keyword]]) -> Weighted:
        # A keyword that two runs have is two records.
        apart = [replace(own, sample=str(at)) for at, each in enumerate(keywords) for own in each]
        return sheet(apart, version, unit).average

    def moved(keywords: Sequence[Sequence[Keyword]], highest: bool) -> list[Sequence[Keyword]]:
        records = [[filled(each, version, settings.ideas, highest) for each in own] for own in keywords]
        # A record that lacks nothing stays the same object.
        return [own if now == list(own) else now for own, now in zip(keywords, records, strict=True)]

    def measure(keywords: Sequence[Sequence[Keyword]]) -> Metric:
        return dimensions([episode for episodes in keywords for episode in episodes], settings)["average"]

    return PrimaryMetric(
        "average",
        dict(samples),
        measure,
        weighted,
        lacking,
        played=len(samples),
        least=lambda keywords, _: moved(keywords, highest=False),
        most=lambda keywords: moved(keywords, highest=True),
        may_differ=frozenset({"roles.judge"} if settings.panel else ()),
        ends=composite_ends(version),
        equal_repeats=True,
        lacks=lacks(settings),
    )


def dimensions(keywords: Sequence[Keyword], settings: Settings) -> dict[str, Metric]:
    """Return the metrics of these keywords by name; the baseline is the value if every verdict were the lowest."""
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
    return {
        name: replace(metric, baselines={"lowest grades": lowest[name]} if name in lowest else {})
        for name, metric in by_name.items()
    }
