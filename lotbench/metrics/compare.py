"""Whether one model is better than another on the samples that both have: differences, tests, ties.

Everything is paired by sample, since samples differ far more than models do. The test is the paired t test, of a metric that
is no mean on its jackknife's pseudo-values; below eight samples it is the exact permutation test of scipy.
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
"""Samples from which the paired t test is taken; below, every permutation is gone through."""
_WEIGHTS = 200_000
"""Weights that are given to a metric at once: it may make many numbers of each."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one model is ahead of another, on the samples that both have a value for.

    Attributes:
        mean: Of the differences, or the difference of two metrics; None without a shared sample. `low` and
            `high` are Student's 95 % interval; None below two samples and where all differences are one.
        p: Two-sided, of the paired t test or the exact permutation test; None below two samples.
        sd: The standard deviation of the n differences, or of a metric's pseudo-values of them; None if they do not
            vary.
        noise: The variance of the difference that no number of samples would mend (few labels).
        judgements: Labels that each of the two has, on the average.
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
    """Return how far `first` is ahead of `other`; both by sample."""
    shared = sorted(first.keys() & other.keys())
    differences = np.array([first[name] - other[name] for name in shared])
    if not shared:
        return Difference(0, None, None, None, None)

    def exact() -> float:
        return _permuted((differences,), lambda signed, axis: signed.mean(axis=axis))

    return tested(differences, float(differences.mean()), exact)


def of_primary_metrics(first: PrimaryMetric, other: PrimaryMetric, fpr: float = 0.0) -> Difference:
    """Return how far the primary metric of one run is ahead of another's, on the samples that both have.

    Its p holds at both ends of what broke off, and if the judge wrongly accepted `fpr` of what the run ahead guessed.
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
    """Return the difference with the larger p of two: as counted, and with all that is not known against `first`, which is ahead."""
    if (
        not result.mean
        or result.p is None
        or first.weighted is None
        or first.least is None
        or other.most is None
    ):
        return result
    counted = [[run.records[name] for name in shared] for run in (first, other)]
    moved = [*first.least(counted[0], fpr), *other.most(counted[1])]
    if all(now is before for now, before in zip(moved, counted[0] + counted[1], strict=True)):
        return result
    worst = of_metric(first.weighted(moved), len(shared), result.noise)
    holds = worst.mean is not None and worst.mean > 0 and worst.p is not None
    return replace(result, p=max(result.p, worst.p or 0.0) if holds else 1.0)


def _noise(run: PrimaryMetric, shared: Sequence[str]) -> float:
    """Return the variance of a run's metric that no number of samples would mend."""
    return 0.0 if run.noise is None else float(run.noise([run.records[name] for name in shared]).var())


def of_metric(metric: Weighted, n: int, noise: float = 0.0) -> Difference:
    """Return how far a metric of n records is ahead of that of the n records paired with them.

    Args:
        metric: Of 2 n records by their weights: one run's, then the other's in the same order.
        n: Pairs.
        noise: The variance of what else makes the difference uncertain.
    """
    seen = float(_ahead(metric, np.ones((1, n)), np.zeros((1, n)))[0])
    if not math.isfinite(seen):
        return Difference(n, None, None, None, None)

    def exchanged(first: Floats, second: Floats, axis: int) -> Floats:
        # 0 is the first run's record of a sample, 1 the second's. An exchange that leaves no value counts as far from 0.
        differences = _ahead(metric, np.atleast_2d(second), np.atleast_2d(first))
        return np.nan_to_num(differences, nan=math.inf).reshape(first.shape[:-1])

    def exact() -> float:
        return _permuted((np.zeros(n), np.ones(n)), exchanged)

    # Leaving a pair out: for a mean, the pseudo-values are the pairs' very differences.
    return tested(n * seen - (n - 1) * _one_left_out(metric, n), seen, exact, noise)


def tested(values: Floats, mean: float, exact: Callable[[], float], noise: float = 0.0) -> Difference:
    """Return the paired t test of n differences or pseudo-values [n] whose metric is `mean`; `exact` gives p below eight."""
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
    """Return the two-sided p of a permutation test: every sign or exchange for few pairs, 9,999 drawn for many."""
    test = scipy.stats.permutation_test(
        samples, statistic, permutation_type="samples", vectorized=True, rng=np.random.default_rng(0)
    )
    return float(test.pvalue)


def _one_left_out(metric: Weighted, n: int) -> Floats:
    """Return the difference of the metric without each of the n pairs, [n]; a block at a time, since all would be n x n."""
    step, parts = max(1, _WEIGHTS // n), []
    for at in range(0, n, step):
        weights = np.ones((min(step, n - at), n))
        np.fill_diagonal(weights[:, at:], 0)
        parts.append(_ahead(metric, weights, np.zeros_like(weights)))
    return np.concatenate(parts)


def _ahead(metric: Weighted, stay_weights: Floats, swap_weights: Floats) -> Floats:
    """Return the difference of the metric where `stay_weights` of the pairs, [draws, n], stay, and `swap_weights` change sides."""
    return metric(np.hstack([stay_weights, swap_weights])) - metric(np.hstack([swap_weights, stay_weights]))


def smallest_p(n: int) -> float:
    """Return the smallest p that n samples can have: below eight the exact test has 2^n outcomes, half of them to each side."""
    return 0.0 if n >= EXACT else min(1.0, 2 / 2**n)


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p values corrected for being several, after Holm (1979); in the order in which they came."""
    corrected, before = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[at]))
        corrected[at] = before
    return corrected


def levels(ps: Sequence[float]) -> list[float]:
    """Return the level at which each p is tested by Holm; for those that fail, the level of the next that is to pass."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    passed, alphas = sum(p < ALPHA for p in holm(ps)), [0.0] * len(ps)
    for rank, at in enumerate(order):
        alphas[at] = ALPHA / (len(ps) - min(rank, max(0, min(passed, len(ps) - 1))))
    return alphas


def ties(order: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """Return letters of a ranking: two that share a letter were not told apart.

    Args:
        order: Names, best first.
        apart: The pairs that were told apart, in either order.

    Returns:
        The letters of each name. A letter stands for neighbours in the order none of whom are told apart.
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
