"""Ranking measures agree with scikit-learn, scipy and brute force."""

import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from lotbench.metrics import ranking

FIXTURES = [
    ([118.0, 47.0, 23.0, 9.0, 1.0], [2, 0, 1, 4, 3]),
    ([1.1, 0.9, 0.5, 0.2, 0.1], [4, 3, 2, 1, 0]),
    ([6.9, 5.6, 4.6, 3.3, 1.0], [0, 1, 2, 3, 4]),
    ([3.0, 0.0, 0.0, 0.0, 0.0], [1, 2, 0, 4, 3]),
]


def scores(order: list[int]) -> list[float]:
    """An order as scikit-learn takes it: a score for each option, by true rank."""
    return [float(len(order) - order.index(rank)) for rank in range(len(order))]


@pytest.mark.parametrize(("gain", "order"), FIXTURES)
def test_ndcg_is_scikit_learns_and_exponential_gain_its_own_on_2_to_the_relevance(
    gain: list[float], order: list[int]
) -> None:
    assert ranking.ndcg(order, gain) == pytest.approx(ndcg_score([gain], [scores(order)]))
    small = [value / 20 for value in gain]
    made = ranking.gains(small, "exponential")
    assert made == pytest.approx([2**value - 1 for value in small])
    assert ranking.ndcg(order, made) == pytest.approx(ndcg_score([list(made)], [scores(order)]))
    assert list(ranking.gains(small, "linear")) == small


@given(st.lists(st.floats(0, 100), min_size=2, max_size=5).filter(lambda gain: sum(gain) > 0.01))
def test_chance_is_the_mean_over_all_orders(gain: list[float]) -> None:
    gain = sorted(gain, reverse=True)
    discounts = [1 / math.log2(place + 2) for place in range(len(gain))]
    best = sum(g * d for g, d in zip(gain, discounts, strict=True))
    brute = [sum(g * d for g, d in zip(order, discounts, strict=True)) / best for order in permutations(gain)]
    assert ranking.chance(gain) == pytest.approx(sum(brute) / len(brute))
    # And it has a closed form: each option stands at each place equally often.
    assert ranking.chance(gain) == pytest.approx(sum(gain) / len(gain) * sum(discounts) / best)


def test_misplaced_counts_each_true_rank() -> None:
    assert ranking.misplaced([[0, 1, 2], [0, 2, 1], [1, 0, 2]]) == pytest.approx([1 / 3, 2 / 3, 1 / 3])
