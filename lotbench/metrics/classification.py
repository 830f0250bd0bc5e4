"""How well ordered labels 1..L are predicted, what guessing would come to, and whether shuffling does as well.

Everything is read off one table of counts, gold label by prediction, whose column 0 holds what was no label
at all: such an answer is wrong in every figure that does not say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from lotbench.metrics.intervals import Floats, divided

Labels: TypeAlias = NDArray[np.int_]


def table(gold: Sequence[int], predictions: Sequence[int | None], labels: int) -> Floats:
    """Return counts [labels, labels + 1] of gold labels 1.. by predictions, column 0 for None."""
    counts = np.zeros((labels, labels + 1))
    np.add.at(
        counts,
        (np.array(gold, dtype=int) - 1, np.array([prediction or 0 for prediction in predictions], dtype=int)),
        1,
    )
    return counts


def f1(counts: Floats) -> Floats:
    """Return F1 of each label, [..., L, L + 1] to [..., L]; 0 for one that neither occurs nor is predicted."""
    hits = np.diagonal(counts[..., 1:], axis1=-2, axis2=-1)
    both = counts.sum(axis=-1) + counts[..., 1:].sum(axis=-2)
    return np.asarray(np.divide(2 * hits, both, out=np.zeros(hits.shape), where=both > 0))


def macro_f1(counts: Floats) -> Floats:
    """Return the mean F1 over all labels, those without support too; [..., L, L + 1] to [...]."""
    return np.asarray(f1(counts).mean(axis=-1))


def mae(counts: Floats) -> Floats:
    """Return the mean distance of valid predictions from the gold; NaN where there is none."""
    valid = counts[..., 1:]
    return divided((valid * distances(valid.shape[-1])).sum(axis=(-2, -1)), valid.sum(axis=(-2, -1)))


def accuracy(counts: Floats) -> Floats:
    """Return the share of all answers that give the gold."""
    right = np.trace(counts[..., 1:], axis1=-2, axis2=-1)
    return divided(right, counts.sum(axis=(-2, -1)))


def distances(labels: int) -> Floats:
    """Return [L, L]: how far two labels are apart."""
    places = np.arange(labels, dtype=float)
    return np.asarray(np.abs(places[:, None] - places))


def guessing(support: Sequence[int], chances: Sequence[float]) -> tuple[float, float]:
    """Return the expected macro F1 and MAE of drawing each prediction independently with these chances.

    Exact: the hits and the false alarms of a label are independent binomials, and the expectation of
    2 hits / (support + hits + false alarms) is summed over all their values.

    Args:
        support: How often each label is the gold one.
        chances: Of each label, to be drawn.
    """
    n = sum(support)
    scores = []
    for count, chance in zip(support, chances, strict=True):
        hits, alarms = np.arange(count + 1), np.arange(n - count + 1)
        weight = np.outer(
            scipy.stats.binom.pmf(hits, count, chance), scipy.stats.binom.pmf(alarms, n - count, chance)
        )
        both = count + hits[:, None] + alarms
        # Without support there are no hits, and no quotient is 0 / 0.
        scores.append(float((weight * 2 * hits[:, None] / np.maximum(both, 1)).sum()))
    share = np.array(support, dtype=float) / n
    error = share @ distances(len(support)) @ np.array(chances, dtype=float)
    return float(np.mean(scores)), float(error)
