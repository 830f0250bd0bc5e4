"""G studies against published tables, sums of squares taken another way, and components that were planted."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lotbench.metrics.generalizability import Study, mean_squares, study

SHROUT = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)
"""Six targets by four judges (Shrout and Fleiss 1979, Table 2)."""


def runs(table: Any) -> list[dict[str, list[float]]]:
    """[models, samples] or [models, samples, repeats] as scores by sample."""
    cells = np.asarray(table, dtype=float)
    cells = cells if cells.ndim == 3 else cells[..., None]
    return [{f"s{at}": list(cell) for at, cell in enumerate(row)} for row in cells]


def studied(table: Any) -> Study:
    found = study(runs(table))
    assert found is not None
    return found


def planted(rng: np.random.Generator, models: int, samples: int, repeats: int, *sds: float) -> np.ndarray:
    """Scores with these standard deviations of model, sample, interaction and repeat."""
    model, sample, both, repeat = sds
    return (
        rng.normal(0, model, (models, 1, 1))
        + rng.normal(0, sample, (1, samples, 1))
        + rng.normal(0, both, (models, samples, 1))
        + rng.normal(0, repeat, (models, samples, repeats))
    )


def test_a_published_table_has_the_published_coefficients_and_intervals() -> None:
    # ICC(3,4) .91 and ICC(2,4) .62 of Shrout and Fleiss are E rho^2 and Phi; the intervals are those that R's
    # psych::ICC prints for these data.
    found = studied(SHROUT)
    assert found.relative == pytest.approx(0.909, abs=1e-3) and found.absolute == pytest.approx(
        0.620, abs=1e-3
    )
    assert found.relative_interval == pytest.approx((0.676, 0.986), abs=1e-3)
    assert found.absolute_interval == pytest.approx((0.071, 0.928), abs=2e-3)
    assert mean_squares(SHROUT) == pytest.approx((11.24, 32.49, 1.02), abs=0.01)


def test_components_agree_with_the_sums_of_squares_of_all_walks() -> None:
    """The textbook's way: totals of the three-way table, nothing of cell means."""
    x = planted(np.random.default_rng(1), 5, 7, 3, 1.0, 0.7, 0.5, 0.8)
    m, s, r = x.shape
    correction = x.sum() ** 2 / x.size
    of_models = (x.sum(axis=(1, 2)) ** 2).sum() / (s * r) - correction
    of_samples = (x.sum(axis=(0, 2)) ** 2).sum() / (m * r) - correction
    of_cells = (x.sum(axis=2) ** 2).sum() / r - correction
    of_both = of_cells - of_models - of_samples
    of_error = (x**2).sum() - correction - of_cells
    ms_m, ms_s = of_models / (m - 1), of_samples / (s - 1)
    ms_ms, ms_e = of_both / ((m - 1) * (s - 1)), of_error / (m * s * (r - 1))
    found = studied(x).components
    assert found.repeat == pytest.approx(ms_e)
    assert found.interaction == pytest.approx((ms_ms - ms_e) / r)
    assert found.sample == pytest.approx((ms_s - ms_ms) / (m * r))
    assert found.model == pytest.approx((ms_m - ms_ms) / (s * r))
    assert studied(x).relative == pytest.approx(1 - ms_ms / ms_m)


def test_the_forecast_of_the_study_itself_is_its_coefficient_and_more_of_all_is_better() -> None:
    found = studied(planted(np.random.default_rng(2), 6, 40, 3, 0.3, 0.7, 0.5, 0.8))
    assert found.forecast(40, 3) == pytest.approx(found.relative)
    assert found.forecast(40, 1) < found.forecast(40, 3) < found.forecast(80, 3) < 1
    for repeats in (1, 3):
        needed = found.needed(0.9, repeats)
        assert needed is not None and found.forecast(needed, repeats) >= 0.9 > found.forecast(
            needed - 1, repeats
        )


def test_with_one_repeat_the_repeats_part_is_not_known() -> None:
    parts = studied(SHROUT).components
    assert parts.repeat is None and parts.interaction == pytest.approx(1.02, abs=0.01)


def test_unequal_repeats_and_samples_that_one_model_lacks() -> None:
    scores = runs(planted(np.random.default_rng(3), 4, 30, 4, 0.5, 0.7, 0.5, 0.8))
    scores[0]["s1"], scores[1]["s0"] = scores[0]["s1"][:2], []
    del scores[3]["s2"]
    found = study(scores)
    assert found is not None and found.samples == 28
    assert found.repeats == pytest.approx(1 / ((111 / 4 + 1 / 2) / 112))


def test_what_cannot_be_studied_is_none() -> None:
    assert study([]) is None
    assert study(runs([[1.0, 0.5]])) is None and study(runs([[1.0], [0.0]])) is None
    assert study(runs(np.ones((4, 6, 2)))) is None
    assert study([{"a": [1.0]}, {"b": [1.0]}]) is None


def test_models_that_do_not_differ_have_no_reliability_and_no_plan() -> None:
    rng, found = np.random.default_rng(5), []
    while len(found) < 20:
        made = studied(planted(rng, 5, 20, 2, 0.0, 0.7, 0.5, 0.8))
        if not made.components.model:
            found.append(made)
    assert all(one.relative == 0 and one.needed(0.8, 3) is None and one.forecast(9, 9) == 0 for one in found)


def test_the_interval_of_the_relative_coefficient_holds_the_truth() -> None:
    sds, (m, s, r) = (0.2, 0.7, 0.5, 0.8), (5, 40, 3)
    error = (sds[2] ** 2 + sds[3] ** 2 / r) / s
    truth = sds[0] ** 2 / (sds[0] ** 2 + error)
    rng, held = np.random.default_rng(7), 0
    for _ in range(300):
        low, high = studied(planted(rng, m, s, r, *sds)).relative_interval
        assert low is not None and high is not None
        held += low <= truth <= high
    # Exact for normal scores: fewer than 275 or more than 296 of 300 have a chance of about 1 in 100.
    assert 275 <= held <= 296


@pytest.mark.slow
def test_planted_components_are_found_again_within_their_error() -> None:
    sds, rng = (0.3, 0.7, 0.5, 0.8), np.random.default_rng(11)
    found = [studied(planted(rng, 6, 50, 3, *sds)).components for _ in range(300)]
    table = np.array([[one.model, one.sample, one.interaction, one.repeat] for one in found], dtype=float)
    errors = table.std(axis=0, ddof=1) / math.sqrt(len(found))
    away = (table.mean(axis=0) - np.square(sds)) / errors
    assert (np.abs(away) < float(stats.norm.ppf(1 - 0.001 / 8))).all(), away
