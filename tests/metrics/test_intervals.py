"""Intervals: known values, coverage of the bootstrap, and what they say of too little data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lotbench.metrics import intervals
from lotbench.metrics.intervals import Floats, bootstrap, expanded, share


def mean(sums: Floats) -> Floats:
    """Column 0 holds totals, column 1 how many they are of."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def clusters(values: list[float]) -> Floats:
    return np.array([[value, 1] for value in values], dtype=float)


def test_one_seed_gives_one_interval() -> None:
    data = clusters([0.1, 0.4, 0.3, 0.9, 0.5])
    assert bootstrap(data, mean, seed=3) == bootstrap(data, mean, seed=3)
    assert bootstrap(data, mean, seed=3) != bootstrap(data, mean, seed=-4)


def test_drawing_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = clusters([0.1, 0.4, 0.3, 0.9, 0.5])
    whole = bootstrap(data, mean, seed=0)
    monkeypatch.setattr(intervals, "_CELLS", 35)
    assert bootstrap(data, mean, seed=0) == whole


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_interval_of_a_mean_stays_inside_the_data(values: list[float]) -> None:
    low, high = bootstrap(clusters(values), mean, seed=1, draws=200)
    assert low is not None and high is not None
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    ends = [bootstrap(clusters(list(rng.random(40))), mean, seed=i, draws=400) for i in range(200)]
    covered = sum(low < 0.5 < high for low, high in ends if low is not None and high is not None)
    assert 180 <= covered <= 198


def test_walks_of_a_sample_are_drawn_together() -> None:
    # 4 samples of 25 equal walks each are 4 observations, not 100.
    alike = np.array([[25, 25], [25, 25], [0, 25], [0, 25]], dtype=float)
    apart = clusters([1.0] * 50 + [0.0] * 50)
    assert bootstrap(alike, mean, seed=0) == (0.0, 1.0)
    low, high = bootstrap(apart, mean, seed=0)
    assert low is not None and high is not None and 0.3 < low < high < 0.7


def test_one_cluster_has_no_interval() -> None:
    assert bootstrap(clusters([0.5]), mean, seed=0) == (None, None)
    assert bootstrap(np.zeros((0, 2)), mean, seed=0) == (None, None)


def test_draws_without_a_value_open_the_interval() -> None:
    # The mean of what was seen does not exist in the quarter of draws that takes the empty cluster twice.
    data = np.array([[0.5, 1.0], [0.0, 0.0]])

    def seen(sums: Floats) -> Floats:
        missing = np.full(len(sums), np.nan)
        return np.asarray(np.divide(sums[..., 0], sums[..., 1], out=missing, where=sums[..., 1] > 0))

    assert bootstrap(data, seen, seed=0) == (None, None)
    assert bootstrap(data, seen, seed=0, level=0.2) == (0.5, 0.5)


@pytest.mark.parametrize(("draws", "level"), [(0, 0.95), (10, 0.0), (10, 1.0)])
def test_no_draws_and_no_level_are_refused(draws: int, level: float) -> None:
    with pytest.raises(ValueError, match="cannot draw"):
        bootstrap(clusters([1.0, 0.0]), mean, seed=0, draws=draws, level=level)


def test_shares_of_known_value() -> None:
    # Wilson for 0 of n ends at z^2 / (n + z^2); for 5 of 10 it is .5 -+ z / (2 sqrt(10 + z^2)).
    z = 1.959964
    low, high = share(0, 10)
    assert low == pytest.approx(0, abs=1e-12) and high == pytest.approx(z**2 / (10 + z**2), abs=1e-6)
    half = z / (2 * (10 + z**2) ** 0.5)
    assert share(5, 10) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)
    assert share(0, 0) == (None, None)


@given(st.integers(0, 50), st.integers(0, 50))
def test_jeffreys_holds_the_share_and_mirrors(hits: int, misses: int) -> None:
    n = hits + misses
    low, high = share(hits, n, "jeffreys")
    if n == 0:
        assert (low, high) == (None, None)
        return
    assert low is not None and high is not None
    assert low <= hits / n <= high
    assert share(misses, n, "jeffreys") == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert (low == 0) == (hits == 0) and (high == 1) == (misses == 0)


def test_more_hits_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 hits in 2"):
        share(3, 2)


def test_the_level_for_few_clusters_is_hesterbergs() -> None:
    # Phi(-t sqrt(n / (n - 1))) with t(8, .975) = 2.306: 2.446 standard deviations.
    assert expanded(9) == pytest.approx(1 - 2 * stats.norm.cdf(-2.306 * (9 / 8) ** 0.5), abs=1e-5)
    assert expanded(9) == pytest.approx(0.9856, abs=1e-4)
    assert expanded(200) == pytest.approx(0.95195, abs=1e-4)
    assert expanded(10**6) == pytest.approx(0.95, abs=1e-5)
    assert expanded(2) == 0.999
    assert expanded(1) == expanded(0) == 0.95
