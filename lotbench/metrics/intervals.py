"""95 % intervals over samples: Wilson's for bounded statistics, Student's for judges' marks, a bootstrap for all others.

Episodes on one sample are correlated, so the unit is the sample. An interval is open where the data do not bound it: for
one sample, values that never vary under a bootstrap, or draws without a value.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from lotbench.types import Metric

Floats: TypeAlias = NDArray[np.float64]
Interval: TypeAlias = tuple[float | None, float | None]
"""Low and high end; None if the data do not bound that side."""
Statistic: TypeAlias = Callable[[Floats], Floats]
"""Maps sums over episodes, or draws of them, to values."""
Ends: TypeAlias = tuple[float, float]
"""The smallest and largest possible value of a metric."""
Method: TypeAlias = Callable[[Floats, Statistic, Ends], Interval]
"""Computes an interval from sums by cluster, a statistic of sums, and the smallest and largest possible value."""

QUANTILE = 0.975
"""The quantile of the upper end of a two-sided 95 % interval."""
ADDED = 0.05
"""The part of a trial that `bounded` adds: with it, intervals of 5 to 66 clusters cover 92 to 98 % (docs/appendix/truth.md)."""
Z = 1.959963984540054
"""The .975 quantile of the normal distribution."""


def divided(part: Floats, whole: Floats) -> Floats:
    """Return part / whole elementwise; NaN where the whole is not positive."""
    top, bottom = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def bounded(counts: Floats, statistic: Statistic, ends: Ends = (0.0, 1.0)) -> Interval:
    """Return Wilson's interval of a bounded statistic at its effective number of trials.

    Centre and variance are those of the jackknife's pseudo-values. For a mean these are the values; for a curved statistic
    (macro F1) they remove most of the bias (Quenouille 1956). The variance over that of all-or-nothing trials, b, is the
    design effect (Kish 1965). A part of such a trial (ADDED) is added, so that few clusters that happen to agree do not
    count as many.

    Args:
        counts: [clusters, ...]; sums over the episodes of each cluster.
        statistic: Maps sums [clusters, ...] to values [clusters]; smooth, NaN where undefined.
        ends: The smallest and largest possible value.

    Returns:
        The interval; (None, None) for fewer than two clusters, or if the statistic rests on a single cluster.
    """
    lowest, highest = ends
    n, span = len(counts), highest - lowest
    if not span:
        return lowest, highest
    value, pseudo = _jackknife(counts, statistic)
    if not np.isfinite(pseudo).all() or n < 2:
        return None, None
    mean = min(max((float(pseudo.mean()) - lowest) / span, 0.0), 1.0)
    b, variance = mean * (1 - mean), float(pseudo.var(ddof=1)) / span**2
    added = ADDED * b + 1e-9  # more than nothing, where all clusters are at one end of the scale
    effect = (variance * (n - 1) + added) / (b * (n - 1) + added)
    low, high = wilson(mean, n / effect, float(scipy.special.stdtrit(n, QUANTILE)))
    return min(lowest + low * span, value), max(lowest + high * span, value)


def studentised(counts: Floats, statistic: Statistic, ends: Ends = (-math.inf, math.inf)) -> Interval:
    """Return Student's interval of a smooth statistic whose values use only a part of its scale, such as marks.

    The standard error is the jackknife's, and the interval stays within the ends of the scale. It is (None, None) for fewer
    than two clusters, if all clusters are equal, or if the statistic rests on a single cluster. The arguments are those of
    `bounded`.
    """
    n = len(counts)
    value, pseudo = _jackknife(counts, statistic)
    if n < 2 or not np.isfinite(pseudo).all():
        return None, None
    half = float(scipy.special.stdtrit(n - 1, QUANTILE) * pseudo.std(ddof=1)) / math.sqrt(n)
    if half <= 1e-12 * max(1.0, abs(value)):
        return None, None
    return max(ends[0], value - half), min(ends[1], value + half)


def ratio(sums: Floats) -> Floats:
    """Return means [...] from a sum and a count in the last axis of [..., 2]; NaN if the count is 0."""
    return divided(sums[..., 0], sums[..., 1])


def estimated(
    counts: Floats,
    statistic: Statistic,
    ends: Ends,
    why: str,
    *,
    interval: Method = bounded,
    observations: int = 0,
) -> Metric:
    """Return a statistic with its interval over clusters; `n` counts clusters.

    Args:
        counts: [clusters, ...]; sums over the episodes of each cluster.
        statistic: Maps sums [..., ...] to values [...]; NaN where undefined.
        ends: The smallest and largest possible value.
        why: The reason to give if the statistic is undefined.
        interval: The function for the interval.
        observations: The number of games or answers.
    """
    value = float(statistic(counts.sum(axis=0)))
    if math.isnan(value):
        return Metric(None, n=len(counts), observations=observations, why=why)
    low, high = interval(counts, statistic, ends)
    return Metric(value, low, high, n=len(counts), observations=observations)


def clustered_mean(
    clusters: Iterable[Sequence[float]], ends: Ends = (0.0, 1.0), interval: Method = bounded
) -> Metric:
    """Return the mean of clustered values; `n` counts clusters, `observations` counts values.

    Args:
        clusters: The values of each cluster; at least one cluster.
        ends: The smallest and largest possible value.
        interval: The function for the interval.
    """
    sums = np.array([[sum(values), len(values)] for values in clusters], dtype=float)
    return estimated(sums, ratio, ends, "", interval=interval, observations=int(sums[:, 1].sum()))


def combined(value: float, parts: Sequence[Interval], ends: Ends) -> Interval:
    """Return the interval of an estimate with several independent sources of error (MOVER, Zou and Donner 2008).

    The squared distances from the estimate to the ends of each source's interval are summed.

    Args:
        value: The estimate.
        parts: The interval by each source of error alone.
        ends: The smallest and largest possible value.
    """
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    low = None if None in lows else value - math.hypot(*(max(0.0, value - (end or 0.0)) for end in lows))
    high = None if None in highs else value + math.hypot(*(max(0.0, (end or 0.0) - value) for end in highs))
    return None if low is None else max(ends[0], low), None if high is None else min(ends[1], high)


def wilson(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Return Wilson's interval of a share of n trials (Wilson 1927), by default at 95 %; n may be fractional."""
    middle = (share + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    half = quantile * math.sqrt(share * (1 - share) / n + quantile**2 / (4 * n**2)) / (1 + quantile**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(counts: Floats, statistic: Statistic, seed: int, draws: int = 2000) -> Interval:
    """Return the percentile bootstrap interval of a statistic over clusters, expanded for few clusters (`expanded`).

    Args:
        counts: [clusters, ...]; sums over the episodes of each cluster.
        statistic: Maps sums [draws, ...] to values [draws]; NaN where undefined.
        seed: The run's seed; the same seed and number of clusters give the same draws for all metrics of a run.
        draws: The number of resamples.

    Returns:
        Values among the draws, rounded outwards; a draw without a value counts as below the low and above the high end.
        (None, None) for fewer than two clusters, or if all draws give one value.
    """
    clusters = len(counts)
    if clusters < 2:
        return None, None
    values = statistic(np.tensordot(_weights(seed, clusters, draws), counts, axes=1))
    missing = np.isnan(values)
    tail = (1 - expanded(clusters)) / 2
    low = np.quantile(np.where(missing, -np.inf, values), tail, method="lower")
    high = np.quantile(np.where(missing, np.inf, values), 1 - tail, method="higher")
    return (None, None) if low == high else (finite(low), finite(high))


def expanded(clusters: int) -> float:
    """Return the level at which bootstrap percentiles cover 95 % for few clusters (expanded percentiles, Hesterberg 2015).

    Plain percentiles of n clusters are as narrow as a normal interval with variance divided by n. The level corrects both:
    0.9856 for 9 clusters, 0.9519 for 200. It is at most 0.999, since 2,000 draws say no more of the tails.
    """
    if clusters < 2:
        return 0.95
    t = scipy.special.stdtrit(clusters - 1, QUANTILE)
    return min(float(1 - 2 * scipy.special.ndtr(-t * math.sqrt(clusters / (clusters - 1)))), 0.999)


def _jackknife(counts: Floats, statistic: Statistic) -> tuple[float, Floats]:
    """Return a statistic and its jackknife pseudo-values [clusters]; NaN where it is undefined without that cluster."""
    n, total = len(counts), counts.sum(axis=0)
    value = float(statistic(total)) if n else math.nan
    return value, np.asarray(n * value - (n - 1) * statistic(total - counts)) if n > 1 else np.full(n, np.nan)


@lru_cache(maxsize=1)
def _weights(seed: int, clusters: int, draws: int) -> Floats:
    """Return how often each bootstrap draw contains each cluster, [draws, clusters]; cached, since a run's metrics share the draws."""
    # Hashed, since numpy takes no negative seeds.
    entropy = int.from_bytes(hashlib.sha256(f"{seed}:bootstrap".encode()).digest()[:16], "big")
    rng = np.random.default_rng(entropy)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(float)


def finite(value: np.floating | float) -> float | None:
    """Return a number for a table cell; None for NaN and infinity."""
    return float(value) if np.isfinite(value) else None
