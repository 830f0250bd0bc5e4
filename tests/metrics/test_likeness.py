"""Likeness of answers: every number by hand."""

import numpy as np
import pytest
from scipy import stats

from lotbench.metrics.likeness import alike, equal, meaning, overlap

ONE = {"a": ["cat", "cat"], "b": ["dog", "cat"], "c": ["fish"]}
TWO = {"a": ["cat", "hat"], "b": ["cat", "cat"], "d": ["fish"]}


def test_pairs_on_one_sample_and_on_different_samples_by_hand() -> None:
    own, both, other = alike({"one": ONE, "two": TWO}, equal)
    assert (own.first, own.second, both.first, both.second) == ("one", "one", "one", "two")
    # a: its pair is the same; b: it is not; c has one answer, which makes no pair.
    assert own.same.value == pytest.approx((1 + 0) / 2) and own.same.n == 2
    # a: of four pairs two are the same; b: two of four (cat with both).
    assert both.same.value == pytest.approx((2 / 4 + 2 / 4) / 2) and both.same.n == 2
    # a of one beside b of two: all four; b of one beside a of two: cat and cat, one of four.
    assert both.other == pytest.approx((4 / 4 + 1 / 4) / 2)
    assert other.same.value == pytest.approx((0 + 1) / 2)
    assert both.same.low is not None and both.same.high is not None
    assert both.same.low < 0.5 < both.same.high


def test_a_sample_that_only_one_has_is_no_pair() -> None:
    (_, both, _) = alike({"one": {"a": ["x"]}, "two": {"b": ["x"]}}, equal)
    assert both.same.value is None and both.same.why and both.other is None


def test_words_and_meanings_in_common() -> None:
    assert overlap(["A cat, a hat"], ["the cat", "猫 hat", ""]).tolist() == [[1 / 4, 1 / 4, 0.0]]
    vectors = {"x": np.array([1, 0], np.float32), "y": np.array([-0.6, 0.8], np.float32)}
    assert meaning(vectors)(["x", "y"], ["y"]).ravel() == pytest.approx([-0.6, 1.0])
    (own, *_) = alike({"one": {"a": ["x", "y"], "b": ["y", "y"]}}, meaning(vectors), (-1.0, 1.0))
    assert own.same.value == pytest.approx((-0.6 + 1) / 2)


def test_cosines_have_student_intervals_and_shares_have_wilsons() -> None:
    texts = {f"s{at}": [f"a{at}", f"b{at}"] for at in range(8)}
    turns = np.linspace(0.3, 0.5, 8)
    vectors = {f"a{at}": np.array([1, 0], np.float32) for at in range(8)}
    vectors |= {f"b{at}": np.array([np.cos(turn), np.sin(turn)], np.float32) for at, turn in enumerate(turns)}
    (own, *_) = alike({"one": texts}, meaning(vectors), (-1.0, 1.0))
    values = np.cos(turns)
    half = stats.t.ppf(0.975, 7) * values.std(ddof=1) / np.sqrt(8)
    assert (own.same.low, own.same.high) == pytest.approx(
        (values.mean() - half, values.mean() + half), abs=1e-6
    )
