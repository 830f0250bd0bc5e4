"""Paired comparison of two models on shared samples: differences, tests, ties.

All tests are paired by sample, since samples differ far more than models. The test is the paired t test; for metrics that
are no means it uses the jackknife's pseudo-values. Below eight samples it is scipy's exact permutation test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted

ALPHA = 0.05
EXACT = 8
"""The fewest samples for the t test alone; below, p is that of the exact permutation test where larger."""
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
        noise: The variance of the difference that more samples would not reduce (few labels).
        judgements: The mean number of labels of the two.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    sd: float | None = None
    noise: float = 0.0
    judgements: int = 0


def difference(first: Mapping[str, float], other: Mapping[str, float]) -> Difference:
    """Return how far `first` is ahead of `other`, paired by sample."""
    shared = sorted(first.keys() & other.keys())
    differences = np.array([first[name] - other[name] for name in shared])
    if not shared:
        return Difference(0, None, None, None, None)

    def exact() -> float:
        return _permuted((differences,), lambda signed, axis: signed.mean(axis=axis))

    return tested(differences, float(differences.mean()), exact)


def of_primary_metrics(first: PrimaryMetric, other: PrimaryMetric, fpr: float = 0.0) -> Difference:
    """Return how far the primary metric of one run is ahead of another's on shared samples.

    The p is the largest over both extremes for games that broke off, and over a judge that wrongly accepted a share `fpr`
    of the guesses of the run ahead.
    """
    if first.weighted is None:
        return difference(first.records, other.records)
    shared = [name for name in first.records if name in other.records]
    if not shared:
        return difference({}, {})
    records = [run.records[name] for run in (first, other) for name in shared]
    noise = sum(_noise(run, shared) for run in (first, other))
    result = of_metric(first.weighted(records), len(shared), noise)
    if result.mean and result.mean > 0:
        result = _at_worst(result, first, other, shared, fpr)
    return replace(result, judgements=(first.judgements + other.judgements) // 2) if noise else result


def _at_worst(
    result: Difference, first: PrimaryMetric, other: PrimaryMetric, shared: Sequence[str], fpr: float
) -> Difference:
    """Return the difference with the larger of two p: as measured, and with everything unknown counted against `first`."""
    weighted, least, most = first.weighted, first.least, other.most
    if not result.mean or result.p is None or weighted is None or least is None or most is None:
        return result
    counted = [[run.records[name] for name in shared] for run in (first, other)]
    moved = [*least(counted[0], fpr), *most(counted[1])]
    if all(now is before for now, before in zip(moved, counted[0] + counted[1], strict=True)):
        return result
    worst = of_metric(weighted(moved), len(shared), result.noise)
    holds = worst.mean is not None and worst.mean > 0 and worst.p is not None
    return replace(result, p=max(result.p, worst.p or 0.0) if holds else 1.0)


def _noise(run: PrimaryMetric, shared: Sequence[str]) -> float:
    """Return the variance of a run's metric that more samples would not reduce."""
    return 0.0 if run.noise is None else float(run.noise([run.records[name] for name in shared]).var())


def of_metric(metric: Weighted, n: int, noise: float = 0.0) -> Difference:
    """Return the difference of a metric between n records and the n records paired with them.

    Args:
        metric: The metric of 2 n records by their weights: the first run's, then the other's in the same order.
        n: The number of pairs.
        noise: Additional variance of the difference.
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
    return tested(n * seen - (n - 1) * _one_left_out(metric, n), seen, exact, noise)


def tested(values: Floats, mean: float, exact: Callable[[], float], noise: float = 0.0) -> Difference:
    """Return the paired t test of differences or pseudo-values [n] with this mean; `exact` gives the p below eight."""
    n = len(values)
    if n < 2:
        return Difference(n, mean, None, None, None)
    sd = float(values.std(ddof=1))
    varies = math.isfinite(sd) and sd > 1e-12
    error = math.hypot(sd if varies else 0.0, math.sqrt(n * noise)) / math.sqrt(n)
    if not error:
        return Difference(n, mean, None, None, exact() if mean else 1.0)
    p = 2 * float(scipy.special.stdtr(n - 1, -abs(mean) / error))
    half = float(scipy.special.stdtrit(n - 1, 1 - ALPHA / 2)) * error
    return Difference(
        n=n,
        mean=mean,
        low=mean - half,
        high=mean + half,
        p=max(p, exact()) if n < EXACT else p,
        sd=sd if varies else None,
        noise=noise,
    )


def _permuted(samples: tuple[Floats, ...], statistic: Callable[..., Floats]) -> float:
    """Return the two-sided p of a paired permutation test: all exchanges for few pairs, 9,999 random ones for many."""
    test = scipy.stats.permutation_test(
        samples, statistic, permutation_type="samples", vectorized=True, rng=np.random.default_rng(0)
    )
    return float(test.pvalue)


def _one_left_out(metric: Weighted, n: int) -> Floats:
    """Return the difference of the metric without each of the n pairs, [n], in blocks that bound the memory."""
    step, parts = max(1, _WEIGHTS // n), []
    for at in range(0, n, step):
        weights = np.ones((min(step, n - at), n))
        np.fill_diagonal(weights[:, at:], 0)
        parts.append(_ahead(metric, weights, np.zeros_like(weights)))
    return np.concatenate(parts)


def _ahead(metric: Weighted, stay_weights: Floats, swap_weights: Floats) -> Floats:
    """Return the metric's difference, [draws], with pairs weighted by `stay_weights` and exchanged by `swap_weights`, [draws, n]."""
    return metric(np.hstack([stay_weights, swap_weights])) - metric(np.hstack([swap_weights, stay_weights]))


def smallest_p(n: int) -> float:
    """Return the smallest possible p of n samples: below eight the exact test has 2^n outcomes."""
    return 0.0 if n >= EXACT else min(1.0, 2 / 2**n)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values corrected for multiple tests by Holm (1979), in the given order."""
    corrected, before = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = before
    return corrected


def levels(ps: Sequence[float]) -> list[float]:
    """Return Holm's level of each p; for those that fail, the level of the first that fails."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    passed, alphas = sum(p < ALPHA for p in holm(ps)), [0.0] * len(ps)
    for rank, at in enumerate(order):
        alphas[at] = ALPHA / (len(ps) - min(rank, max(0, min(passed, len(ps) - 1))))
    return alphas


def ties(order: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return the letters of a ranking: names that share a letter do not differ clearly.

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
