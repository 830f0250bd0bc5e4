"""95 % intervals over samples: Wilson's of a share-like statistic, Student's of marks, a bootstrap of any other.

Episodes on one sample are alike, so the unit is the whole sample. What its data cannot bound an interval leaves
open: one sample, values that never vary under a bootstrap, a draw in which a statistic does not exist.
"""

from __future__ import annotations

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
"""Low and high end; None where the data do not bound that side."""

QUANTILE = 0.975
"""At which an interval of 95 % ends on either side, by whatever distribution."""
Z = 1.959963984540054
"""The .975 quantile of the normal distribution, written out; the others are of scipy.special, since scipy.stats takes half a second to import."""


def divided(part: Floats, whole: Floats) -> Floats:
    """Return a quotient, place by place; NaN where the whole is not above 0."""
    top, bottom = np.broadcast_arrays(np.asarray(part, dtype=float), np.asarray(whole, dtype=float))
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def bounded(
    counts: Floats,
    statistic: Callable[[Floats], Floats],
    ends: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Return Wilson's interval of a statistic between two ends, at the number of clusters that it is worth.

    Centre and variance are those of the jackknife's pseudo-values, which are a mean's very values and free a
    curved statistic (macro F1) of most of its bias (Quenouille 1956). Set against that of trials that are all
    or nothing, b, the variance is a design effect (Kish 1965); one trial of variance b + 1/12 is counted in,
    so that few clusters that happen to agree are not taken for many.

    Args:
        counts: [clusters, ...]; whatever adds up over the episodes of a cluster.
        statistic: Maps sums [clusters, ...] to values [clusters]; smooth, NaN where it does not exist.
        ends: What the statistic can be at least and at most.

    Returns:
        (None, None) for fewer than two clusters, and where the statistic rests on a single one of them.
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
    effect = (variance * (n - 1) + b + 1 / 12) / (b * n + 1 / 12)
    low, high = wilson(mean, n / effect, float(scipy.special.stdtrit(n - 1, QUANTILE)))
    return min(lowest + low * span, value), max(lowest + high * span, value)


def studentised(
    counts: Floats,
    statistic: Callable[[Floats], Floats],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Return Student's interval of a smooth statistic on a scale of which the clusters use a small part (marks).

    The standard error is the jackknife's; nothing reaches beyond the ends of the scale. (None, None) for fewer
    than two clusters, where all of them are alike, and where the statistic rests on a single one.
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
    """Return means from sums and counts, [..., 2] to [...]; NaN where nothing was counted."""
    return divided(sums[..., 0], sums[..., 1])


def clustered_mean(
    clusters: Iterable[Sequence[float]],
    ends: tuple[float, float] = (0.0, 1.0),
    interval: Callable[[Floats, Callable[[Floats], Floats], tuple[float, float]], Interval] | None = None,
) -> Metric:
    """Return the mean of values that come in clusters; n counts clusters, observations are values.

    Args:
        clusters: The values of each, at least one cluster.
        ends: The least and the most that a value can be.
        interval: `bounded` by default.
    """
    sums = np.array([[sum(values), len(values)] for values in clusters], dtype=float)
    low, high = (interval or bounded)(sums, ratio, ends)
    value, observations = float(ratio(sums.sum(axis=0))), int(sums[:, 1].sum())
    return Metric(value, low, high, n=len(sums), observations=observations)


def combined(value: float, parts: Sequence[Interval], ends: tuple[float, float]) -> Interval:
    """Return the interval of an estimate that is uncertain for several independent reasons (MOVER, Zou and Donner 2008).

    The distances from the estimate to the ends that each reason alone would give add up as squares.
    """
    lows, highs = [low for low, _ in parts], [high for _, high in parts]
    low = None if None in lows else value - math.hypot(*(max(0.0, value - (end or 0.0)) for end in lows))
    high = None if None in highs else value + math.hypot(*(max(0.0, (end or 0.0) - value) for end in highs))
    return None if low is None else max(ends[0], low), None if high is None else min(ends[1], high)


def wilson(share: float, n: float, quantile: float = Z) -> tuple[float, float]:
    """Return Wilson's interval of a share of n trials (Wilson 1927); n need not be whole, the quantile is of 95 %."""
    middle = (share + quantile**2 / (2 * n)) / (1 + quantile**2 / n)
    half = quantile * math.sqrt(share * (1 - share) / n + quantile**2 / (4 * n**2)) / (1 + quantile**2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def bootstrap(
    counts: Floats,
    statistic: Callable[[Floats], Floats],
    seed: int,
    draws: int = 2000,
) -> Interval:
    """Return percentile interval of a statistic of summed counts, drawing clusters with replacement; expanded for few (`expanded`).

    Args:
        counts: [clusters, ...]; whatever adds up over the episodes of a cluster.
        statistic: Maps sums [draws, ...] to values [draws]; NaN where the statistic does not exist.
        seed: The run's seed; one seed and one number of clusters give one set of draws, so that metrics
            of one run are drawn alike.
        draws: How often all clusters are drawn again.

    Returns:
        Values that occurred among the draws, rounded outwards; a draw without a value counts as below
        the low and above the high end. (None, None) for fewer than two clusters, and where all draws
        give one value: that they do says nothing of how far it is from the truth.
    """
    clusters = len(counts)
    if clusters < 2:
        return None, None
    values = statistic(np.tensordot(_weights(seed, clusters, draws), counts, axes=1))
    missing = np.isnan(values)
    tail = (1 - expanded(clusters)) / 2
    low = np.quantile(np.where(missing, -np.inf, values), tail, method="lower")
    high = np.quantile(np.where(missing, np.inf, values), 1 - tail, method="higher")
    return (None, None) if low == high else (_finite(low), _finite(high))


def expanded(clusters: int) -> float:
    """Return the level to ask a bootstrap for so that few clusters are covered (Hesterberg 2015, expanded percentiles).

    Percentiles of n clusters are as narrow as a normal interval with the variance divided by n; this undoes
    both: 0.9856 for nine clusters, 0.9519 for two hundred. Never more than 0.999: 2,000 draws say no more of
    the tails.
    """
    if clusters < 2:
        return 0.95
    t = scipy.special.stdtrit(clusters - 1, QUANTILE)
    return min(float(1 - 2 * scipy.special.ndtr(-t * math.sqrt(clusters / (clusters - 1)))), 0.999)


def _jackknife(counts: Floats, statistic: Callable[[Floats], Floats]) -> tuple[float, Floats]:
    """Return a statistic and its pseudo-values [clusters], NaN where leaving a cluster out leaves nothing to go by."""
    n, total = len(counts), counts.sum(axis=0)
    value = float(statistic(total)) if n else math.nan
    return value, np.asarray(n * value - (n - 1) * statistic(total - counts)) if n > 1 else np.full(n, np.nan)


@lru_cache(maxsize=1)
def _weights(seed: int, clusters: int, draws: int) -> Floats:
    """Return how often each cluster is drawn, [draws, clusters]; the metrics of a run share one set of draws."""
    rng = np.random.default_rng(_entropy(seed))
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(float)


def _entropy(seed: int) -> int:
    """Return any whole number, negative ones too, as entropy for numpy."""
    return int.from_bytes(hashlib.sha256(f"{seed}:bootstrap".encode()).digest()[:16], "big")


def _finite(value: np.floating) -> float | None:
    return float(value) if np.isfinite(value) else None
