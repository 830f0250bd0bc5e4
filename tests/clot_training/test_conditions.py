"""Weak conditions: which places stay, how keywords are drawn, and that nothing is computed in floats."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clot_training.config import Explore
from clot_training.exploring import conditions

PAPER = Explore()


def test_the_sentence_keeps_five_of_a_hundred_and_the_equation_seven() -> None:
    assert list(conditions.kept_ranks(100, 25, 70, "sentence")) == [25, 26, 27, 28, 29]
    # Eq. 1 counts from 1 and keeps 25 to 31, both included.
    assert list(conditions.kept_ranks(100, 25, 70, "equation")) == [24, 25, 26, 27, 28, 29, 30]


@pytest.mark.parametrize(
    ("n", "alpha", "beta", "sentence", "equation"),
    [
        (10, 25, 70, range(2, 3), range(1, 4)),
        (13, 25, 70, range(3, 4), range(2, 4)),
        (1, 25, 70, range(0, 1), range(0, 1)),
        (0, 25, 70, range(0), range(0)),
        (100, 0, 0, range(100), range(100)),
        # 1 - 0.71 is 0.29000000000000004 and 100 * 0.29 is 28.999999999999996.
        (100, 0, 71, range(29), range(30)),
        (1000, 29, 57, range(290, 430), range(289, 431)),
    ],
)
def test_bounds_by_hand(n: int, alpha: int, beta: int, sentence: range, equation: range) -> None:
    assert conditions.kept_ranks(n, alpha, beta, "sentence") == sentence
    assert list(conditions.kept_ranks(n, alpha, beta, "equation")) == list(equation)


@given(st.integers(0, 500), st.integers(0, 99), st.integers(0, 99))
def test_the_sentence_drops_from_both_ends_what_it_says(n: int, alpha: int, beta: int) -> None:
    if alpha + beta >= 100:
        return
    places = conditions.kept_ranks(n, alpha, beta, "sentence")
    assert places.start * 100 <= alpha * n < (places.start + 1) * 100
    assert (n - places.stop) * 100 <= beta * n < (n - places.stop + 1) * 100
    assert set(places) <= set(conditions.kept_ranks(n, alpha, beta, "equation")) <= set(range(n))


def test_weak_conditions_are_the_middle_of_those_drawn() -> None:
    angles = np.linspace(0, np.pi, 200)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    keywords = Random(3).sample(range(200), 100)
    found = conditions.weak(keywords, vectors, vectors[0], PAPER)
    assert [one.position for one in found] == [25, 26, 27, 28, 29, None]
    # Keyword 0 is the sample itself and similarity falls with the number: the places are those of the numbers.
    assert [one.keyword for one in found[:-1]] == sorted(keywords)[25:30]
    assert found[0].similarity == pytest.approx(np.cos(angles[found[0].keyword]), abs=1e-6)
    assert found[-1] == conditions.Condition(None)


def test_random_conditions_are_as_many_and_unranked() -> None:
    keywords = Random(3).sample(range(200), 100)
    found = conditions.random(keywords, PAPER)
    assert [one.keyword for one in found] == [*keywords[:5], None]
    assert {one.position for one in found} == {None}
    assert len(conditions.random(keywords, Explore(bounds="equation"))) == 8
