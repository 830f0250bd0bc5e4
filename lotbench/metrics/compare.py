"""Paired comparison of two models on shared samples: differences, tests, ties.

All tests are paired by sample, since samples differ far more than models. The test is the paired t test; for metrics that
are no means it uses the jackknife's pseudo-values. Below eight samples p is at least that of scipy's exact permutation test.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted

ALPHA = 0.05
EXACT = 8
"""The fewest samples for the t test alone; below, p is the larger one of the t test and the exact permutation test."""
_WEIGHTS = 200_000
"""The number of weights passed to a metric at once, which bounds the memory."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two models on the samples that both have a value for.

    Attributes:
        mean: The mean of the differences, or the difference of the metrics; None without shared samples. `low` and
            `high` are Student's 95 % interval; None below two samples, or if all differences are equal.
        p: The two-sided p of the paired t test or the exact permutation test; None below two samples.
        sd: The standard deviation of the n differences or pseudo-values; None if they do not vary.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    sd: float | None = None


def difference(first: Mapping[str, float], other: Mapping[str, float]) -> Difference:
    """Return how far `first` is ahead of `other` in the mean; both have a value by sample, and shared samples are compared."""
    shared = sorted(first.keys() & other.keys())
    differences = np.array([first[name] - other[name] for name in shared])
    if not shared:
        return Difference(0, None, None, None, None)

    def exact() -> float:
        return _permuted((differences,), lambda signed, axis: signed.mean(axis=axis))

    return tested(differences, float(differences.mean()), exact)


def of_primary_metrics(first: PrimaryMetric, other: PrimaryMetric, fpr: float = 0.0) -> Difference:
    """Return how far the primary metric of one run is ahead of another's on shared samples.

    If `first` is ahead, p is the larger one of two: as measured, and in the worst case for `first`. In the worst case its games
    that broke off have the lowest score, those of the other run the highest, and a judge wrongly accepted a share `fpr` of
    its guesses.
    """
    if first.weighted is None:
        return difference(first.records, other.records)
    shared = [name for name in first.records if name in other.records]
    if not shared:
        return difference({}, {})
    records = [run.records[name] for run in (first, other) for name in shared]
    result = of_metric(first.weighted(records), len(shared), _effective(first, other, shared))
    return _at_worst(result, first, other, shared, fpr) if result.mean and result.mean > 0 else result


def _at_worst(
    result: Difference, first: PrimaryMetric, other: PrimaryMetric, shared: Sequence[str], fpr: float
) -> Difference:
    """Return the difference with the larger of two p: as measured, and with everything unknown counted against `first`."""
    weighted, least, most = first.weighted, first.least, other.most
    if result.p is None or weighted is None or least is None or most is None:
        return result
    counted = [[run.records[name] for name in shared] for run in (first, other)]
    moved = [*least(counted[0], fpr), *most(counted[1])]
    if all(now is before for now, before in zip(moved, counted[0] + counted[1], strict=True)):
        return result
    worst = of_metric(weighted(moved), len(shared), _effective(first, other, shared))
    holds = worst.mean is not None and worst.mean > 0 and worst.p is not None
    return replace(result, p=max(result.p, worst.p or 0.0) if holds else 1.0)


def _effective(first: PrimaryMetric, other: PrimaryMetric, shared: Sequence[str]) -> float:
    """Return the effective number of units (Kish 1965): their number if all have equal weights, else less."""
    weights = [run.weight(run.records[name]) for run in (first, other) for name in shared]
    both = np.reshape(weights, (2, -1)).sum(axis=0)
    return float(both.sum() ** 2 / (both**2).sum())


def of_metric(metric: Weighted, n: int, effective: float | None = None) -> Difference:
    """Return the difference of a metric between n records and the n records paired with them.

    Args:
        metric: The metric by the weights of 2 n records: those of the first run, then those of the other in the same order.
        n: The number of pairs.
        effective: The effective number of pairs; None for n.
    """
    seen = float(_ahead(metric, np.ones((1, n)), np.zeros((1, n)))[0])
    if not math.isfinite(seen):
        return Difference(n, None, None, None, None)

    def exchanged(first: Floats, second: Floats, axis: int) -> Floats:
        # 0 is the first run's record, 1 the second's. An exchange without a value counts as extreme.
        differences = _ahead(metric, np.atleast_2d(second), np.atleast_2d(first))
        return np.nan_to_num(differences, nan=math.inf).reshape(first.shape[:-1])

    def exact() -> float:
        return _permuted((np.zeros(n), np.ones(n)), exchanged)

    # For a mean, the pseudo-values equal the differences of the pairs.
    return tested(n * seen - (n - 1) * _one_left_out(metric, n), seen, exact, effective)


def tested(
    values: Floats, mean: float, exact: Callable[[], float], effective: float | None = None
) -> Difference:
    """Return the result of the paired t test.

    Args:
        values: The differences or pseudo-values, [n].
        mean: The difference to report and to test.
        exact: Returns the p of the exact test; called for fewer than eight values, or if they do not vary.
        effective: The effective number of values, which gives the degrees of freedom; None for all.
    """
    n, freedom = len(values), (effective or len(values)) - 1
    if n < 2:
        return Difference(n, mean, None, None, None)
    sd = float(values.std(ddof=1))
    error = sd / math.sqrt(n)
    if not (math.isfinite(sd) and sd > 1e-12):
        return Difference(n, mean, None, None, exact() if mean else 1.0)
    p = 2 * float(scipy.special.stdtr(freedom, -abs(mean) / error))
    half = float(scipy.special.stdtrit(freedom, 1 - ALPHA / 2)) * error
    return Difference(n, mean, mean - half, mean + half, max(p, exact()) if n < EXACT else p, sd)


def _permuted(samples: tuple[Floats, ...], statistic: Callable[..., Floats]) -> float:
    """Return the two-sided p of a paired permutation test: all exchanges for few pairs, 9,999 random ones for many."""
    test = scipy.stats.permutation_test(
        samples, statistic, permutation_type="samples", vectorized=True, rng=np.random.default_rng(0)
    )
    return float(test.pvalue)


def _one_left_out(metric: Weighted, n: int) -> Floats:
    """Return the difference of the metric with each of the n pairs left out in turn, [n]; blocks of pairs bound the memory."""
    step, parts = max(1, _WEIGHTS // n), []
    for at in range(0, n, step):
        weights = np.ones((min(step, n - at), n))
        np.fill_diagonal(weights[:, at:], 0)
        parts.append(_ahead(metric, weights, np.zeros_like(weights)))
    return np.concatenate(parts)


def _ahead(metric: Weighted, stay_weights: Floats, swap_weights: Floats) -> Floats:
    """Return the difference of the metric between the first and the second record of pairs, [draws].

    Args:
        metric: The metric by the weights [draws, 2 n] of the records: n first ones, then n second ones.
        stay_weights: The weight of each pair as it is, [draws, n].
        swap_weights: The weight of each pair with its two records exchanged, [draws, n].
    """
    return metric(np.hstack([stay_weights, swap_weights])) - metric(np.hstack([swap_weights, stay_weights]))


def smallest_p(n: int) -> float:
    """Return the smallest p that n samples can give: 2 / 2^n below eight, where the test is exact, else 0."""
    return 0.0 if n >= EXACT else min(1.0, 2 / 2**n)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values corrected for multiple tests by Holm (1979), in the given order."""
    corrected, before = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = before
    return corrected


def levels(ps: Sequence[float]) -> list[float]:
    """Return the level at which Holm's procedure tests each p; from the first p that fails on, all have the level of that one."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    passed, alphas = sum(p < ALPHA for p in holm(ps)), [0.0] * len(ps)
    for rank, at in enumerate(order):
        alphas[at] = ALPHA / (len(ps) - min(rank, max(0, min(passed, len(ps) - 1))))
    return alphas


def ties(order: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return letters for the names of a ranking: two names that share a letter do not differ clearly.

    Args:
        order: Names, best first.
        apart: The pairs that differ clearly, in either order.

    Returns:
        The letters of each name. A letter stands for a maximal block of neighbours without a clear difference.
    """

    def alike(first: int, last: int) -> bool:
        pairs = ((order[i], order[j]) for i in range(first, last + 1) for j in range(i + 1, last + 1))
        return not any(pair in apart or pair[::-1] in apart for pair in pairs)

    letters, reach = {name: "" for name in order}, -1
    group = 0
    for first in range(len(order)):
        last = max(at for at in range(first, len(order)) if alike(first, at))
        if last > reach:
            for name in order[first : last + 1]:
                letters[name] += _letter(group)
            reach, group = last, group + 1
    return letters


def _letter(at: int) -> str:
    return chr(ord("a") + at) if at < 26 else _letter(at // 26 - 1) + _letter(at % 26)
