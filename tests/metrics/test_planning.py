"""Plans: what shows a difference agrees with another's code, and says how sure it is."""

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from lotbench.metrics import planning
from lotbench.metrics.planning import Cost, against_alike, needed_samples, shows, ways
from lotbench.metrics.variance import Components


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize("n", [5, 30, 106, 1180])
def test_what_can_be_detected_agrees_with_statsmodels(n: int, level: float) -> None:
    theirs = TTestPower().solve_power(nobs=n, alpha=level, power=0.8)
    assert planning.detectable(n, level) == pytest.approx(float(np.squeeze(theirs)), rel=1e-4)
    if n < 1000:  # Theirs is none where the tail on the wrong side is too small to be had.
        assert planning.power(n, 0.3, level) == pytest.approx(TTestPower().power(0.3, n, level), rel=1e-6)


@pytest.mark.parametrize("effect", [0.04, 0.2, -0.5, 1.3])
def test_the_planner_agrees_with_statsmodels(effect: float) -> None:
    for level in (0.05, 0.01):
        theirs = TTestPower().solve_power(effect_size=abs(effect), alpha=level, power=0.8)
        assert planning.needed(effect, level) == math.ceil(float(np.squeeze(theirs)))
    assert planning.needed(1e6) == 2 and planning.power(1, 5.0) == 0
    with pytest.raises(ValueError, match="0"):
        planning.needed(0.0)
    with pytest.raises(ValueError, match="1 samples"):
        planning.detectable(1)


def of(sd: float, n: int) -> Components:
    """Differences of n samples, of which only the spread is known."""
    return Components(sd**2, 0.0, n, 1, split=False)


def test_nothing_is_enough_for_models_that_may_be_equal() -> None:
    found = needed_samples(0.013, of(0.05, 20))
    assert found.seen == planning.needed(0.26)
    assert found.least is not None and found.least < found.seen < 200 and found.most is None
    clear = needed_samples(0.05, of(0.05, 20))
    assert clear.seen is not None and clear.least is not None and clear.most is not None
    assert clear.least < clear.seen < clear.most and needed_samples(-0.05, of(0.05, 20)) == clear
    assert needed_samples(0.0, of(0.05, 20)).seen is None
    huge = needed_samples(5.0, of(0.05, 2000))
    assert huge.least == huge.seen == huge.most == 2


@pytest.mark.parametrize(("effect", "n"), [(0.0, 12), (0.1, 108), (0.5, 30)])
def test_the_samples_that_are_needed_lie_in_their_interval(effect: float, n: int) -> None:
    rng, held, trials = np.random.default_rng(n), 0, 60
    truth = planning.needed(effect) if effect else math.inf
    for _ in range(trials):
        differences = rng.normal(effect, 1, n)
        found = needed_samples(float(differences.mean()), of(float(differences.std(ddof=1)), n))
        assert found.least is not None
        held += found.least <= truth <= (math.inf if found.most is None else found.most)
    # At a coverage of .95 fewer than 52 of 60 have a chance of 1 in 200.
    assert held >= 52


MOSTLY_REPEATS = Components(sample=0.03, repeat=0.21, samples=108, repeats=3)
"""Of the variance of a difference of 0.1, seven parts in ten are repeats, as in the audit."""


def test_more_repeats_are_a_way_and_may_save_samples() -> None:
    by_name = {way.of: way for way in ways(MOSTLY_REPEATS, 0.05, Cost(30.0, 0.02))}
    samples, repeats = by_name["samples"], by_name["repeats"]
    assert samples.to == planning.needed(0.05 / (0.03 + 0.07) ** 0.5)
    assert shows(MOSTLY_REPEATS, 0.05, repeats=repeats.to)
    assert not shows(MOSTLY_REPEATS, 0.05, repeats=repeats.to - 1)
    assert samples.walks == (samples.to - 108) * 3 and repeats.walks == (repeats.to - 3) * 108
    assert samples.calls == samples.walks * 30 and samples.dollars == pytest.approx(samples.walks * 0.02)
    (ten,) = [
        way for way in ways(Components(0.03, 0.21, 108, 10), 0.05, Cost(1, None)) if way.of == "samples"
    ]
    assert ten.to < 0.6 * samples.to and ten.dollars is None


def test_what_repeats_cannot_show_is_no_way() -> None:
    mostly_samples = Components(sample=0.1, repeat=0.01, samples=20, repeats=2)
    assert [way.of for way in ways(mostly_samples, 0.05, Cost(1, 1))] == ["samples"]
    assert [way.of for way in ways(Components(0.1, 0.0, 20, 1, split=False), 0.05, Cost(1, 1))] == ["samples"]
    assert ways(mostly_samples, 0.0, Cost(1, 1)) == []


def test_labels_are_a_way_where_they_are_what_is_uncertain() -> None:
    few = Components(0.001, 0.003, 108, 3, judge=0.06, judgements=100)
    found = ways(few, 0.05, Cost(30.0, None))
    labels = found[0]
    assert labels.of == "labels" and labels.walks == labels.calls == 0 and labels.dollars == 0
    assert not shows(few, 0.05) and shows(few, 0.05, judgements=labels.to)
    assert not shows(few, 0.05, judgements=labels.to - 1)
    # However many samples are played, so few labels do not show it.
    assert [way.of for way in found] == ["labels"]


def test_ways_stand_by_their_price() -> None:
    both = ways(MOSTLY_REPEATS, 0.05, Cost(30.0, 0.02))
    assert [way.dollars for way in both] == sorted(way.dollars or 0.0 for way in both)
    assert Cost(2.0, 0.1) + Cost(3.0, None) == Cost(5.0, None)
    shown = ways(MOSTLY_REPEATS, 0.5, Cost(30.0, 0.02))
    assert {(way.of, way.to, way.walks) for way in shown} == {("samples", 108, 0.0), ("repeats", 3, 0.0)}


def test_a_run_shows_least_against_what_it_has_nothing_in_common_with() -> None:
    least, most = against_alike(Components(sample=0.04, repeat=0.09, samples=108, repeats=3))
    effect = planning.detectable(108)
    assert least == pytest.approx(effect * (2 * 0.09 / 3) ** 0.5)
    assert most == pytest.approx(effect * (2 * (0.04 + 0.09 / 3)) ** 0.5)
    rng, seen = np.random.default_rng(0), 0
    for _ in range(200):
        runs = rng.normal(0, 0.2, (2, 108)) + rng.normal(0, 0.3, (2, 108, 3)).mean(axis=2)
        gap = runs[0] - runs[1] + most
        seen += abs(gap.mean() / (gap.std(ddof=1) / 108**0.5)) > 1.98
    assert 0.7 < seen / 200 < 0.9


@pytest.mark.parametrize("free", [1, 2, 20])
def test_a_difference_of_few_samples_has_a_shift_however_large_it_is(free: int) -> None:
    """Two samples have one degree of freedom, for which scipy's distribution has no number far out."""
    for t in np.linspace(-30, 30, 61):
        low, high = planning._shift(float(t), free)
        assert low < t < high
