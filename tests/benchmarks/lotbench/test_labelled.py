"""The score by people's labels of a run's own verdicts."""

import numpy as np
import pytest

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.labelled import corrected, kinds
from lotbench.benchmarks.lotbench.score import estimate, solve_rate
from lotbench.benchmarks.lotbench.validation import draw_verdicts
from lotbench.metrics.agreement import Stratum
from tests.bench.truth.games import NEVER, STRONG, WEAK, Errors, Player, played
from tests.games import Rules, check, respond, trace, unsolved, won

RULES = Rules(max_rounds=3)
FOUR = [game(one) for one in (won("a", 1, 1), won("a", 2, 2), won("b", 1, 3), unsolved("b", 2, 3))]
STOPS = {("a", 1, 1): True, ("a", 2, 2): False, ("b", 1, 3): True}
REFUSALS = {("a", 2, 1): False, ("b", 2, 1): False}


def test_a_false_stop_is_censored_where_it_was_by_hand() -> None:
    # At risk 4, 3, 2: right stops 1, 0, 1. S = 1, 3/4, 3/4, 3/8; in round 3 its worth is exp(-.4).
    rate, score = corrected(FOUR, STOPS | REFUSALS, RULES)
    assert rate.value == pytest.approx(1 - 3 / 8)
    assert score.value == pytest.approx(1 / 4 + 3 / 8 * np.exp(-0.4))
    assert (rate.n, rate.observations) == (2, 4)


def test_stops_that_nobody_labelled_are_stood_for_by_those_drawn_by_hand() -> None:
    # Two of three stops are labelled, both right: each is worth one and a half, of 4 and of 2 at risk.
    labels = {("a", 1, 1): True, ("b", 1, 3): True} | REFUSALS
    assert corrected(FOUR, labels, RULES)[0].value == pytest.approx(1 - (1 - 1.5 / 4) * (1 - 1.5 / 2))


def test_right_guesses_that_were_refused_are_added_by_hand() -> None:
    # Refused: a2/1, b1/1, b1/2, b2/1..3, six; one of two labelled is right, so three are missed. Right stops are 1,
    # 0, 1 and refusals 3, 2, 1 of 6: (1 + 1/2, 1/3, 1 + 1/6) / 3 of the missed fall into each round.
    labels = STOPS | {("a", 2, 1): True, ("b", 2, 1): False}
    assert kinds(FOUR, labels, 3)["refused"] == Stratum(False, 6, 2, 1)
    events = np.array([1, 0, 1]) + np.array([1.5, 1 / 3, 7 / 6])
    left = np.prod(1 - np.minimum(events, [4, 3, 2]) / [4, 3, 2])
    assert corrected(FOUR, labels, RULES)[0].value == pytest.approx(1 - left)


def test_right_labels_of_every_stop_change_nothing_and_exact_matches_need_none() -> None:
    exact = game(trace("c", 1, "solved", [respond(1), check(1, True, how="exact")]))
    games = [*FOUR, exact]
    labels = dict.fromkeys(STOPS, True) | REFUSALS
    rate, score = corrected(games, labels, RULES)
    assert rate.value == pytest.approx(solve_rate(games, RULES).value)
    assert score.value == pytest.approx(estimate(games, RULES).value)
    capped = Rules(max_rounds=3, unsolved="cap")
    assert corrected(games, labels, capped)[1].value == pytest.approx(estimate(games, capped).value)


def test_a_model_whose_every_stop_was_false_gets_0_with_an_interval() -> None:
    games, right = played(NEVER, Errors(0.03), Errors(0.05), np.random.default_rng(1))
    labels = {at: right[at] for _, at in draw_verdicts(games, 15, 200, 1)[1]}
    rate, score = corrected(games, labels, Rules())
    assert (rate.value, score.value) == (0.0, 0.0)
    assert score.low == 0 and score.high is not None and 0.02 < score.high < 0.2


def test_what_has_no_label_gives_no_score_and_says_why() -> None:
    assert corrected([], {}, RULES)[1].why == "no games"
    assert corrected(FOUR, STOPS, RULES)[1].why == "no refused guess of this run has a label"
    assert corrected(FOUR, REFUSALS, RULES)[1].why == "no accepted guess of this run has a label"


def test_half_of_a_draw_are_stops_and_the_rest_refusals_of_every_part_of_the_game() -> None:
    games, _ = played(STRONG, Errors(0.03), Errors(0.23), np.random.default_rng(2))
    sizes, chosen = draw_verdicts(games, 15, 200, 3)
    assert sizes["accepted"] > 200 and sizes["refused"] > 1000 and len(set(chosen)) == 200
    assert [sum(kind == name for kind, _ in chosen) for name in ("accepted", "refused")] == [100, 100]
    early = sum(at <= 5 for kind, (_, _, at) in chosen if kind == "refused")
    every = [one.number <= 5 for each in games for one in each.watched(15) if one.decision == "refused"]
    assert abs(early / 100 - np.mean(every)) < 0.02
    few, picked = draw_verdicts(games[:20], 15, 200, 3)
    assert sum(kind == "accepted" for kind, _ in picked) == few["accepted"]


@pytest.mark.parametrize(("player", "fnr"), [pytest.param(STRONG, 0.0, marks=pytest.mark.slow), (WEAK, 0.05)])
def test_labels_recover_the_truth_though_false_stops_vary_by_round(player: Player, fnr: float) -> None:
    off, raw = [], []
    for seed in range(9):
        games, right = played(player, Errors(0.03, "round"), Errors(fnr), np.random.default_rng([seed, 9]))
        labels = {at: right[at] for _, at in draw_verdicts(games, 15, 200, seed)[1]}
        off.append(corrected(games, labels, Rules())[1].value - player.truth())  # type: ignore[operator]
        raw.append(estimate(games, Rules()).value - player.truth())  # type: ignore[operator]
    assert abs(np.mean(off)) < np.std(off)
    assert player is STRONG or np.mean(raw) > 0.04
