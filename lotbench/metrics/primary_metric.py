"""A run's primary metric as one can take it apart and put together again: a record a sample, and what records come to.

A mean is compared by the differences of its samples. What is no mean (macro F1, a score over a survival curve) is
compared by exchanging the samples of two runs, for which it must be had of any mixture of their records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np

from lotbench.metrics.intervals import Floats, studentised
from lotbench.types import Metric, Trace

Weighted: TypeAlias = Callable[[Floats], Floats]
"""Maps how often each record counts, [draws, records], to values [draws]; NaN where there is none."""


@dataclass(frozen=True, slots=True)
class PrimaryMetric:
    """The metric by which runs of a benchmark are ranked; more is better.

    Attributes:
        name: Of the metric in the summary.
        records: What each sample adds (or each `unit` of samples that are alike), in whatever form the benchmark counts
            it; a sample is left out only where the metric itself leaves it out.
        measure: The metric of some records, with its interval.
        weighted: The metric of records (of several runs, one after the other) by their weights; None for the
            mean of records that are numbers.
        unanswered: Samples that were played and have no record, of `played` (None where a record is a sample); of samples with
            several answers, those that are missing count too, as `missing` has it.
        noise: Draws, [draws], of how far the metric of some records may be off for what no number of samples would
            mend (few labels); None if there is nothing of the kind. `judgements` are the labels.
        least: Records as they would be if all that broke off had come to the least, and the judge had wrongly accepted this
            share of what it read; `most` if what broke off had come to the most. The records themselves where that is no
            other; None where nothing breaks off.
        may_differ: The conditions in which two runs may differ and be compared all the same, by dotted name.
        ends: The least and the most that a score can be.
        lacks: What the benchmark asks of a run before it is ranked, beside the rule of all (`report.trust`), and its
            settings lack.
        by_labels: The primary metric by people's labels of the run's own verdicts, given by sample, repeat and round; it is None
            if the labels do not give it.
    """

    name: str
    records: Mapping[str, Any]
    measure: Callable[[Sequence[Any]], Metric]
    weighted: Callable[[Sequence[Any]], Weighted] | None = None
    unanswered: int = 0
    noise: Callable[[Sequence[Any]], Floats] | None = None
    judgements: int = 0
    may_differ: frozenset[str] = frozenset()
    played: int | None = None
    least: Callable[[Sequence[Any], float], Sequence[Any]] | None = None
    most: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    unit: str = "sample"
    ends: tuple[float, float] = (0.0, 1.0)
    lacks: Sequence[str] = ()
    by_labels: Callable[[Mapping[tuple[str, int, int], bool]], PrimaryMetric | None] | None = None

    @property
    def counted(self) -> str:
        """What n counts, where that is not samples."""
        return "" if self.unit == "sample" else f"n counts {self.unit}s: samples that share one are alike."

    def over(self, samples: Sequence[str]) -> Metric:
        """Return the metric over some of the samples."""
        return self.measure([self.records[name] for name in samples])

    def whole(self) -> Metric:
        """Return the metric over all samples, as the summary has it."""
        return self.over(list(self.records))


def by_sample(traces: Sequence[Trace]) -> Iterator[tuple[str, list[Trace]]]:
    """Return the episodes of each sample, samples in order of id; those of a run's folder are read a sample at a time."""
    places: dict[str, list[int]] = {}
    for place, trace in enumerate(traces):
        places.setdefault(trace.sample, []).append(place)
    return ((name, [traces[place] for place in places[name]]) for name in sorted(places))


def missing(shares: Iterable[float]) -> int:
    """Return samples that a primary metric knows nothing of, rounded up: the answers that are missing, as shares of a sample's."""
    return math.ceil(sum(shares) - 1e-9)


def mean_score(values: Mapping[str, float], unanswered: int = 0) -> PrimaryMetric:
    """Return the mean over samples of the mean score of their episodes."""
    return PrimaryMetric("mean score", values, _mean, unanswered=unanswered)


def of_traces(traces: Sequence[Trace], settings: object) -> PrimaryMetric:
    """Return the mean score, for a benchmark that declares no other primary metric."""
    sample_scores = {name: _scores(episodes) for name, episodes in by_sample(traces)}
    values = {name: fmean(scores) for name, scores in sample_scores.items() if scores}
    return mean_score(values, len(sample_scores) - len(values))


def _scores(episodes: Sequence[Trace]) -> list[float]:
    return [episode.score.value for episode in episodes if episode.score.value is not None]


def of_sums(counts: Floats, statistic: Callable[[Floats], Floats]) -> Weighted:
    """Return a statistic of what adds up over records, [records, ...]."""
    return lambda weights: statistic(np.tensordot(weights, counts, axes=1))


def _mean(values: Sequence[float]) -> Metric:
    if not values:
        return Metric(None, why="no sample has a score")
    table = np.array([[value, 1.0] for value in values])
    low, high = studentised(table, lambda sums: sums[..., 0] / sums[..., 1])
    return Metric(float(table[:, 0].mean()), low, high, n=len(values))
