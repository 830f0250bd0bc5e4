"""Ratings from pairs: planted strengths found again, voters with tastes of their own, and what has no rating."""

import numpy as np
import pytest

from lotbench.metrics.bradley_terry import Rating, Votes, ratings
from tests.bench.truth.errors import votes


def of(*rows: tuple[int, int, int, int, float], players: int) -> list[Rating]:
    """Ratings of votes written out: voter, prompt, first, second, chosen."""
    table = np.array(rows)
    whole = table[:, :4].astype(int)
    return ratings(Votes(whole[:, 0], whole[:, 1], whole[:, 2:], table[:, 4], players))


@pytest.mark.parametrize("taste", [pytest.param(0.0, marks=pytest.mark.slow), 0.7])
def test_planted_ratings_lie_within_their_intervals_though_voters_have_tastes(taste: float) -> None:
    truth = np.array([1.0, 0.2, -0.4, -0.8])
    held = [
        one.low <= value <= one.high
        for seed in range(4)
        for one, value in zip(
            ratings(votes(truth, 12, 40, np.random.default_rng(seed), taste)), truth, strict=True
        )
        if one.low is not None and one.high is not None
    ]
    # At a coverage of .95 fewer than 12 of 16 have a chance of 1 in 1100.
    assert len(held) == 16 and sum(held) >= 12


def test_a_few_voters_give_ratings_and_no_interval() -> None:
    found = ratings(votes(np.array([1.0, 0.0, -1.0]), 4, 60, np.random.default_rng(1), 0.0))
    values = [one.value for one in found]
    assert None not in values and values == sorted(values, reverse=True)  # type: ignore[type-var]
    assert all(one.low is None and one.high is None for one in found)


def test_a_tie_is_half_a_vote_for_both() -> None:
    one, other = of(*[(voter, 0, 0, 1, 0.5) for voter in range(5)], players=2)
    assert one.value == pytest.approx(0) and other.value == pytest.approx(0)


def test_who_never_lost_has_a_finite_rating_and_is_first() -> None:
    found = of(
        *[(v, p, one, other, 1.0) for v in range(5) for p in range(5) for one, other in ((0, 1), (0, 2), (1, 2))],
        players=3,
    )  # fmt: skip
    values = [one.value for one in found]
    assert np.isfinite(values).all() and values == sorted(values, reverse=True)  # type: ignore[arg-type, type-var]
    assert sum(value or 0.0 for value in values) == pytest.approx(0, abs=1e-6)


def test_who_met_nobody_has_no_rating_and_neither_have_the_others() -> None:
    assert of((0, 0, 0, 1, 1.0), (0, 0, 2, 3, 1.0), players=4) == [Rating(None)] * 4
    by_others = of((0, 0, 0, 1, 1.0), (0, 0, 1, 2, 1.0), players=3)
    assert by_others[1].value == pytest.approx(0, abs=1e-3)
