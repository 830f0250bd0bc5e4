"""Variance taken apart: planted components come back, and what they predict is what more repeats bring."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lotbench.benchmarks.lotbench.headline import headline
from lotbench.benchmarks.lotbench.score import metrics
from lotbench.benchmarks.rinobench import score as rinobench
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.edge.files.run_folder import Folder
from lotbench.edge.files.traces import Traces
from lotbench.metrics.headline import of_sums
from lotbench.metrics.variance import components, judge_variance, of_difference, of_walks, pseudo_values
from lotbench.types import Score, Trace
from tests.games import Rules, broken, unsolved, won


def cells(values: np.ndarray) -> dict[str, list[float]]:
    return {f"s{at:04}": [float(value) for value in row] for at, row in enumerate(values)}


def walks(rng: np.random.Generator, n: int, repeats: int, sample: float, repeat: float) -> np.ndarray:
    return rng.normal(0.4, sample, (n, 1)) + rng.normal(0, repeat, (n, repeats))


def test_planted_components_come_back() -> None:
    found = components(cells(walks(np.random.default_rng(1), 4000, 3, 0.2, 0.3)))
    assert found is not None and found.split and (found.samples, found.repeats) == (4000, 3)
    assert found.sample == pytest.approx(0.04, rel=0.1) and found.repeat == pytest.approx(0.09, rel=0.05)


def test_they_are_those_of_the_analysis_of_variance() -> None:
    values = walks(np.random.default_rng(2), 40, 3, 0.2, 0.3)
    found = components(cells(values))
    assert found is not None
    assert 1 + 3 * found.sample / found.repeat == pytest.approx(stats.f_oneway(*values).statistic)
    assert found.error() == pytest.approx(stats.sem(values.mean(axis=1)))
    assert found.error(repeats=3_000_000) == pytest.approx((found.sample / 40) ** 0.5, abs=1e-4)
    assert found.error(samples=160) == pytest.approx(found.error() / 2)


def test_repeats_that_differ_more_than_samples_leave_samples_nothing() -> None:
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.9]])
    found = components(cells(values))
    assert found is not None and found.sample == 0
    assert found.error() == pytest.approx(stats.sem(values.mean(axis=1)))


def test_single_repeats_cannot_be_told_from_samples() -> None:
    found = components({"a": [1.0], "b": [0.0], "c": [0.5], "d": []})
    assert found is not None and not found.split and found.repeat == 0 and found.samples == 3
    assert components({"a": [1.0, 0.0]}) is None
    uneven = components({"a": [1.0, 0.0], "b": [0.5], "c": [0.2]})
    assert uneven is not None and uneven.split and uneven.repeats == pytest.approx(3 / 2.5)


def test_what_models_have_in_common_on_a_sample_is_in_no_difference() -> None:
    rng = np.random.default_rng(3)
    n, own, repeat = 3000, 0.1, 0.3
    shared = rng.normal(0, 0.5, (n, 1))
    runs = [shared + walks(rng, n, 3, own, repeat) for _ in range(2)]
    found = of_difference(*(cells(run) for run in runs))
    assert found is not None
    assert found.sample == pytest.approx(2 * own**2, abs=0.006)
    assert found.repeat == pytest.approx(2 * repeat**2, rel=0.05)
    more = [shared + walks(rng, n, 10, own, repeat).mean(axis=1, keepdims=True) for _ in range(2)]
    assert found.error(repeats=10) == pytest.approx(float(stats.sem(more[0] - more[1])[0]), rel=0.1)


def test_runs_of_unlike_repeats_have_a_difference_too() -> None:
    rng = np.random.default_rng(4)
    one, other = cells(walks(rng, 500, 2, 0.2, 0.3)), cells(walks(rng, 400, 6, 0.2, 0.3))
    found = of_difference(one, other)
    assert found is not None and found.samples == 400
    means = [[np.mean(run[name]) for name in other] for run in (one, other)]
    assert found.error() == pytest.approx(stats.sem(np.array(means[0]) - np.array(means[1])))


def test_a_whole_games_walks_add_what_they_are_worth() -> None:
    traces = [won("a", 1, 1), won("a", 2, 3), unsolved("b", 1), won("b", 2, 15), won("c", 1, 2)]
    found = of_walks(headline, traces, Rules())
    worth = {"a": [1.0, np.exp(-0.4)], "b": [0.0, np.exp(-2.8)], "c": [np.exp(-0.2)]}
    assert found.keys() == worth.keys()
    for name, values in worth.items():
        assert found[name] == pytest.approx(values)


def test_games_that_broke_off_are_in_it_as_the_score_counts_them() -> None:
    rng = np.random.default_rng(5)
    traces = [
        broken(f"s{at:02}", k, int(t)) if rng.random() < 0.2 else won(f"s{at:02}", k, int(t))
        for at in range(40)
        for k in (1, 2, 3)
        for t in [min(15, rng.geometric(0.2))]
    ]
    found = of_walks(headline, traces, Rules())
    score = metrics(traces, Rules())["creativity_score"]
    assert [len(values) for values in found.values()] == [3] * 40
    assert np.mean([value for values in found.values() for value in values]) == pytest.approx(
        score.value, abs=2e-3
    )
    known = components(found)
    assert known is not None and score.low is not None and score.high is not None
    assert 2 * 1.96 * known.error() == pytest.approx(score.high - score.low, rel=0.15)


def test_macro_f1_is_taken_apart_into_pseudo_values() -> None:
    rng = np.random.default_rng(6)
    traces = []
    for at in range(60):
        for repeat in (1, 2):
            gold, said = 1 + at % 5, int(rng.integers(1, 6)) if rng.random() < 0.5 else 1 + at % 5
            parts = {"gold": gold, "said": said, "status": "ok", "shortened": 0, "works": 1}
            score = Score(float(gold == said), parts=parts | {"alignment": None, "counts": None})
            traces.append(Trace(f"i{at:02}", repeat, "l", "scored", score, (), None, {}))
    settings = Settings(justification=False)
    found = of_walks(rinobench.headline, traces, settings)
    assert {len(values) for values in found.values()} == {2} and len(found) == 60
    whole = rinobench.headline(traces, settings).whole()
    known = components(found)
    assert known is not None and whole.low is not None and whole.high is not None
    assert 2 * 1.96 * known.error() == pytest.approx(whole.high - whole.low, rel=0.15)


def test_a_metric_of_one_walk_cannot_be_taken_apart() -> None:
    assert of_walks(headline, [won("a", 1, 1)], Rules()) == {}
    assert of_walks(headline, [], Rules()) == {}
    assert pseudo_values(
        lambda weights: weights @ np.array([1.0, 2.0, 6.0]) / weights.sum(axis=1), 3
    ) == pytest.approx([1.0, 2.0, 6.0])


def test_the_variance_between_judges_is_more_than_their_errors_make_it() -> None:
    rng = np.random.default_rng(7)
    found, alike = [], []
    for _ in range(200):
        items, raters = (part.ravel() for part in np.indices((60, 6)))
        seen = rng.random(len(items)) < 0.5
        seen[:12] = True
        items, raters = items[seen], raters[seen]
        noise = rng.normal(0, 0.6, len(items)) + rng.normal(0, 1, 60)[items]
        found.append(judge_variance(items, raters, noise + rng.normal(0, 0.5, 6)[raters]))
        alike.append(judge_variance(items, raters, noise))
    assert np.mean([value for value in found if value is not None]) == pytest.approx(0.25, rel=0.15)
    assert np.mean([value for value in alike if value is not None]) < 0.01
    assert judge_variance([1, 2], [0, 1], [1.0, 2.0]) is None


def test_a_mean_of_one_record_has_no_pseudo_value_and_does_not_warn() -> None:
    mean = of_sums(np.array([[1.0, 1.0]]), lambda sums: np.asarray(sums[..., 0] / sums[..., 1]))
    assert np.isnan(pseudo_values(mean, 1)).all()


def test_walks_on_disk_are_read_once_each_however_many_repeats_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = [won(f"s{at}", repeat, 1 + at) for at in range(4) for repeat in range(1, 6)]
    with Folder(tmp_path) as folder:
        folder.keep(traces)
    on_disk, reads = Traces(tmp_path / "traces.jsonl"), []
    read = Traces._read
    monkeypatch.setattr(Traces, "_read", lambda self, at: reads.append(at) or read(self, at))
    assert of_walks(headline, on_disk, Rules()) == of_walks(headline, traces, Rules())
    assert sorted(reads) == list(range(20))
