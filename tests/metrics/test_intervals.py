"""Intervals: known values, coverage of the bootstrap, and what they say of too little data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lotbench.metrics.intervals import Floats, bootstrap, bounded, expanded, studentised, wilson


def mean(sums: Floats) -> Floats:
    """Column 0 holds totals, column 1 how many they are of."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def clusters(values: list[float]) -> Floats:
    return np.array([[value, 1] for value in values], dtype=float)


def seen(sums: Floats) -> Floats:
    """The mean of what was seen, which does not exist where all that was drawn is empty."""
    return np.asarray(sums[..., 0] / np.where(sums[..., 1], sums[..., 1], np.nan))


ONE_EMPTY = np.array([[0.5, 1.0], [0.0, 0.0]])


def test_one_seed_gives_one_interval() -> None:
    data = clusters([(7 * at) ** 2 % 97 / 97 for at in range(30)])
    assert bootstrap(data, mean, seed=3) == bootstrap(data, mean, seed=3)
    assert bootstrap(data, mean, seed=3) != bootstrap(data, mean, seed=-4)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_interval_of_a_mean_stays_inside_the_data(values: list[float]) -> None:
    low, high = bootstrap(clusters(values), mean, seed=1, draws=200)
    if len(set(values)) == 1:
        assert (low, high) == (None, None)
        return
    assert low is not None and high is not None
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_episodes_of_a_sample_are_drawn_together() -> None:
    # 4 samples of 25 equal episodes each are 4 observations, not 100.
    alike = np.array([[25, 25], [25, 25], [0, 25], [0, 25]], dtype=float)
    apart = clusters([1.0] * 50 + [0.0] * 50)
    assert bootstrap(alike, mean, seed=0) == (0.0, 1.0)
    low, high = bootstrap(apart, mean, seed=0)
    assert low is not None and high is not None and 0.3 < low < high < 0.7


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_a_bounded_interval_is_never_a_point_and_holds_the_mean(values: list[float]) -> None:
    low, high = bounded(clusters(values), mean)
    assert low is not None and high is not None
    assert 0 <= low <= np.mean(values) + 1e-9 and np.mean(values) - 1e-9 <= high <= 1 and low < high


def test_a_bounded_interval_is_wilsons_at_the_samples_it_is_worth() -> None:
    # All or nothing: s2 (n - 1) = b n; a twentieth of b is added to both parts of deff.
    t, b = stats.t.ppf(0.975, 10), 0.3 * 0.7
    added = b / 20
    size = 10 * (9 * b + added) / (10 * b + added)
    assert bounded(clusters([1.0] * 3 + [0.0] * 7), mean) == pytest.approx(wilson(0.3, size, t))
    # On a scale from 1 to 5, 2.2 is 0.3 of the way.
    stretched = bounded(clusters([5.0] * 3 + [1.0] * 7), mean, (1.0, 5.0))
    assert stretched == pytest.approx([1 + 4 * end for end in wilson(0.3, size, t)])
    # 100 samples that vary little are worth more than 100 that are all or nothing.
    quiet = bounded(clusters([0.45, 0.55] * 50), mean)
    assert quiet == pytest.approx(stats.norm.interval(0.95, 0.5, 0.005), abs=0.006)


def test_a_bounded_interval_of_a_statistic_that_rests_on_one_cluster_is_open() -> None:
    assert bounded(clusters([0.5]), mean) == (None, None)
    assert bounded(ONE_EMPTY, seen) == (None, None)
    assert bounded(clusters([3.0]), mean, (3.0, 3.0)) == (3.0, 3.0)


def test_students_interval_is_that_of_a_mean_and_stays_on_the_scale() -> None:
    values = [3.0, 3.5, 4.25, 4.0, 3.25]
    t = stats.ttest_1samp(values, 0).confidence_interval()
    assert studentised(clusters(values), mean) == pytest.approx((t.low, t.high))
    assert studentised(clusters([1.0, 1.5]), mean, (1.0, 10.0)) == pytest.approx((1.0, 1.25 + 12.7062 / 4))
    for data in (clusters([0.5]), clusters([4.2] * 7), np.zeros((0, 2))):
        assert studentised(data, mean) == (None, None)


def test_one_cluster_no_spread_and_draws_without_a_value_have_no_interval_by_drawing() -> None:
    for data in (clusters([0.5, 0.5, 0.5]), clusters([0.5]), np.zeros((0, 2))):
        assert bootstrap(data, mean, seed=0) == (None, None)
    # A quarter of the draws takes the empty cluster twice.
    assert bootstrap(ONE_EMPTY, seen, seed=0) == (None, None)


@pytest.mark.parametrize("n", [4, 6])
def test_few_clusters_are_covered_by_drawing_too(n: int) -> None:
    rng = np.random.default_rng(n)
    ends = [bootstrap(clusters(list(rng.random(n))), mean, seed=at) for at in range(200)]
    # Percentiles that are not expanded hold .5 in 166 of these 200, of either number.
    assert sum(low <= 0.5 <= high for low, high in ends if low is not None and high is not None) >= 174


def test_the_level_for_few_clusters_is_hesterbergs() -> None:
    # Phi(-t sqrt(n / (n - 1))) with t(8, .975) = 2.306: 2.446 standard deviations.
    assert expanded(9) == pytest.approx(1 - 2 * stats.norm.cdf(-2.306 * (9 / 8) ** 0.5), abs=1e-5)
    assert expanded(9) == pytest.approx(0.9856, abs=1e-4)
    assert expanded(200) == pytest.approx(0.95195, abs=1e-4)
    assert expanded(10**6) == pytest.approx(0.95, abs=1e-5)
    assert expanded(2) == 0.999
    assert expanded(1) == expanded(0) == 0.95
