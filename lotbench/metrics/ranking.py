"""Rankings against the order that people gave: NDCG, top-1, Spearman, what chance would get.

An order is written in true ranks: [2, 0, 1] puts the third best first. So every measure here is a function
of the order and of the gains by true rank, and chance is its mean over all orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lotbench.metrics.intervals import Floats

MAX_ENUMERATED = 8
"""More orders than those of so many are not enumerated."""


def gains(relevance: ArrayLike, kind: Literal["linear", "exponential"]) -> Floats:
    """What an option adds where it stands first: its relevance, or 2^rel - 1 (Burges et al. 2005)."""
    values = np.asarray(relevance, float)
    return np.exp2(values) - 1 if kind == "exponential" else values


def ndcg(order: ArrayLike, gain: ArrayLike) -> Floats:
    """Normalised discounted cumulative gain (Jarvelin and Kekalainen 2002): sum of gain / log2(1 + place).

    Args:
        order: [..., n] true ranks from 0 in the order given.
        gain: [n] gains by true rank, the largest first.

    Returns:
        [...], 1 for the true order; nan if nothing is worth anything.
    """
    worth = np.asarray(gain, float)
    discount = 1 / np.log2(np.arange(2, len(worth) + 2))
    best = float(worth @ discount)
    return np.asarray(worth[np.asarray(order, int)] @ discount / best if best > 0 else np.nan)


def chance(gain: ArrayLike) -> float:
    """The expected NDCG of a random order: the mean over all of them.

    Raises:
        ValueError: There are too many to enumerate.
    """
    return float(ndcg(orders(np.size(gain)), gain).mean())


def spearman(order: Sequence[int]) -> float:
    """Spearman's rank correlation of an order with the true one (no ties: both are permutations)."""
    n = len(order)
    apart = sum((place - rank) ** 2 for place, rank in enumerate(order))
    return 1 - 6 * apart / (n * (n * n - 1))


def misplaced(orders: Sequence[Sequence[int]]) -> Floats:
    """For each true rank, the share of orders in which that option does not stand at its rank (Fig. 14)."""
    places = np.asarray(orders, int)
    return np.asarray((places != np.arange(places.shape[1])).mean(axis=0))


@cache
def orders(n: int) -> NDArray[np.intp]:
    """All orders of n things, [n!, n], the one that they are in first.

    Raises:
        ValueError: There are too many to enumerate.
    """
    if n > MAX_ENUMERATED:
        raise ValueError(f"{n} options have too many orders to enumerate")
    return np.array(list(permutations(range(n))), dtype=np.intp)
