"""Ratings from pairs: an independent fit, planted strengths found again, what votes do not bound, and what has no rating."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from lotbench.metrics.bradley_terry import ratings, strengths
from lotbench.metrics.intervals import Floats, wilson


def by_logistic_regression(wins: Floats) -> Floats:
    """The same model as a logistic regression without an intercept; each player shares a vote among those it met."""
    size, met = len(wins), (wins + wins.T > 0).sum(axis=1)
    rows, chosen, weights = [], [], []
    for one in range(size):
        for other in range(size):
            if one != other and wins[one, other] + wins[other, one] > 0:
                rows += [np.eye(size)[one] - np.eye(size)[other]] * 2
                chosen += [1, 0]
                weights += [wins[one, other] + (0.5 / met[one] + 0.5 / met[other]) / 2, 0.0]
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
        held += held_by(plays(truth, 60, seed), truth)
    assert np.mean(held) > 0.9


def held_by(wins: Floats, truth: Floats) -> list[bool]:
    """Whether each interval holds the truth; an open end holds all that is beyond it."""
    return [
        (one.low is None or one.low <= value) and (one.high is None or value <= one.high)
        for one, value in zip(ratings(wins), truth - truth.mean(), strict=True)
    ]


@pytest.mark.parametrize(
    "truth", [np.array([0.5, 0.0, -6.0]), np.array([*np.linspace(1.5, -1.5, 6), -5.0])], ids=len
)
def test_intervals_hold_the_truth_where_one_is_hardly_ever_chosen(truth: Floats) -> None:
    held = np.array([held_by(plays(truth, 24, seed), truth) for seed in range(30)])
    # At a coverage of .95 fewer than 24 of 30 have a chance of 1 in 300.
    assert (held.sum(axis=0) >= 24).all(), held.mean(axis=0)


def test_no_vote_of_others_moves_a_rating_far_though_there_are_many() -> None:
    truth = np.linspace(1.5, -1.5, 8)
    off = [strengths(plays(truth, 6, seed).sum(axis=0)) - truth for seed in range(40)]
    assert np.abs(np.mean(off, axis=0)).max() < 0.15


def test_the_interval_of_two_is_wilsons_at_the_votes_that_theirs_are_worth() -> None:
    # 7 of 30 prompts go to the first, with a vote on each.
    wins = np.zeros((30, 2, 2))
    wins[:7, 0, 1] = wins[7:, 1, 0] = 1
    share = 7.5 / 31
    between = (7 * (1 - share) ** 2 + 23 * share**2) * 30 / 29
    effect = between / (30 * share * (1 - share))
    known = wilson(7 / 30, 30, float(stats.t.ppf(0.975, 29)) * effect**0.5)
    first, second = ratings(wins)
    assert first.low is not None and first.high is not None
    # Their ratings are a and -a.
    assert special.expit([2 * first.low, 2 * first.high]) == pytest.approx(known, abs=1e-6)
    assert (second.low, second.high) == (pytest.approx(-first.high), pytest.approx(-first.low))


def test_votes_on_a_prompt_that_are_alike_are_worth_fewer() -> None:
    apart = plays(np.array([0.3, 0.0, -0.3]), 40, 1)
    # The same votes, each given by four voters at once.
    (alone, *_), (alike, *_) = ratings(apart), ratings(4 * apart)
    assert (
        alone.low is not None and alone.high is not None and alike.low is not None and alike.high is not None
    )
    assert alike.high - alike.low == pytest.approx(alone.high - alone.low, rel=0.1)


def test_who_was_never_chosen_may_be_as_far_below_as_you_like() -> None:
    wins = np.zeros((20, 3, 3))
    wins[:12, 0, 1] = wins[12:, 1, 0] = 1
    wins[:, 0, 2] = wins[:, 1, 2] = 1
    best, second, last = ratings(wins)
    assert last.low is None and last.high is not None and last.value is not None and last.value < last.high
    # So the mean may be as low, and the others as far above it.
    assert best.high is None and second.high is None
    assert best.low is not None and best.value is not None and 0 < best.low < best.value


def test_one_prompt_says_nothing_of_other_prompts() -> None:
    (one, other) = ratings(np.array([[[0.0, 3.0], [1.0, 0.0]]]))
    assert one.value is not None and (one.low, one.high, other.low, other.high) == (None,) * 4


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
