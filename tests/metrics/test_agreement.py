"""Agreement with labels: against scikit-learn, at the edges, and how often the intervals hold the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import accuracy_score, cohen_kappa_score, confusion_matrix

from lotbench.metrics.agreement import Agreement, Field, Rate, Stratum, agreement, flips, kappa, rate, wilson


def planted(seed: int, fpr: float, fnr: float, samples: int = 106, alike: float = 0.0) -> Agreement:
    """A judge of these error rates on 5 negatives and 3 positives a sample.

    `alike` is the correlation of errors of one kind on one sample.
    """
    rng = np.random.default_rng(seed)

    def rates(mean: float) -> np.ndarray:
        if not alike:
            return np.full(samples, mean)
        return rng.beta(mean * (1 - alike) / alike, (1 - mean) * (1 - alike) / alike, samples)

    labels = np.tile([False] * 5 + [True] * 3, (samples, 1))
    wrong = rng.random(labels.shape) < np.where(labels, rates(fnr)[:, None], rates(fpr)[:, None])
    names = [f"s{index}" for index in range(samples) for _ in range(8)]
    return agreement(labels.ravel().tolist(), (labels ^ wrong).ravel().tolist(), names, seed)


def true_kappa(fpr: float, fnr: float, positive: float = 3 / 8) -> float:
    agreed = 1 - (1 - positive) * fpr - positive * fnr
    yes = (1 - positive) * fpr + positive * (1 - fnr)
    chance = yes * positive + (1 - yes) * (1 - positive)
    return (agreed - chance) / (1 - chance)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_the_numbers_are_scikit_learns(rows: list[tuple[bool, bool]]) -> None:
    labels, verdicts = [label for label, _ in rows], [verdict for _, verdict in rows]
    found = agreement(labels, verdicts, [str(index) for index in range(len(rows))])
    tn, fp, fn, tp = confusion_matrix(labels, verdicts, labels=[False, True]).ravel()
    assert found.accuracy.value == pytest.approx(accuracy_score(labels, verdicts))
    assert (found.fpr.hits, found.fpr.n, found.fnr.hits, found.fnr.n) == (fp, tn + fp, fn, tp + fn)
    if len({*labels, *verdicts}) == 1:
        assert found.kappa.value is None
    else:
        assert found.kappa.value == pytest.approx(cohen_kappa_score(labels, verdicts))


@given(st.integers(0, 40), st.integers(1, 40))
def test_wilson_is_scipys_for_independent_trials(hits: int, misses: int) -> None:
    known = stats.binomtest(hits, hits + misses).proportion_ci(0.95, method="wilson")
    assert wilson(hits / (hits + misses), hits + misses) == pytest.approx((known.low, known.high))


def test_trials_that_are_alike_are_worth_fewer() -> None:
    alone = rate([(index < 40, str(index)) for index in range(400)])
    alike = rate([(index < 40, str(index // 8)) for index in range(400)])
    assert alone.value == alike.value == 0.1
    assert None not in (alone.low, alone.high, alike.low, alike.high)
    assert alike.high - alike.low > 2.5 * (alone.high - alone.low)  # type: ignore[operator]
    assert rate([]) == Rate(None, None, None, 0, 0)
    assert rate([(False, "a")] * 20) == Rate(0.0, None, None, 0, 20)


@pytest.mark.parametrize("clusters", [3, 6])
def test_the_interval_of_a_rate_holds_the_truth_where_few_clusters_err_together(clusters: int) -> None:
    rng, held = np.random.default_rng(clusters), 0
    for _ in range(300):
        shares = rng.beta(0.75, 0.75, clusters)
        found = rate([(bool(hit), str(at)) for at in range(clusters) for hit in rng.random(10) < shares[at]])
        assert found.low is not None and found.high is not None
        held += found.low <= 0.5 <= found.high
    # With the normal's quantile .86 and .89.
    assert held / 300 > 0.91


def test_verdicts_that_chance_alone_would_give_have_no_kappa() -> None:
    assert kappa([True] * 5, [True] * 5, list("abcde")) == Rate(None, None, None, 5, 5)
    assert kappa([], [], []) == Rate(None, None, None, 0, 0)
    assert kappa([True, False], [False, True], ["a", "b"]).value == -1.0


@pytest.mark.slow
@pytest.mark.parametrize(("fpr", "fnr", "alike"), [(0.03, 0.15, 0.0), (0.1, 0.2, 0.0), (0.1, 0.2, 0.15)])
def test_95_percent_intervals_hold_the_truth_in_93_to_97(fpr: float, fnr: float, alike: float) -> None:
    truth = {"accuracy": 1 - (5 * fpr + 3 * fnr) / 8, "fpr": fpr, "fnr": fnr, "kappa": true_kappa(fpr, fnr)}
    held = dict.fromkeys(truth, 0)
    for seed in range(500):
        found = planted(seed, fpr, fnr, alike=alike)
        for name, value in truth.items():
            one: Rate = getattr(found, name)
            assert one.low is not None and one.high is not None
            held[name] += one.low <= value <= one.high
    assert all(0.93 <= count / 500 <= 0.97 for count in held.values()), held


def test_field_rates_are_weighted_back_by_what_each_verdict_is_of_the_run() -> None:
    # 60 accepted of which half are right, 940 refused of which 2 in 100 are: 48.8 right in all.
    field = Field((Stratum(True, 60, 20, 10), Stratum(False, 940, 100, 2)))
    fpr, fnr = field.point()
    assert fpr == pytest.approx(30 / (30 + 940 * 0.98))
    assert fnr == pytest.approx(18.8 / 48.8)
    drawn = field.draw(np.random.default_rng(1), 20_000)
    assert drawn[0].mean() == pytest.approx(fpr, abs=0.003)
    assert np.quantile(drawn[1], 0.05) < fnr < np.quantile(drawn[1], 0.95)


def test_a_verdict_that_a_second_judge_overturned_is_a_stratum_of_its_own() -> None:
    parts = (Stratum(True, 10, 10, 9), Stratum(False, 10, 10, 5), Stratum(False, 80, 40, 0))
    assert Field(parts).point() == pytest.approx((1 / (1 + 5 + 80), 5 / 14))
    assert Field((*parts, Stratum(False, 0, 0, 0))).point() == Field(parts).point()


def test_flips_are_pairs_of_verdicts_on_one_row_that_differ() -> None:
    assert flips([[True, True], [True, False], [False, False]]) == (1, 3)
    assert flips([[True, False, True]]) == (2, 3)
    assert flips([[True], []]) == (0, 0)
