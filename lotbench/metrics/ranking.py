"""Measures of a model's order of options against the order of people: NDCG with its value by chance, Spearman, misplacement.

An order is a list of true ranks: [2, 0, 1] puts the third best first. NDCG also needs the gain of each true rank.
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from lotbench.metrics.intervals import Floats


def gains(relevance: ArrayLike, kind: Literal["linear", "exponential"]) -> Floats:
    """Return the gains of options by their relevance r: r (linear), or 2^r - 1 (exponential; Burges et al. 2005)."""
    values = np.asarray(relevance, float)
    return np.exp2(values) - 1 if kind == "exponential" else values


def ndcg(order: ArrayLike, gain: ArrayLike) -> Floats:
    """Return the normalised discounted cumulative gain (Jarvelin and Kekalainen 2002), with discount 1 / log2(1 + place).

    Args:
        order: The true ranks (from 0) of the options in the model's order, [..., n].
        gain: The gains by true rank, the largest first, [n].

    Returns:
        The NDCG, [...]: 1 for the true order, NaN if all gains are 0.
    """
    worth = np.asarray(gain, float)
    discount = _discount(len(worth))
    best = float(worth @ discount)
    return np.asarray(worth[np.asarray(order, int)] @ discount / best if best > 0 else np.nan)


def chance(gain: ArrayLike) -> float:
    """Return the expected NDCG of a random order, which has the mean gain at every place; NaN if all gains are 0."""
    worth = np.asarray(gain, float)
    discount = _discount(len(worth))
    best = float(worth @ discount)
    return float(worth.mean() * discount.sum() / best) if best > 0 else math.nan


def _discount(n: int) -> Floats:
    return 1 / np.log2(np.arange(2, n + 2))


def spearman(order: Sequence[int]) -> float:
    """Return Spearman's rank correlation of an order with the true order, both without ties."""
    return float(scipy.stats.spearmanr(range(len(order)), order).statistic)


def misplaced(orders: Sequence[Sequence[int]]) -> Floats:
    """Return for each true rank, [n], the share of orders that put the option of this rank elsewhere (LoTbench, Fig. 14)."""
    places = np.asarray(orders, int)
    return np.asarray((places != np.arange(places.shape[1])).mean(axis=0))
