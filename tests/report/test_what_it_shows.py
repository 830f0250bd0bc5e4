"""What a run can show: against statsmodels' own answers, by simulation, and where nothing is known."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from lotbench.metrics.primary_metric import PrimaryMetric, mean_score, of_sums
from lotbench.report.what_it_shows import detectable, section
from lotbench.types import Metric


@pytest.mark.parametrize(("n", "level"), [(5, 0.05), (20, 0.05), (108, 0.05 / 3), (400, 0.05 / 45)])
def test_the_detectable_effect_has_the_power_that_is_said(n: int, level: float) -> None:
    assert float(TTestPower().power(detectable(n, level), n, level)) == pytest.approx(0.8, abs=1e-4)


def test_the_section_says_the_gap_and_what_a_gap_of_five_percent_takes() -> None:
    values = {f"s{at}": value for at, value in enumerate(np.random.default_rng(1).uniform(0, 1, 106))}
    found = section(mean_score(values))
    sd = float(np.std(list(values.values()), ddof=1)) * 2**0.5
    takes: Any = found.numbers["samples_needed"]
    power = TTestPower()
    assert found.numbers["detectable"] == pytest.approx(
        power.solve_power(nobs=106, alpha=0.05, power=0.8) * sd, rel=1e-4
    )
    assert power.power(0.05 / sd, takes, 0.05) >= 0.8 > power.power(0.05 / sd, takes - 1, 0.05)
    assert f"A gap of 0.05 takes {takes:,} samples." in " ".join(found.notes).replace("0.0500", "0.05")


def test_a_gap_is_a_share_of_the_range_of_scores() -> None:
    values = {f"s{at}": float(at % 7) for at in range(50)}
    assert section(replace(mean_score(values), ends=(1.0, 10.0))).numbers["gap"] == pytest.approx(0.45)


def test_of_a_metric_that_is_no_mean_a_sample_adds_its_pseudo_value() -> None:
    """Of a mean pseudo-values are the values; of a ratio of sums they are what the delta method says."""
    rng = np.random.default_rng(2)
    counts = np.stack([rng.uniform(1, 2, 200), rng.uniform(3, 4, 200)], axis=1)
    names = [f"s{at}" for at in range(200)]

    def made(table: np.ndarray[Any, Any]) -> PrimaryMetric:
        records = dict(zip(names, table, strict=True))
        return PrimaryMetric(
            "ratio",
            records,
            lambda some: Metric(0.5),
            lambda some: of_sums(np.array(some), lambda sums: sums[..., 0] / sums[..., 1]),
        )

    ratio = counts[:, 0].sum() / counts[:, 1].sum()
    residual = (counts[:, 0] - ratio * counts[:, 1]) / counts[:, 1].mean()
    assert section(made(counts)).numbers["sd"] == pytest.approx(residual.std(ddof=1), rel=0.01)
    plain = np.stack([counts[:, 0], np.ones(200)], axis=1)
    assert section(made(plain)).numbers["sd"] == pytest.approx(counts[:, 0].std(ddof=1))


def test_two_runs_with_that_gap_are_told_apart_in_four_of_five() -> None:
    rng, n = np.random.default_rng(3), 60
    sample = {f"s{at}": float(value) for at, value in enumerate(rng.normal(0.5, 0.2, 5000))}
    effect = detectable(n) * float(np.std(list(sample.values()))) * 2**0.5
    gaps = rng.normal(effect, 0.2 * 2**0.5, (4000, n))
    t = gaps.mean(axis=1) / (gaps.std(axis=1, ddof=1) / n**0.5)
    assert np.mean(t > 2.001) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("values", [{}, {"a": 0.5}, {"a": 0.5, "b": 0.5}])
def test_where_nothing_varies_nothing_is_said(values: dict[str, float]) -> None:
    found = section(mean_score(values))
    assert found.notes[0].startswith("Not known: ") and "detectable" not in found.numbers
