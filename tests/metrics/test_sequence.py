"""Confidence sequences: never wider, right at both extremes of noise, and seldom without the truth however often looked at."""

from __future__ import annotations

import numpy as np
import pytest

from lotbench.metrics.intervals import Floats
from lotbench.metrics.sequence import Band, sequence

POINTS = 201


def missed(band: Band, truth: Floats | float) -> float:
    """The share of sequences that ever leave the truth out."""
    truths = np.broadcast_to(truth, band.low.shape[:-1])[:, None]
    return float(((truths <= band.low) | (truths >= band.high)).any(axis=1).mean())


def games(rng: np.random.Generator, shape: tuple[int, ...], skill: Floats) -> Floats:
    """Games that are won or lost: 1 or 0, [repeats, sequences, samples]."""
    return (rng.random((*shape, *skill.shape)) < skill).astype(float)


def test_an_end_never_goes_back_and_values_may_come_one_at_a_time() -> None:
    values = np.random.default_rng(1).normal(0.1, 0.3, 60).clip(-1, 1)
    whole = sequence(values, 1.0, 80)
    assert (np.diff(whole.low) >= 0).all() and (np.diff(whole.high) <= 0).all()
    part = sequence(values[:25], 1.0, 80)
    assert part.low.tolist() == whole.low[:25].tolist()
    assert part.high.tolist() == whole.high[:25].tolist()


def test_which_model_is_first_changes_the_sign_and_nothing_else() -> None:
    values = np.random.default_rng(2).normal(0.1, 0.3, 40).clip(-1, 1)
    one, other = sequence(values, 1.0, 40), sequence(-values, 1.0, 40)
    assert one.low == pytest.approx(-other.high)
    assert one.high == pytest.approx(-other.low)


def test_the_scale_of_scores_changes_nothing() -> None:
    values = np.random.default_rng(3).normal(0.1, 0.3, 40).clip(-1, 1)
    assert sequence(10 * values, 10.0, 40).low == pytest.approx(10 * sequence(values, 1.0, 40).low)


def test_games_without_noise_leave_nothing_open_once_all_samples_are_played() -> None:
    """And with noise of which nothing is known, that the set is spent narrows nothing."""
    values = np.random.default_rng(4).normal(0.0, 0.4, 100).clip(-1, 1)
    known, unknown = sequence(values, 1.0, 100, noise=np.zeros(100)), sequence(values, 1.0, 100)
    assert known.high[-1] - known.low[-1] < 0.1
    assert unknown.high[-1] - unknown.low[-1] > 0.2
    assert known.low[-1] < values.mean() < known.high[-1]


def test_the_mean_of_expected_scores_is_covered_when_all_that_was_seen_lies_beside_it() -> None:
    """A sequence of the mean of what was seen would close in on it: with one coin a sample, that is not the truth."""
    rng = np.random.default_rng(5)
    chances = np.full((600, 60), 0.5)
    flips = games(rng, (2,), chances)
    values, noise = flips.mean(axis=0) - 0.5, flips.var(axis=0, ddof=1) / 2
    band = sequence(values, 1.0, 60, noise=noise, points=POINTS)
    assert np.abs(values.mean(axis=1)).max() > 0.1
    assert missed(band, 0.0) < 0.05
    realised = sequence(values, 1.0, 60, noise=np.zeros_like(values), points=POINTS)
    assert missed(realised, 0.0) > 0.2, "this is what the noise is for"


@pytest.mark.parametrize("repeats", [1, 2, 4])
@pytest.mark.parametrize("samples", [20, 120])
def test_the_truth_is_seldom_ever_left_out(repeats: int, samples: int) -> None:
    rng = np.random.default_rng([repeats, samples])
    mine, theirs = rng.beta(0.6, 1.2, (2, 500, samples))
    both = games(rng, (repeats,), mine) - games(rng, (repeats,), theirs)
    truth = (mine - theirs).mean(axis=1)
    noise = both.var(axis=0, ddof=1) / repeats if repeats > 1 else None
    band = sequence(both.mean(axis=0), 1.0, samples, noise=noise, points=POINTS)
    assert missed(band, truth) < 0.05


def test_a_share_of_the_level_widens_it() -> None:
    values = np.random.default_rng(6).normal(0.2, 0.3, 50).clip(-1, 1)
    assert sequence(values, 1.0, 50, level=0.05 / 3).low[-1] < sequence(values, 1.0, 50).low[-1]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 1"):
        sequence(np.array([1.5]), 1.0, 3)
    with pytest.raises(ValueError, match="4 values"):
        sequence(np.zeros(4), 1.0, 3)
