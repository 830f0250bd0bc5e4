"""Correlations, severities, fronts, and agreement of ratings, each against a value worked by hand or by scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from lotbench.metrics.agreement import icc
from lotbench.metrics.correlation import correlation, spearman
from lotbench.metrics.effects import severities
from lotbench.metrics.pareto import front
from lotbench.report.comparison import correlation_section
from lotbench.report.leaderboard import Entry

NORMAL = [4.1, 5.0, 5.2, 5.9, 6.1, 6.4, 7.0, 7.9]
SKEWED = [1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 9.0, 70.0]


def test_pearson_where_both_are_normal_else_spearman() -> None:
    other = [2.0, 2.9, 2.6, 3.9, 3.5, 4.4, 4.2, 5.0]
    found = correlation(NORMAL, other)
    assert (found.method, found.n) == ("pearson", 8)
    assert found.value == pytest.approx(stats.pearsonr(NORMAL, other).statistic)
    ranked = correlation(NORMAL, SKEWED)
    assert (ranked.method, ranked.value) == ("spearman", pytest.approx(1))


def test_what_has_no_correlation() -> None:
    assert correlation([1, 2], [1, 2]).why == "2 pairs are too few"
    assert correlation([1, 1, 1], [1, 2, 3]).why == "one of the two never changes"
    with pytest.raises(ValueError, match="against"):
        correlation([1], [1, 2])


def test_spearman_with_an_interval_over_clusters() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    found = spearman(list(x), list(y), [str(n // 2) for n in range(60)])
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.low is not None and found.high is not None and found.low < found.value < found.high
    assert spearman([1, 1, 1], [1, 2, 3], ["a", "b", "c"]).value is None


def test_severities_are_told_from_what_was_judged() -> None:
    worth, effects = np.random.default_rng(0).normal(size=40), np.array([-1.5, -0.5, 0.25, 1.75])
    items = [n for n in range(40) for _ in range(2)]
    raters = [(n + place) % 4 for n in range(40) for place in range(2)]
    scores = [worth[n] + effects[r] for n, r in zip(items, raters, strict=True)]
    assert severities(items, raters, scores) == pytest.approx(effects)
    assert severities([0, 0, 1, 1], [0, 1, 2, 3], [1, 2, 3, 4]) is None
    assert severities([0], [0], [1]) is None and severities([], [], []) is None


def test_the_front_is_what_nothing_beats() -> None:
    points = [(1.0, 5.0), (3.0, 3.0), (5.0, 1.0), (2.0, 3.0), (3.0, 2.0), (5.0, 1.0)]
    assert [points[i] for i in front(points)] == [(5, 1), (5, 1), (3, 3), (1, 5)]
    assert front([]) == ()


def test_icc_of_shrout_and_fleiss() -> None:
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert icc(np.array(table, dtype=float)) == pytest.approx(0.29, abs=0.005)
    assert icc(np.array([[1.0, 1.0], [2.0, 2.0]])) == 1
    assert math.isnan(icc(np.array([[1.0, 2.0]]))) and math.isnan(icc(np.ones((3, 2))))


def run(model: str, value: float | None) -> Entry:
    return Entry(f"run-{model}", model, (), "b", {}, 0, {}, scores={"originality": {"value": value}})


def test_a_table_of_ones_own_stands_beside_the_metrics() -> None:
    runs = [run(f"openrouter/maker/M{n}", float(n)) for n in range(4)] + [
        run("other", 3.0),
        run("m9@http://h/v1", None),
    ]
    table = {"general": {f"m{n}": 2.0 * n for n in range(10)}, "odd": {f"m{n}": 1.0 for n in range(10)}}
    section = correlation_section(runs, table)
    assert section.tables[0].columns == ("column", "originality")
    assert section.tables[0].rows[0] == ("general", "pearson 1.000 (p = 0, n = 4)")
    assert section.tables[0].rows[1] == ("odd", "none: one of the two never changes")
    assert section.notes[1] == "Not in the table: run-other."
