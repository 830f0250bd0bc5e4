"""Correction round by round: it recovers the truth, where a correction of the whole solve rate does not."""

import numpy as np
import pytest

from lotbench.benchmarks.lotbench import correction
from lotbench.benchmarks.lotbench.correction import corrected, curve, of_counts, tally
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.score import estimate, solve_rate
from lotbench.metrics.agreement import Field, Stratum
from lotbench.metrics.intervals import Floats
from tests.games import Rules, broken, check, lost, respond, trace, unsolved, won

RULES = Rules()
FPR, FNR = 0.03, 0.10


def counted(false_positives: int, negatives: int, false_negatives: int, positives: int) -> Field:
    """What is known of a judge from so many labelled fillings, all of a run's."""
    accepted = false_positives + positives - false_negatives
    refused = negatives - false_positives + false_negatives
    strata = (
        Stratum(True, accepted, accepted, positives - false_negatives),
        Stratum(False, refused, refused, false_negatives),
    )
    return Field(tuple(one for one in strata if one.size))


KNOWN = counted(3_000_000, 100_000_000, 10_000_000, 100_000_000)
"""The planted rates, known as good as exactly."""
NEVER = np.zeros(15)
ONE_PERCENT = np.full(15, 0.01)
FALLING = np.linspace(0.15, 0.01, 15)


def played(seed: int, right: Floats, samples: int = 106, repeats: int = 3) -> Floats:
    """The tally of games in which round k brings a right filling with chance right[k]; a judge errs on each."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((samples, 5, 15))
    for _ in range(repeats):
        alive = np.ones(samples, dtype=bool)
        for at in range(15):
            good = rng.random(samples) < right[at]
            yes = np.where(good, rng.random(samples) >= FNR, rng.random(samples) < FPR)
            counts[alive, correction.AT_RISK, at] += 1
            counts[alive, correction.JUDGED, at] += 1
            counts[alive & yes, correction.ACCEPTED, at] += 1
            alive &= ~yes
        counts[alive, correction.LOST, -1] += 1
    return counts


def decisions(played: Game) -> list[str]:
    return [one.decision for one in played.watched(15)]


def truth(right: Floats) -> tuple[float, float]:
    left = np.concatenate([[1.0], np.cumprod(1 - right)])
    return float(1 - left[-1]), float((left[:-1] - left[1:]) @ np.exp(-0.2 * np.arange(15)))


def seen(counts: Floats) -> float:
    """The solve rate that the judge makes of it."""
    return float(counts[:, correction.ACCEPTED].sum() / counts[:, correction.AT_RISK, 0].sum())


@pytest.mark.parametrize("right", [NEVER, ONE_PERCENT, FALLING], ids=["never", "one percent", "falling"])
def test_corrected_scores_recover_the_truth_on_average(right: Floats) -> None:
    raw = np.array([of_counts(played(seed, right), RULES, KNOWN, draws=1).raw for seed in range(300)])
    off = raw.mean(axis=0) - np.array(truth(right))
    assert (np.abs(off) < 3 * raw.std(axis=0) / np.sqrt(len(raw))).all(), (off, raw.std(axis=0))


def test_correcting_a_whole_solve_rate_makes_a_model_that_never_solves_solve_39_percent() -> None:
    rates = [seen(played(seed, NEVER)) for seed in range(300)]
    whole = (np.mean(rates) - FPR) / (1 - FPR - FNR)
    assert whole == pytest.approx(0.39, abs=0.01)
    ours = [of_counts(played(seed, NEVER), RULES, KNOWN, draws=1).raw for seed in range(300)]
    assert np.mean(ours, axis=0) == pytest.approx([0, 0], abs=0.01)
    assert of_counts(played(1, NEVER), RULES, KNOWN, draws=1).solve_rate.value == max(0.0, ours[1][0])


def test_correcting_a_whole_solve_rate_lifts_14_percent_to_48() -> None:
    rate = float(np.mean([seen(played(seed, ONE_PERCENT)) for seed in range(300)]))
    assert truth(ONE_PERCENT)[0] == pytest.approx(0.14, abs=0.001)
    assert rate == pytest.approx(0.45, abs=0.01)
    assert (rate - FPR) / (1 - FPR - FNR) == pytest.approx(0.48, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("right", [ONE_PERCENT, FALLING], ids=["one percent", "falling"])
def test_its_95_percent_intervals_hold_the_truth_in_90_to_97_percent(right: Floats) -> None:
    held = np.zeros(2)
    for seed in range(500):
        rng = np.random.default_rng([seed, 7])
        errors = counted(int(rng.binomial(500, FPR)), 500, int(rng.binomial(200, FNR)), 200)
        made = of_counts(played(seed, right), RULES, errors, draws=2000)
        for index, metric in enumerate((made.solve_rate, made.creativity_score)):
            # Where both ends were cut off at 0 no interval is given: it would have held nothing.
            if metric.low is not None and metric.high is not None:
                held[index] += metric.low <= truth(right)[index] <= metric.high
    # Labels are drawn here by truth, and counted as if drawn by verdict, as a run's are: a little narrow.
    assert (held / 500 >= 0.90).all() and (held / 500 <= 0.97).all(), held / 500


def test_a_judge_without_errors_changes_nothing() -> None:
    games = [game(one) for one in (won("a", 1, 2), unsolved("a", 2), won("b", 1, 7), broken("b", 2, 4))]
    found = corrected(games, RULES, counted(0, 10, 0, 10))
    assert found.raw == pytest.approx((solve_rate(games, RULES).value, estimate(games, RULES).value))
    assert (found.solve_rate.n, found.solve_rate.observations) == (2, 4)
    cap = Rules(unsolved="cap")
    assert corrected(games, cap, counted(0, 10, 0, 10)).raw[1] == pytest.approx(estimate(games, cap).value)


def test_exact_matches_and_repeats_are_certain_and_a_second_no_is_a_no() -> None:
    steps = [
        *(respond(1), check(1, False, how="repeat")),
        *(respond(2), check(2, True), check(2, False, step="confirm")),
        *(respond(3, status="unparsed"), check(3, False, how="none")),
        *(respond(4), check(4, True, how="exact")),
    ]
    one = game(trace("a", 1, "solved", steps))
    assert decisions(one) == ["none", "overturned", "none", "exact"]
    counts = tally([one], 15)[0]
    assert counts[correction.AT_RISK, :5].tolist() == [1, 1, 1, 1, 0]
    assert counts[correction.JUDGED, :5].tolist() == [0, 1, 0, 0, 0]
    assert counts[correction.ACCEPTED].sum() == 0 and counts[correction.CERTAIN, 3] == 1
    # Certain is certain, whatever the judge is.
    exact = [game(trace("a", 1, "solved", [respond(1), check(1, True, how="exact")]))]
    assert corrected(exact, RULES, counted(20, 100, 30, 100)).raw[0] == 1.0


def test_a_game_that_broke_off_counts_for_the_rounds_that_are_known() -> None:
    assert decisions(game(broken("a", 1, 3))) == ["refused", "refused"]
    assert decisions(game(trace("a", 1, "judge_failed", [*lost(1), respond(2)]))) == ["refused"]


def test_a_judge_that_tells_nothing_apart_gives_no_score_and_says_why() -> None:
    games = [game(unsolved("a", 1)), game(won("b", 1, 3))]
    for errors, why in [
        (counted(60, 100, 50, 100), "no better than chance"),
        (counted(3, 100, 0, 0), "not known"),
    ]:
        found = corrected(games, RULES, errors)
        assert found.solve_rate.value is None and why in str(found.solve_rate.why)
    assert corrected([], RULES, KNOWN).creativity_score.why == "no games"
    assert np.isnan(curve(np.ones((5, 15)), np.array(0.6), np.array(0.5))[1:]).all()
