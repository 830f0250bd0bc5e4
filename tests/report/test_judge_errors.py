"""What a judge's errors have to do with a difference: taken out where verdicts are labelled, said where not."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.labelled import corrected
from lotbench.benchmarks.lotbench.primary_metric import by_labels, primary_metric
from lotbench.benchmarks.lotbench.validation import draw_verdicts
from lotbench.harness.judge_validation import Place
from lotbench.metrics.compare import of_primary_metrics
from lotbench.metrics.primary_metric import PrimaryMetric
from lotbench.report.leaderboard import Entry, board
from lotbench.report.ranking_sections import sections
from lotbench.report.sections import Section
from lotbench.types import Trace
from tests.bench.truth.games import Errors, on_the_same_samples, played, traces
from tests.bench.truth.worlds import PLAYERS, ROUNDS, Player
from tests.games import Rules
from tests.report.test_leaderboard import CONDITIONS

Labels = dict[Place, bool]


@cache
def two(player: Player, seed: int, fprs: tuple[float, float]) -> list[tuple[list[Trace], Labels]]:
    """Two runs of one player on the same samples, a judge that errs more on one of them, and 200 labels of each."""
    rng = np.random.default_rng([seed, 21])
    same = on_the_same_samples(player, 106, rng)
    found = []
    for turn, fpr in enumerate(fprs):
        games, right = played(same, Errors(fpr), Errors(0.05), rng)
        chosen = [place for _, place in draw_verdicts(games, ROUNDS, 200, 2 * seed + turn)[1]]
        found.append((traces(games), {place: right[place] for place in chosen}))
    return found


def by_people(run: Sequence[Trace], labels: Labels) -> PrimaryMetric:
    made = by_labels(run, Rules(), labels)
    assert made is not None
    return made


def entry(name: str, run: Sequence[Trace], labels: Labels | None, **other: Any) -> Entry:
    made = by_labels(run, Rules(), labels) if labels else None
    given: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0, "values": {}}
    given |= {"conditions": CONDITIONS, "primary_metric": primary_metric(run, Rules())}
    given |= {"by_labels": made}
    return Entry(name=name, **given | other)


def differences(runs: Sequence[Entry]) -> Section:
    return next(part for part in sections(board(runs)) if part.title == "Differences")


def test_the_corrected_primary_metric_is_the_score_of_the_summary() -> None:
    run, labels = two(PLAYERS["strong"], 0, (0.01, 0.03))[0]
    found = by_people(run, labels).whole()
    theirs = corrected([game(one) for one in run], labels, Rules())[1]
    assert (found.value, found.low, found.high, found.n) == pytest.approx(
        (theirs.value, theirs.low, theirs.high, 106)
    )
    assert found.observations == theirs.observations == 318


def test_labels_end_a_difference_that_only_the_judge_made() -> None:
    (one, its), (other, theirs) = two(PLAYERS["weak"], 1, (0.01, 0.05))
    raw = of_primary_metrics(primary_metric(other, Rules()), primary_metric(one, Rules()))
    assert raw.p is not None and raw.p < 0.01 and raw.mean is not None and raw.mean > 0.05
    found = of_primary_metrics(by_people(other, theirs), by_people(one, its))
    assert found.p is not None and found.p > 0.05
    assert found.low is not None and found.high is not None and found.low < 0 < found.high
    made = board([entry("one", one, its), entry("other", other, theirs)])
    assert made.metric == "creativity_score_corrected" and made.unlabelled == ()
    section = differences([entry("one", one, its), entry("other", other, theirs)])
    assert any("corrected by people's labels" in note for note in section.notes)


def test_runs_without_labels_are_named_with_what_is_known_of_the_judge() -> None:
    (one, its), (other, _) = two(PLAYERS["weak"], 1, (0.01, 0.05))
    checked = {"value": 0.021, "low": 0.012, "high": 0.034, "hits": 12, "n": 571}
    runs = [entry("one", one, its, checked=checked), entry("other", other, None)]
    made = board(runs)
    assert made.metric == "creativity_score" and made.unlabelled == ("other",)
    section = differences(runs)
    assert (
        "The judge's FPR, checked on hard negatives: 0.021 (0.012 to 0.034), n = 571; p allows for its upper end."
        in section.notes
    )
    assert any("these have none: other" in note for note in section.notes)


@pytest.mark.parametrize("n", [5, 8, 40])
def test_what_labels_leave_open_widens_a_difference(n: int) -> None:
    rng = np.random.default_rng(n)

    def run(values: Sequence[float], noisy: bool) -> PrimaryMetric:
        def weighted(records: Sequence[float]) -> Any:
            return lambda weights: weights @ np.array(records) / weights.sum(axis=-1)

        records = {f"s{at:02}": float(value) for at, value in enumerate(values)}
        noise = rng.normal(0, 0.3, 2000)
        drawn = (lambda some: noise) if noisy else None
        return PrimaryMetric("m", records, lambda some: None, weighted, noise=drawn, judgements=50)  # type: ignore[arg-type, return-value]

    one, other = rng.normal(0.5, 0.5, n), rng.normal(0, 0.5, n)
    plain, open_ = (of_primary_metrics(run(one, noisy), run(other, noisy)) for noisy in (False, True))
    assert open_.noise == pytest.approx(2 * 0.09, rel=0.2) and open_.judgements == 50
    assert plain.p is not None and open_.p is not None and open_.p > plain.p >= 2 / 2**n * (n < 8)
    assert open_.low is not None and plain.low is not None and open_.low < plain.low


def test_labels_that_leave_a_kind_of_verdict_unknown_correct_nothing() -> None:
    run, labels = two(PLAYERS["strong"], 0, (0.01, 0.03))[0]
    assert by_labels(run, Rules(), {}) is None
    assert by_labels(run, Rules(), dict(list(labels.items())[:1])) is None
