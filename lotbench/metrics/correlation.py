"""Correlations: Pearson's r if both samples look normal, else Spearman's rho; also with intervals over clusters.

There is no correlation for fewer than three pairs, or if all values of one sample are equal. For few pairs the p of rank
correlations is exact, over all orders: rho = 1 of three pairs has p = 1/3, where approximations give 0.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats, bootstrap, divided
from lotbench.types import Metric

NORMAL = 0.05
"""The smallest p of the Shapiro-Wilk test at which a sample counts as normal (LiveIdeaBench v2, Statistical analysis)."""
LEAST = 3
EXACT = 8
"""The most pairs for which the p of rank correlations is computed over all orders."""
Method: TypeAlias = Literal["pearson", "spearman", "kendall"]
_MEASURES: Mapping[Method, str] = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation of n pairs, with its method, p and 95 % interval.

    If there is none, `why` has the reason, and the other fields except `n` are None. The interval treats pairs as
    independent. It is None for fewer than four pairs, for Kendall's tau, and for r = 1 or -1.
    """

    method: Method | None
    value: float | None
    p: float | None
    n: int
    why: str | None = None
    low: float | None = None
    high: float | None = None


def correlation(first: Sequence[float], other: Sequence[float]) -> Correlation:
    """Return Pearson's r if both samples pass the Shapiro-Wilk test of normality, else Spearman's rho.

    Raises:
        ValueError: The two samples differ in length.
    """
    if why := _none(first, other):
        return Correlation(None, None, None, len(first), why)
    normal = all(scipy.stats.shapiro(each).pvalue >= NORMAL for each in (first, other))
    return coefficient("pearson" if normal else "spearman", first, other)


def coefficient(method: Method, first: Sequence[float], other: Sequence[float]) -> Correlation:
    """Return Pearson's r or Spearman's rho with Fisher's interval, or Kendall's tau-b without one.

    The variance of Fisher's z is 1 / (n - 3), for Spearman times 1 + rho^2 / 2 (Bonett and Wright 2000).

    Raises:
        ValueError: The two samples differ in length.
    """
    if why := _none(first, other):
        return Correlation(None, None, None, len(first), why)
    test: Any = getattr(scipy.stats, _MEASURES[method])(first, other)
    value, p, n = float(test.statistic), float(test.pvalue), len(first)
    if method != "pearson" and n <= EXACT:
        p = _exact(method, first, other)
    low = high = None
    if method != "kendall" and n > 3 and abs(value) < 1:
        spread = (1 + (value**2 / 2 if method == "spearman" else 0)) / (n - 3)
        half = float(scipy.special.ndtri(0.975)) * math.sqrt(spread)
        low, high = math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half)
    return Correlation(method, value, p, n, low=low, high=high)


def _exact(method: Method, first: Sequence[float], other: Sequence[float]) -> float:
    """Return the exact two-sided p of a rank correlation, over all orders of the pairs."""
    x, y = (scipy.stats.rankdata(each) - (len(first) + 1) / 2 for each in (first, other))
    # The first order is the given one.
    orders = np.array(list(permutations(y)))
    strengths = orders @ x
    if method == "kendall":
        signs = np.sign(orders[:, :, None] - orders[:, None, :])
        strengths = (signs * np.sign(np.subtract.outer(x, x))).sum(axis=(1, 2))
    return float((np.abs(strengths) >= abs(strengths[0]) - 1e-9).mean())


def spearman(first: Sequence[float], other: Sequence[float], clusters: Sequence[str]) -> Metric:
    """Return Spearman's rho with a bootstrap interval over the clusters of pairs; every draw uses the ranks among all pairs.

    Raises:
        ValueError: The three sequences differ in length.
    """
    if why := _none(first, other):
        return Metric(None, n=len(first), why=why)
    x, y = scipy.stats.rankdata(first), scipy.stats.rankdata(other)
    places = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    sums = np.zeros((len(places), 6))
    for name, a, b in zip(clusters, x, y, strict=True):
        sums[places[name]] += (1, a, b, a * a, b * b, a * b)
    low, high = bootstrap(sums, _pearson, 0)
    return Metric(float(_pearson(sums.sum(axis=0))), low, high, n=len(x))


def _pearson(sums: Floats) -> Floats:
    """Return Pearson's r, [...], from the sums of 1, x, y, xx, yy and xy in the last axis of [..., 6]; NaN if x or y is constant."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = (n * xx - x * x) * (n * yy - y * y)
    return divided(n * xy - x * y, np.sqrt(np.maximum(spread, 0)))


def _none(first: Sequence[float], other: Sequence[float]) -> str | None:
    if len(first) != len(other):
        raise ValueError(f"{len(first)} values against {len(other)}")
    if len(first) < LEAST:
        return f"{len(first)} pairs are too few"
    if min(first) == max(first) or min(other) == max(other):
        return "one of the two never changes"
    return None
