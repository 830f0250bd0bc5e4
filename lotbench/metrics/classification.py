"""Metrics of predictions of ordered labels 1..L, and the values that guessing would reach.

All metrics are computed from a table of counts [L, L + 1], gold label by prediction. Column 0 counts invalid answers,
which are wrong in every metric unless stated otherwise.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from lotbench.metrics.intervals import Floats, divided

Labels: TypeAlias = NDArray[np.int_]


def table(gold: Sequence[int], predictions: Sequence[int | None], labels: int) -> Floats:
    """Return counts [labels, labels + 1] of gold labels (rows, from 1) by predictions (columns; column 0 counts None)."""
    counts = np.zeros((labels, labels + 1))
    columns = np.array([label or 0 for label in predictions], dtype=int)
    np.add.at(counts, (np.array(gold, dtype=int) - 1, columns), 1)
    return counts


def f1(counts: Floats) -> Floats:
    """Return the F1 of each label, [..., L], from counts of `table` [..., L, L + 1]; 0 if it neither occurs nor is predicted."""
    hits = np.diagonal(counts[..., 1:], axis1=-2, axis2=-1)
    both = counts.sum(axis=-1) + counts[..., 1:].sum(axis=-2)
    return np.asarray(np.divide(2 * hits, both, out=np.zeros(hits.shape), where=both > 0))


def macro_f1(counts: Floats) -> Floats:
    """Return the mean F1 over all L labels, also those that never occur, [...], from counts of `table` [..., L, L + 1]."""
    return np.asarray(f1(counts).mean(axis=-1))


def mae(counts: Floats) -> Floats:
    """Return the mean absolute error of valid predictions, [...], from counts of `table` [..., L, L + 1]; NaN if none is valid."""
    valid = counts[..., 1:]
    return divided((valid * distances(valid.shape[-1])).sum(axis=(-2, -1)), valid.sum(axis=(-2, -1)))


def distances(labels: int) -> Floats:
    """Return the absolute difference of every two of L labels, [L, L]."""
    places = np.arange(labels, dtype=float)
    return np.asarray(np.abs(places[:, None] - places))


def guessing(support: Sequence[int], chances: Sequence[float]) -> tuple[float, float]:
    """Return the expected macro F1 and MAE if predictions are drawn independently with these probabilities.

    The value is exact: hits and false alarms of a label are independent binomials, and the expectation of
    2 hits / (support + hits + false alarms) is summed over all their values.

    Args:
        support: How often each label is the gold label.
        chances: The probability with which each label is predicted.
    """
    n = sum(support)
    scores = []
    for count, chance in zip(support, chances, strict=True):
        hits, alarms = np.arange(count + 1), np.arange(n - count + 1)
        weight = np.outer(
            scipy.stats.binom.pmf(hits, count, chance), scipy.stats.binom.pmf(alarms, n - count, chance)
        )
        both = count + hits[:, None] + alarms
        # Without support there are no hits, and the maximum avoids 0 / 0.
        scores.append(float((weight * 2 * hits[:, None] / np.maximum(both, 1)).sum()))
    share = np.array(support, dtype=float) / n
    error = share @ distances(len(support)) @ np.array(chances, dtype=float)
    return float(np.mean(scores)), float(error)
