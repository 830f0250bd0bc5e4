"""Decisions beside the truth: the confusion matrix of one judge, and the errors that two make together.

Rows of one cluster (a story, a task) err together, so whole clusters are drawn again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lotbench.metrics.agreement import Rate, rate
from lotbench.metrics.correlation import pearson
from lotbench.metrics.intervals import Floats, bootstrap
from lotbench.types import Metric


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of decisions: what is right and was called so (tp), what is wrong and was called right (fp), and so on."""

    tp: int
    fp: int
    tn: int
    fn: int

    @property
    def n(self) -> int:
        """All decisions."""
        return self.tp + self.fp + self.tn + self.fn

    @property
    def accuracy(self) -> float | None:
        """Of all, those that are right."""
        return _over(self.tp + self.tn, self.n)

    @property
    def precision(self) -> float | None:
        """Of what was called right, what is."""
        return _over(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Of what is right, what was called so."""
        return _over(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        return _over(2 * self.tp, 2 * self.tp + self.fp + self.fn)


def confusion(truth: Sequence[bool], said: Sequence[bool]) -> Confusion:
    """The counts.

    Raises:
        ValueError: The two are not of one length.
    """
    pairs = list(zip(truth, said, strict=True))
    return Confusion(
        tp=pairs.count((True, True)),
        fp=pairs.count((False, True)),
        tn=pairs.count((False, False)),
        fn=pairs.count((True, False)),
    )


def mean_accuracy(truth: Sequence[bool], said: Sequence[bool], clusters: Sequence[str]) -> float:
    """The mean over clusters of the accuracy in each."""
    right: dict[str, list[bool]] = {}
    for label, verdict, name in zip(truth, said, clusters, strict=True):
        right.setdefault(name, []).append(label is verdict)
    return float(np.mean([np.mean(one) for one in right.values()]))


def f1_interval(
    truth: Sequence[bool], said: Sequence[bool], clusters: Sequence[str], seed: int = 0
) -> tuple[float | None, float | None]:
    """The 95 % interval of F1, drawing clusters again."""
    counts = _summed(
        [(t and s, s and not t, t and not s) for t, s in zip(truth, said, strict=True)], clusters
    )

    def f1(sums: Floats) -> Floats:
        doubled = 2 * sums[..., 0]
        return _divided(doubled, doubled + sums[..., 1] + sums[..., 2])

    return bootstrap(counts, f1, seed)


@dataclass(frozen=True, slots=True)
class JointErrors:
    """The errors of two judges on the same rows of one truth (all negatives, or all positives).

    Attributes:
        one: The error rate of the first, `other` of the second, `both` of rows on which both err.
        correlation: Of the two errors, row by row (phi): 0 if they err apart, 1 if they err on the same rows.
        left: Of the first judge's errors, the share that the second makes too.
    """

    one: Rate
    other: Rate
    both: Rate
    correlation: Metric
    left: Rate

    @property
    def independent(self) -> float | None:
        """The rate of both that independent errors would have."""
        return (
            None if self.one.value is None or self.other.value is None else self.one.value * self.other.value
        )


def joint_errors(one: Sequence[bool], other: Sequence[bool], clusters: Sequence[str]) -> JointErrors:
    """Where each of two judges errs, row by row.

    Raises:
        ValueError: The three are not of one length.
    """
    rows = list(zip(one, other, clusters, strict=True))
    return JointErrors(
        one=rate([(mine, name) for mine, _, name in rows]),
        other=rate([(yours, name) for _, yours, name in rows]),
        both=rate([(mine and yours, name) for mine, yours, name in rows]),
        correlation=pearson(list(map(float, one)), list(map(float, other)), clusters),
        left=rate([(yours, name) for mine, yours, name in rows if mine]),
    )


def paired_difference(
    one: Sequence[bool], other: Sequence[bool], clusters: Sequence[str], seed: int = 0
) -> Metric:
    """How much the first rate is above the second, on the same rows, with an interval that draws clusters again."""
    if not clusters:
        return Metric(None, why="no rows")
    sums = _summed([(float(a) - float(b), 1.0) for a, b in zip(one, other, strict=True)], clusters)
    value = float(sums[:, 0].sum() / sums[:, 1].sum())
    low, high = bootstrap(sums, lambda drawn: _divided(drawn[..., 0], drawn[..., 1]), seed)
    return Metric(value, low, high, n=len(sums), observations=len(clusters))


def _summed(rows: Sequence[Sequence[float]], clusters: Sequence[str]) -> Floats:
    """The sums of rows by cluster, [clusters, columns]."""
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(names), len(rows[0]) if rows else 1))
    np.add.at(sums, [names[name] for name in clusters], np.asarray(rows, dtype=float))
    return sums


def _divided(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)
    return found


def _over(part: int, whole: int) -> float | None:
    return part / whole if whole else None
