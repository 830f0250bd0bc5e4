"""Ratings from pairs: an independent fit, planted strengths found again, and what has no rating."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from lotbench.metrics.bradley_terry import ratings, strengths
from lotbench.metrics.intervals import Floats


def by_logistic_regression(wins: Floats) -> Floats:
    """The same model as a logistic regression without an intercept, half a vote for either side of each pair."""
    size = len(wins)
    rows, chosen, weights = [], [], []
    for one in range(size):
        for other in range(size):
            if one != other and wins[one, other] + wins[other, one] > 0:
                rows += [np.eye(size)[one] - np.eye(size)[other]] * 2
                chosen += [1, 0]
                weights += [wins[one, other] + 0.5, 0.0]
    fitted = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000)
    fitted.fit(np.array(rows + [-row for row in rows]), chosen + [1 - c for c in chosen], weights * 2)
    return np.asarray(fitted.coef_[0] - fitted.coef_[0].mean())


@given(st.lists(st.integers(0, 40), min_size=12, max_size=12))
def test_strengths_are_those_of_a_logistic_regression(counts: list[int]) -> None:
    wins = np.zeros((4, 4))
    wins[~np.eye(4, dtype=bool)] = counts
    wins[0, 1] = wins[1, 2] = wins[2, 3] = max(counts) + 1.0
    assert strengths(wins) == pytest.approx(by_logistic_regression(wins), abs=1e-3)


def plays(truth: Floats, clusters: int, seed: int) -> Floats:
    """One vote on each pair in each cluster, by Bradley and Terry's model."""
    rng = np.random.default_rng(seed)
    wins = np.zeros((clusters, len(truth), len(truth)))
    for cluster in wins:
        for one in range(len(truth)):
            for other in range(one):
                first = rng.random() < 1 / (1 + np.exp(truth[other] - truth[one]))
                cluster[(one, other) if first else (other, one)] = 1
    return wins


def test_planted_ratings_lie_within_their_intervals() -> None:
    truth = np.array([1.0, 0.2, -0.4, -0.8])
    held = []
    for seed in range(40):
        found = ratings(plays(truth, 60, seed), seed)
        held += [one.low <= value <= one.high for one, value in zip(found, truth, strict=True)]  # type: ignore[operator]
    assert np.mean(held) > 0.9


def test_who_never_lost_has_a_finite_rating_and_is_first() -> None:
    wins = np.zeros((5, 3, 3))
    wins[:, 0, 1] = wins[:, 0, 2] = wins[:, 1, 2] = 1
    found = [one.value for one in ratings(wins)]
    assert all(value is not None and np.isfinite(value) for value in found)
    assert found == sorted(found, reverse=True)  # type: ignore[type-var]


def test_who_met_nobody_has_no_rating_and_neither_have_the_others() -> None:
    wins = np.zeros((5, 4, 4))
    wins[:, 0, 1] = wins[:, 2, 3] = 1
    assert [one.value for one in ratings(wins)] == [None] * 4


def test_so_many_that_paths_between_them_cannot_be_counted_are_rated_all_the_same() -> None:
    wins = np.triu(np.ones((64, 64)), 1)[None]
    found = [one.value for one in ratings(np.repeat(wins, 2, axis=0))]
    assert None not in found and found == sorted(found, reverse=True)  # type: ignore[type-var]


def test_by_way_of_others_is_enough() -> None:
    wins = np.zeros((5, 3, 3))
    wins[:, 0, 1] = wins[:, 1, 2] = 1
    assert [one.value for one in ratings(wins)][1] == pytest.approx(0, abs=1e-6)
