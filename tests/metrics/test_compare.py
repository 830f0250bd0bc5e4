"""Models compared: every statistic against another's code, and against what can be counted by hand."""

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from lotbench.metrics import compare
from lotbench.metrics.compare import difference, holm, smallest_p, ties
from lotbench.metrics.correlation import coefficient
from lotbench.metrics.intervals import ratio
from lotbench.metrics.people import thirds
from lotbench.metrics.primary_metric import PrimaryMetric, of_sums
from lotbench.types import Metric

SCORES = {f"s{at:02}": value for at, value in enumerate(np.random.default_rng(1).uniform(size=60))}
BETTER = {name: value + 0.05 + 0.1 * math.sin(at) for at, (name, value) in enumerate(SCORES.items())}


@given(st.lists(st.integers(-4, 6), min_size=2, max_size=20))
def test_a_difference_is_that_of_scipy(values: list[int]) -> None:
    one = {f"{at:02}": float(value) for at, value in enumerate(values)}
    found = difference(one, dict.fromkeys(one, 0.0))
    gaps = np.array(values, dtype=float)
    exact = (
        stats.permutation_test((gaps,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
        if len(gaps) < 8
        else 2 / 2 ** len(gaps)
    )
    if gaps.std() == 0:
        assert (found.low, found.high, found.sd) == (None, None, None)
        assert found.p == pytest.approx(exact if gaps.any() else 1.0, abs=2e-4)
        return
    theirs = stats.ttest_1samp(gaps, 0)
    ends = theirs.confidence_interval()
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    assert found.p == pytest.approx(theirs.pvalue if len(gaps) >= 8 else max(theirs.pvalue, exact))


def test_below_eight_samples_no_p_is_smaller_than_the_exact_test_can_have() -> None:
    for n in range(2, 8):
        found = difference({str(at): 1 + at / 1e6 for at in range(n)}, dict.fromkeys(map(str, range(n)), 0.0))
        assert found.p == pytest.approx(smallest_p(n)) == pytest.approx(2 / 2**n)
    assert smallest_p(8) == 0


def test_thirty_models_that_differ_are_told_apart_in_every_pair() -> None:
    rng = np.random.default_rng(5)
    models = [{str(s): at + rng.normal(0, 0.3) for s in range(60)} for at in range(30)]
    ps = [difference(one, other).p or 0.0 for one, other in itertools.combinations(models, 2)]
    assert max(holm(ps)) < 0.05


@pytest.mark.parametrize("n", [1, 2, 5, 21])
def test_holm_agrees_with_statsmodels(n: int) -> None:
    ps = [*np.random.default_rng(n).uniform(0, 0.2, n), 0.01, 0.01, 1.0]
    assert holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))


def test_the_level_is_the_one_at_which_holm_tests() -> None:
    ps = [0.04, 0.001, 0.5, 0.012, 0.9]
    found = compare.levels(ps)
    # The first two pass; what fails is tested at the level of the third.
    assert found == pytest.approx([0.05 / 3, 0.05 / 5, 0.05 / 3, 0.05 / 4, 0.05 / 3])
    assert [p < level for p, level in zip(ps, found, strict=True)] == [p < 0.05 for p in holm(ps)]
    assert compare.levels([0.3]) == [0.05] and compare.levels([]) == []
    assert compare.levels([0.001, 0.001]) == pytest.approx([0.025, 0.05])


def test_a_difference_is_paired_by_sample() -> None:
    partly = {name: value for name, value in BETTER.items() if name < "s50"} | {"other": 9.0}
    found = difference(partly, SCORES)
    gaps = np.array([BETTER[name] - SCORES[name] for name in sorted(SCORES) if name < "s50"])
    assert found.n == 50 and found.mean == pytest.approx(gaps.mean())
    assert found.sd == pytest.approx(gaps.std(ddof=1))
    back = difference(SCORES, partly)
    assert back.mean == pytest.approx(-gaps.mean()) and back.p == found.p


@pytest.mark.parametrize("sizes", [[3] * 20, [30] + [1] * 19])
def test_units_of_unequal_size_leave_fewer_degrees_of_freedom(sizes: list[int]) -> None:
    rng = np.random.default_rng(4)

    def run(mean: float) -> PrimaryMetric:
        records = {f"p{at:02}": np.array([rng.normal(mean) * k, k]) for at, k in enumerate(sizes)}
        return PrimaryMetric(
            "m",
            records,
            lambda some: Metric(None),
            lambda some: of_sums(np.array(some), ratio),
            weight=lambda one: float(one[1]),
        )

    found = compare.of_primary_metrics(run(0.5), run(0.0))
    assert found.mean is not None and found.sd is not None and found.low is not None
    error, freedom = found.sd / math.sqrt(20), sum(sizes) ** 2 / sum(k**2 for k in sizes) - 1
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.mean) / error, freedom))
    assert found.mean - found.low == pytest.approx(stats.t.ppf(0.975, freedom) * error)


def test_a_difference_without_samples_or_without_spread() -> None:
    assert difference({"a": 1.0}, {"b": 1.0}).mean is None
    same = difference(SCORES, SCORES)
    assert (same.mean, same.p, same.sd) == (0.0, 1.0, None)
    assert (same.low, same.high) == (None, None)
    single = difference({"a": 1.0}, {"a": 0.0})
    assert (single.mean, single.p, single.sd) == (1.0, None, None)


def test_letters_are_shared_by_what_was_not_told_apart() -> None:
    assert ties("abc", {("a", "c")}) == {"a": "a", "b": "ab", "c": "b"}
    assert ties("abc", set()) == {"a": "a", "b": "a", "c": "a"}
    assert ties("abc", {("b", "a"), ("a", "c"), ("c", "b")}) == {"a": "a", "b": "b", "c": "c"}
    # Told apart from a neighbour only: no group may span it.
    assert ties("abc", {("a", "b")}) == {"a": "a", "b": "b", "c": "b"}
    many = [str(at) for at in range(30)]
    assert ties(many, set(itertools.combinations(many, 2)))["27"] == "ab"


@given(st.integers(2, 7), st.data())
def test_no_letter_is_shared_by_two_that_were_told_apart(n: int, data: st.DataObject) -> None:
    names = [str(at) for at in range(n)]
    apart = data.draw(st.sets(st.sampled_from(list(itertools.combinations(names, 2)))))
    letters = ties(names, apart)
    assert all(letters.values())
    assert not any(set(letters[one]) & set(letters[other]) for one, other in apart)


def test_correlations_agree_with_scipy_and_with_drawing_again() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    found = coefficient("pearson", list(x), list(y))
    theirs = stats.pearsonr(x, y)
    ends = theirs.confidence_interval()
    assert (found.value, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))
    ranked = coefficient("spearman", list(x), list(y))
    assert (ranked.value, ranked.p) == pytest.approx(tuple(stats.spearmanr(x, y)))
    draws = [stats.spearmanr(x[at], y[at])[0] for at in (rng.integers(0, 40, 40) for _ in range(2000))]
    assert (ranked.low, ranked.high) == pytest.approx(tuple(np.quantile(draws, (0.025, 0.975))), abs=0.08)


@given(st.lists(st.integers(0, 3), min_size=3, max_size=5), st.randoms(use_true_random=False))
def test_the_p_of_few_ranks_is_counted_out_over_all_orders(x: list[int], rng: random.Random) -> None:
    y = [rng.randint(0, 3) for _ in x]
    measures = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}
    for method, measure in measures.items():
        found = coefficient(method, x, y)  # type: ignore[arg-type]
        if found.value is None:
            continue
        ways = [abs(measure(order, y).statistic) for order in itertools.permutations(x)]
        expected = np.mean([way >= abs(found.value) - 1e-9 for way in ways])
        assert found.p == pytest.approx(expected) and found.value == pytest.approx(measure(x, y).statistic)


def test_correlations_of_too_little() -> None:
    assert coefficient("pearson", [1, 2], [3, 4]).why == "2 pairs are too few"
    assert coefficient("spearman", [1, 1, 1], [1, 2, 3]).value is None
    three = coefficient("pearson", [1, 2, 3], [1, 2, 4])
    assert three.value is not None and three.low is None
    certain = coefficient("spearman", [1, 2, 3, 4], [1, 2, 3, 4])
    assert certain.value == pytest.approx(1) and certain.low is None
    with pytest.raises(ValueError, match="3 values"):
        coefficient("pearson", [1, 2, 3], [1, 2])


def test_thirds_of_people() -> None:
    people = {str(at): float(at) for at in range(8)}
    assert {name: (one.value, one.n) for name, one in thirds(people).items()} == {
        "high": (6.5, 2),
        "medium": (3.5, 4),
        "low": (0.5, 2),
    }
    assert thirds({"a": 1.0, "b": 2.0})["low"].why == "thirds need 3 people, there are 2"
