"""Runs are ranked by what their benchmark primary metrics: no gain in giving no answer, none in games that break off."""

from collections.abc import Sequence
from typing import Any

from lotbench.benchmarks.lotbench import primary_metric as lotbench
from lotbench.report.leaderboard import Entry, board, sample_means
from lotbench.types import Trace
from tests.games import Rules, broken, unsolved, won
from tests.report.test_leaderboard import CONDITIONS


def entry(name: str, traces: Sequence[Trace], most_fpr: float | None = None) -> Entry:
    checked = None if most_fpr is None else {"value": 0.0, "low": 0.0, "high": most_fpr, "n": 100}
    values = {one.sample: one.score.value for one in traces if one.score.value is not None}
    given: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0}
    given |= {"conditions": CONDITIONS, "primary_metric": lotbench.primary_metric(traces, Rules())}
    return Entry(name=name, values=values, checked=checked, **given)


def half_solved(failed: str | None = None, at: int = 2) -> list[Trace]:
    """Forty games: every other one solved in the round `at`, the others lost, or broken off in their first round."""
    lose = (lambda name: unsolved(name, 1)) if failed is None else (lambda name: broken(name, 1, 1, failed))
    return [won(f"s{n:02}", 1, at) if n % 2 else lose(f"s{n:02}") for n in range(40)]


def test_a_candidate_that_fails_where_it_cannot_solve_is_worth_no_more_than_one_that_plays_on() -> None:
    honest, failing = entry("honest", half_solved()), entry("failing", half_solved("candidate_failed"))
    (pair,) = board([honest, failing]).pairs
    assert (pair.difference.mean, pair.apart) == (0.0, False)
    assert sample_means(half_solved("candidate_failed"))[1] == 20


def test_a_lead_that_hangs_on_games_that_the_judge_broke_off_is_not_clear() -> None:
    honest, lucky = entry("honest", half_solved()), entry("lucky", half_solved("judge_failed"))
    (pair,) = board([honest, lucky]).pairs
    assert pair.better == "lucky" and (pair.difference.mean or 0.0) > 0.2 and not pair.apart
    (pair,) = board(
        [entry("quick", half_solved(at=1)), entry("never", [unsolved(f"s{n:02}", 1) for n in range(40)])]
    ).pairs
    assert pair.apart


def test_a_lead_that_the_checked_error_rate_of_the_judge_explains_is_not_clear() -> None:
    """One game in four solved late, beside none: more than a judge accepts wrongly of whom it errs about .005, not .09."""
    late = [won(f"s{n:02}", 1, 5) if n % 4 == 0 else unsolved(f"s{n:02}", 1) for n in range(40)]
    never = [unsolved(f"s{n:02}", 1) for n in range(40)]
    apart = [
        board([entry("late", late, most), entry("never", never, most)]).pairs[0].apart
        for most in (None, 0.01, 0.3)
    ]
    assert apart == [True, True, False]
