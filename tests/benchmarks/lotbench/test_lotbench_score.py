"""The creativity score: golden values, hand-worked tables, and what broken games do to it."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.primary_metric import primary_metric
from lotbench.benchmarks.lotbench.score import grade, metrics
from lotbench.errors import LotbenchError
from lotbench.harness.episode import AnyEpisode, Episode, nobody
from lotbench.harness.state import start
from lotbench.prompting.prompt import Pack
from lotbench.types import Trace
from tests.games import Rules, answer, ask, broken, check, lost, respond, trace, unread, unsolved, won

NAMES = [
    "creativity_score",
    "creativity_score_cap",
    "creativity_score_unconfirmed",
    "solve_rate",
    "mean_rounds",
]
TABLE = (won("a", 0, 1), won("a", 1, 3), unsolved("a", 2), won("b", 0, 2), won("b", 1, 1), won("b", 2, 6))


@dataclass(frozen=True)
class Item:
    id: str = "lot-1"
    language: str = "en"
    image: str | None = None
    tier: str = "easy"


def run_episodes(rules: Rules, outcome: str | None, steps: list[dict[str, object]]) -> AnyEpisode:
    state = {**start("lot-1", 0), "outcome": outcome, "steps": steps, "why": "no reply"}
    return Episode(Item(), 0, rules, Pack({}, {}, ""), (), {}, 0, {}, nobody, state)


@pytest.mark.parametrize(("t", "value"), [(0, 1.0), (1, 0.8187), (5, 0.3679), (15, 0.0498)])
def test_worth_is_the_exponential(t: int, value: float) -> None:
    assert Rules().worth(t) == pytest.approx(value, abs=5e-5)


def test_two_samples_of_three_games_by_hand() -> None:
    # t = 0, 2, - and 1, 0, 5: 1 + .670320 + 0 + .818731 + 1 + .367879 = 3.856930, over 6 games.
    found = metrics(TABLE, Rules())
    assert list(found) == NAMES
    assert found["creativity_score"].value == pytest.approx(0.642822, abs=1e-6)
    assert found["creativity_score_unconfirmed"].value == pytest.approx(0.642822, abs=1e-6)
    assert found["creativity_score_cap"].value == pytest.approx(0.651120, abs=1e-6)
    assert found["solve_rate"].value == pytest.approx(5 / 6)
    assert found["mean_rounds"].value == pytest.approx(28 / 6)
    assert found["mean_rounds"].better == "lower"
    for metric in found.values():
        assert (metric.n, metric.observations) == (2, 6)
        assert metric.low is not None
        assert metric.high is not None
        assert metric.value is not None
        assert metric.low <= metric.value <= metric.high


def test_origin_one_shifts_solved_games_and_neither_the_cap_nor_the_rounds() -> None:
    found = metrics(TABLE, Rules(round_origin=1))
    assert found["creativity_score"].value == pytest.approx(3.856930 * math.exp(-0.2) / 6, abs=1e-6)
    capped = (3.856930 * math.exp(-0.2) + math.exp(-3)) / 6
    assert found["creativity_score_cap"].value == pytest.approx(capped, abs=1e-6)
    assert found["mean_rounds"].value == pytest.approx(28 / 6)


def test_the_cap_setting_moves_the_score_onto_the_capped_one() -> None:
    found = metrics(TABLE, Rules(unsolved="cap"))
    assert found["creativity_score"] == found["creativity_score_cap"]


def test_a_broken_game_is_censored_by_hand() -> None:
    # N = 3. At risk, solved: 4, 1 / 2, 1 / 1, 0, so S = 1, .75, .375, .375 and
    # S_c = .25 + .375 exp(-.2); dropping the broken game would give .6062 and scoring it 0 .4547.
    games = (won("a", 0, 1), broken("a", 1, 2), won("b", 0, 2), unsolved("b", 1, 3))
    found = metrics(games, Rules(max_rounds=3))
    assert found["creativity_score"].value == pytest.approx(0.557024, abs=1e-6)
    assert found["solve_rate"].value == pytest.approx(0.625)
    assert found["mean_rounds"].value == pytest.approx(2.125)
    assert found["creativity_score_cap"].value == pytest.approx(0.557024 + 0.375 * math.exp(-0.6), abs=1e-6)
    assert (found["creativity_score"].n, found["creativity_score"].observations) == (2, 4)


def test_a_failure_after_the_verdict_leaves_its_round_known() -> None:
    after = trace("a", 0, "oracle_failed", [*lost(3), ask(3)])
    before = trace("a", 0, "candidate_failed", [*lost(2)])
    overruled = [*lost(1), respond(2), check(2, True), check(2, False, "confirm"), respond(3)]
    pending = [*lost(1), respond(2), check(2, True), unread(2, "confirm")]
    assert game(after).unsolved_through == 3
    assert game(before).unsolved_through == 2
    assert game(broken("a", 0, 3)).unsolved_through == 2
    assert game(trace("a", 0, "judge_failed", overruled)).unsolved_through == 2
    assert game(trace("a", 0, "judge_failed", pending)).unsolved_through == 1
    assert game(trace("a", 0, "candidate_failed", [])).unsolved_through == 0
    mute = [respond(k, status="refused") for k in (1, 2)]
    assert game(trace("a", 0, "candidate_failed", mute)).unsolved_through == 1
    assert game(trace("a", 0, "oracle_failed", [*mute, ask(2)])).unsolved_through == 2
    assert game(trace("a", 0, "candidate_failed", [*mute, answer(2)])).unsolved_through == 2


def test_an_overruled_positive_ends_only_the_unconfirmed_game() -> None:
    steps = [respond(1), check(1, True), check(1, False, "confirm"), respond(2), check(2, True)]
    played = trace("a", 0, "solved", [*steps, check(2, True, "confirm")])
    found = metrics([played], Rules(confirm="other_judge"))
    assert found["creativity_score"].value == pytest.approx(math.exp(-0.2))
    assert found["creativity_score_unconfirmed"].value == 1.0
    assert found["mean_rounds"].value == 2


def test_a_positive_without_its_confirmation_is_an_event_for_the_unconfirmed_score_only() -> None:
    pending = trace("a", 0, "judge_failed", [*lost(1), respond(2), check(2, True), unread(2, "confirm")])
    found = metrics([pending, unsolved("b", 0, 3)], Rules(max_rounds=3, confirm="other_judge"))
    assert found["solve_rate"].value == 0
    assert found["creativity_score_unconfirmed"].value == pytest.approx(math.exp(-0.2) / 2)


def test_capped_every_game_adds_its_term_to_eq_8_also_one_without_a_valid_guess() -> None:
    mute = trace("a", 0, "unsolved", [respond(k, status="refused") for k in (1, 2, 3)])
    games = [mute, unsolved("b", 0, 3), won("c", 0, 2)]
    capped = metrics(games, Rules(max_rounds=3, unsolved="cap"))
    zero = metrics(games, Rules(max_rounds=3))
    # m n = 3 games: t = N = 3 where nothing was found, t = 1 where one attempt failed before.
    assert capped["creativity_score"].value == pytest.approx((2 * math.exp(-0.6) + math.exp(-0.2)) / 3)
    assert zero["creativity_score"].value == pytest.approx(math.exp(-0.2) / 3)
    assert zero["creativity_score_cap"].value == capped["creativity_score"].value


def test_no_games_and_no_game_to_the_end_have_no_score() -> None:
    for metric in metrics([], Rules()).values():
        assert metric.value is None and metric.low is None and metric.n == 0 and metric.why == "no games"
    for metric in metrics([won("a", 0, 1), broken("b", 0, 2)], Rules()).values():
        assert metric.value is None and metric.n == 2 and "broke off" in str(metric.why)


def test_one_sample_has_no_interval() -> None:
    found = metrics([won("a", 0, 1), unsolved("a", 1)], Rules())["creativity_score"]
    assert (found.value, found.low, found.high) == (0.5, None, None)


games = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["won", "unsolved", "broken"]), st.integers(1, 4)),
    min_size=1,
    max_size=12,
)


def told(story: list[tuple[str, str, int]]) -> list[Trace]:
    make: dict[str, Callable[[str, int, int], Trace]] = {
        "won": won,
        "broken": broken,
        "unsolved": lambda sample, repeat, _: unsolved(sample, repeat, 4),
    }
    return [make[kind](sample, repeat, round) for repeat, (sample, kind, round) in enumerate(story)]


@given(games, st.randoms(use_true_random=False))
def test_the_order_of_traces_does_not_matter(story: list[tuple[str, str, int]], rng: random.Random) -> None:
    traces = told(story)
    shuffled = list(traces)
    rng.shuffle(shuffled)
    assert metrics(shuffled, Rules(max_rounds=4)) == metrics(traces, Rules(max_rounds=4))


def test_the_order_of_samples_does_not_move_the_interval() -> None:
    traces = [won(sample, 0, round) for round, sample in enumerate("abcdefghijkl", start=1)]
    assert metrics(traces[::-1], Rules()) == metrics(traces, Rules())


@given(games)
def test_without_broken_games_the_score_is_the_mean_of_the_grades(story: list[tuple[str, str, int]]) -> None:
    traces = [one for one in told(story) if one.outcome != "judge_failed"]
    for rules in (Rules(max_rounds=4), Rules(max_rounds=4, unsolved="cap", round_origin=1)):
        graded = [grade(run_episodes(rules, one.outcome, list(map(dict, one.steps)))).value for one in traces]
        found = metrics(traces, rules)["creativity_score"].value
        if graded:
            assert found == pytest.approx(sum(v for v in graded if v is not None) / len(graded))
        else:
            assert found is None


def test_grades_of_single_games() -> None:
    solved = grade(run_episodes(Rules(), "solved", [*lost(2), respond(3), check(3, True)]))
    assert solved.value == pytest.approx(math.exp(-0.4))
    assert solved.parts == {
        "rounds": 3,
        "first_positive": 3,
        "attempts": 3,
        "unsolved_through": 2,
        "valid_guess": True,
        "picture": None,
        "language": "en",
        "tier": "easy",
    }
    never = grade(run_episodes(Rules(unsolved="cap", round_origin=1), "unsolved", lost(15)))
    assert never.value == pytest.approx(math.exp(-3)) and never.parts["rounds"] == 15
    failed = grade(run_episodes(Rules(), "judge_failed", [respond(1), unread(1), unread(1)]))
    assert failed.value is None and failed.why == "judge_failed: no reply" and failed.parts["rounds"] is None
    assert grade(run_episodes(Rules(), None, [])).value is None


def test_a_trace_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(LotbenchError, match="no check accepted"):
        metrics([trace("a", 0, "solved", lost(2))], Rules())
    with pytest.raises(LotbenchError, match="no game ends as 'scored'"):
        metrics([trace("a", 0, "scored", [])], Rules())
    with pytest.raises(LotbenchError, match="after round 2"):
        metrics([won("a", 0, 3)], Rules(max_rounds=2))


def test_games_that_all_end_alike_have_an_interval_as_wide_as_they_are_few() -> None:
    # Wilson at n = 3 with t(3, .975) = 3.182: t^2 / (3 + t^2) = .771; S_c = .56 is compatible with it.
    none = metrics([unsolved(sample, 0) for sample in "abc"], Rules())["creativity_score"]
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(3.1824**2 / (3 + 3.1824**2), abs=1e-4)
    every = metrics([won(sample, 0, 1) for sample in "abc"], Rules())["creativity_score"]
    assert none.high is not None and every.low == pytest.approx(1 - none.high) and every.high == 1.0
    rounds = metrics([unsolved(sample, 0) for sample in "abc"], Rules())["mean_rounds"]
    assert rounds.low is not None and rounds.low < 5 and rounds.high == 15
    # One round only: how many are used is known, whatever happens.
    known = metrics([unsolved(sample, 0, 1) for sample in "abc"], Rules(max_rounds=1))["mean_rounds"]
    assert (known.value, known.low, known.high) == (1.0, 1.0, 1.0)


def test_repeats_make_no_samples() -> None:
    once = metrics([won(sample, 0, 1 + at) for at, sample in enumerate("abcdef")], Rules())
    thrice = metrics(
        [won(sample, repeat, 1 + at) for at, sample in enumerate("abcdef") for repeat in range(3)], Rules()
    )
    for name in NAMES:
        assert thrice[name] == replace(once[name], observations=18)


def test_samples_of_one_picture_count_once_and_the_primary_metric_says_so() -> None:
    alone = [won(sample, 0, 1 + at % 3) for at, sample in enumerate("abcdef")]
    shared = [
        replace(one, score=replace(one.score, parts={"picture": f"p{at // 2}"}))
        for at, one in enumerate(alone)
    ]
    apart, together = (
        metrics(alone, Rules())["creativity_score"],
        metrics(shared, Rules())["creativity_score"],
    )
    assert (together.value, together.n, together.observations) == (apart.value, 3, 6)
    found = primary_metric(shared, Rules())
    assert (sorted(found.records), found.unit) == (["p0", "p1", "p2"], "picture")
    assert found.whole() == together and "n counts pictures" in found.counted
    assert (len(primary_metric(alone, Rules()).records), primary_metric(alone, Rules()).counted) == (6, "")
