"""The primary metric of a run, as one record for each sample and a function that computes the metric from records.

A mean is compared by the differences of samples. Other metrics (macro F1, a score over a survival curve) are compared by
exchanging samples of two runs, so they must be computable from any mixture of records.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from lotbench.metrics.intervals import Ends, Floats, Statistic, estimated, ratio, studentised
from lotbench.types import Metric, Trace

Weighted: TypeAlias = Callable[[Floats], Floats]
"""Maps weights of records, [draws, records], to values of a metric, [draws]; NaN where undefined."""


@dataclass(frozen=True, slots=True)
class PrimaryMetric:
    """The metric that ranks runs of a benchmark; higher is better.

    Attributes:
        name: The name of the metric in the summary.
        records: The record of each sample (or of each `unit` of correlated samples), in the benchmark's own form. Samples
            that the metric leaves out have none.
        measure: Computes the metric from records, with its interval.
        weighted: Returns the metric of these records as a function of their weights; the records may be those of several
            runs, one after the other. None if records are numbers and the metric is their mean.
        unanswered: The number of played samples without a record; a sample that lacks some of its answers counts in part
            (`missing`).
        may_differ: Roles (`roles.judge`) of whose models others may answer in another run that is compared.
        played: The number of played samples; None if each of them has a record or counts as unanswered.
        least: Returns the records as if every game that broke off had got the lowest score, and as if the judge had wrongly
            accepted a given share of guesses. Unchanged records are the same objects. None if no game can break off.
        most: Returns the records as if every game that broke off had got the highest score. None if no game can break off.
        unit: The name of what has a record: `sample`, or a group of correlated samples.
        weight: Returns the number of scores in a record, by which it counts in the metric.
        ends: The smallest and largest possible score.
        equal_repeats: Whether runs are compared only with as many repeats: a quantile of samples' means grows with them.
        lacks: Requirements of the benchmark for a ranked run that the settings do not meet (beside `report.trust`).
    """

    name: str
    records: Mapping[str, Any]
    measure: Callable[[Sequence[Any]], Metric]
    weighted: Callable[[Sequence[Any]], Weighted] | None = None
    unanswered: int = 0
    may_differ: frozenset[str] = frozenset()
    played: int | None = None
    least: Callable[[Sequence[Any], float], Sequence[Any]] | None = None
    most: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    unit: str = "sample"
    weight: Callable[[Any], float] = lambda record: 1.0
    ends: Ends = (0.0, 1.0)
    equal_repeats: bool = False
    lacks: Sequence[str] = ()

    @property
    def covered(self) -> int:
        """How many samples the metric would cover if all were answered."""
        return self.unanswered + len(self.records) if self.played is None else self.played

    @property
    def counted(self) -> str:
        """A note on what n counts, if it does not count samples; else ""."""
        return "" if self.unit == "sample" else f"n counts {self.unit}s: samples that share one are alike."

    def over(self, samples: Sequence[str]) -> Metric:
        """Return the metric over these samples, or units, given by name; with bounds if some of them lack answers."""
        records = [self.records[name] for name in samples]
        return self.bounded(self.measure(records), records)

    def bounded(self, metric: Metric, records: Sequence[Any]) -> Metric:
        """Return the metric of these records with bounds, if it has none yet and some of them lack answers."""
        if metric.bounds or self.least is None or self.most is None:
            return metric
        least = self.least(records, 0.0)
        broken = sum(own is not now for own, now in zip(records, least, strict=True))
        if not broken:
            return metric
        return between(metric, [self.measure(least), self.measure(self.most(records))], broken, len(records))

    def whole(self) -> Metric:
        """Return the metric over all records."""
        return self.over(list(self.records))


def between(metric: Metric, others: Sequence[Metric], broken: int, of: int) -> Metric:
    """Return a metric with the values of two others as its bounds; without bounds if any of the three has no value.

    In the bounds, `least` and `most` are the values of the two `others`. `low` is the lower end of the interval of the
    first, `high` the upper end of the interval of the second (None if open). `broken` is the number of tasks that broke
    off or lack an answer, and `of` the number of all tasks.
    """
    if metric.value is None or any(other.value is None for other in others):
        return metric
    least, most = sorted(others, key=lambda other: other.value or 0.0)
    values = {"least": least.value, "most": most.value, "low": least.low, "high": most.high}
    return replace(metric, bounds={**values, "broken": broken, "of": of})


def by_sample(traces: Sequence[Trace]) -> Iterator[tuple[str, list[Trace]]]:
    """Yield each sample's id with its episodes, ordered by id; traces of a run folder are read one sample at a time."""
    places: dict[str, list[int]] = {}
    for place, trace in enumerate(traces):
        places.setdefault(trace.sample, []).append(place)
    return ((name, [traces[place] for place in places[name]]) for name in sorted(places))


def missing(shares: Iterable[float]) -> int:
    """Return the sum of the shares of answers that the samples lack, rounded up: a sample that lacks half counts as .5."""
    return math.ceil(sum(shares) - 1e-9)


def mean_score(values: Mapping[str, float], unanswered: int = 0) -> PrimaryMetric:
    """Return the mean of values by sample, as a primary metric."""
    return PrimaryMetric("mean score", values, _mean, unanswered=unanswered)


def of_traces(traces: Sequence[Trace], settings: object) -> PrimaryMetric:
    """Return the mean over samples of the mean score of their episodes: the default primary metric."""
    scores = {
        name: [episode.score.value for episode in episodes if episode.score.value is not None]
        for name, episodes in by_sample(traces)
    }
    values = {name: fmean(numbers) for name, numbers in scores.items() if numbers}
    return mean_score(values, len(scores) - len(values))


def of_sums(counts: Floats, statistic: Statistic) -> Weighted:
    """Return a function that maps weights of records to `statistic` of the weighted sum of their `counts`, [records, ...]."""
    return lambda weights: statistic(np.tensordot(weights, counts, axes=1))


def _mean(values: Sequence[float]) -> Metric:
    if not values:
        return Metric(None, why="no sample has a score")
    table = np.array([[value, 1.0] for value in values])
    return estimated(table, ratio, (-math.inf, math.inf), "", interval=studentised)
