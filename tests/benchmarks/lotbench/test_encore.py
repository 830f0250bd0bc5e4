"""Encores: the game goes on after its solve, and an answer counts again if it is another idea."""

import math
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.games import game as read
from lotbench.benchmarks.lotbench.score import expected, metrics
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.episode import remark
from lotbench.types import Trace
from tests.benchmarks.lotbench.test_frames import CALM, HEART, POINTED, SNOOZE
from tests.games import Rules, ask, check, respond, trace, unread
from tests.play import CHAIN, CHINESE, NO, TRIAL, YES, candidate, judge, oracle, play, said_to_candidate

OTHER = {"closest": "egg timer", "difference_reason": "a kitchen, a stage", "different_approach": True}
SAME = {**OTHER, "different_approach": False}
PLAIN = {"encore": True, "confirm": "never"}


# ---- A game, worked out by hand ----


async def test_an_encore_from_the_first_attempt_to_the_last() -> None:
    """Wrong; leap 1 (t = 1); the same in other words; the key text, too late; leap 2 (t = 3); said before."""
    player = candidate("drum", "egg timer", "kitchen timer", "alarm clock", "metronome", "Egg-timer!")
    checker = judge(NO, YES, YES, YES, ideas=[SAME, OTHER])
    game = await play(player, checker, oracle("No"), max_rounds=6, **PLAIN)
    assert game.outcome == "solved"
    assert game.trace.score.value == pytest.approx(math.exp(-0.2))
    assert game.trace.score.parts["leaps"] == [1, 3]
    assert game.trace.score.parts["leap_score"] == pytest.approx(math.exp(-0.2) + math.exp(-0.6))
    told = [(value["how"], value["accepted"]) for value in game.values("check")]
    assert told == [
        ("judge", False),
        ("judge", True),
        ("judge", True),
        ("exact", False),
        ("judge", True),
        ("repeat", False),
    ]
    assert game.read("different", "accepted") == [False, True]
    assert [(one["round"], one["value"]["number"], one["value"]["failed"]) for one in game.steps("leap")] == [
        (2, 1, 1),
        (5, 2, 3),
    ]
    # No question follows an answer that counted, nor the last attempt.
    assert [one["round"] for one in game.steps("ask")] == [1, 3, 4]
    found = read(game.trace)
    assert [at.decision for at in found.rounds] == [
        "refused",
        "accepted",
        "alike",
        "none",
        "accepted",
        "none",
    ]
    assert (found.solved, [leap.text for leap in found.leaps]) == (2, ["egg timer", "metronome"])
    scores = metrics([game.trace], Settings(max_rounds=6, **PLAIN))
    assert scores["creativity_score"].value == pytest.approx(math.exp(-0.2))
    assert scores["leaps"].value == 2
    assert scores["leap_score"].value == pytest.approx(math.exp(-0.2) + math.exp(-0.6))


async def test_the_judge_is_asked_if_it_differs_from_the_key_text_and_all_that_counted() -> None:
    checker = judge(YES, ideas=[OTHER])
    await play(candidate("egg timer", "metronome", "gong"), checker, max_rounds=3, **PLAIN)
    second, third = checker.heard("different")
    assert 'KNOWN: "alarm clock"; "egg timer"\nCANDIDATE: "metronome"' in second
    assert 'KNOWN: "alarm clock"; "egg timer"; "metronome"\nCANDIDATE: "gong"' in third
    assert "CAPTION: My neighbour keeps a(n) <MASK> in the tank." in second


async def test_the_key_text_is_a_leap_only_as_the_first() -> None:
    checker = judge(YES, ideas=[OTHER])
    game = await play(candidate("alarm clock", "egg timer"), checker, max_rounds=2, **PLAIN)
    assert [value["text"] for value in game.values("leap")] == ["alarm clock", "egg timer"]
    assert 'KNOWN: "alarm clock"\n' in checker.heard("different")[0]


async def test_the_candidate_is_told_what_was_found_and_asked_for_another() -> None:
    player = candidate("egg timer", "metronome")
    await play(player, judge(YES, ideas=[OTHER]), max_rounds=2, **PLAIN)
    assert said_to_candidate(player)[1].endswith(
        "TIPS:\nFOUND: egg timer (it counts; now find another one, by a different idea and not the same in other "
        "words)\nOUTPUT:"
    )


async def test_clues_come_after_failed_attempts_alone() -> None:
    player = candidate(*(f"thing {n}" for n in range(1, 7)))
    game = await play(player, judge(NO, YES, NO, NO), max_rounds=6, clue_interval=2, **PLAIN)
    assert [one["round"] for one in game.steps("reveal")] == [3, 5]


async def test_a_game_without_an_answer_that_counts_is_unsolved() -> None:
    game = await play(candidate(), max_rounds=3, **PLAIN)
    assert (game.outcome, game.trace.score.value, game.trace.score.parts["leaps"]) == ("unsolved", 0.0, [])


async def test_an_idea_is_asked_about_after_the_second_opinion_and_only_if_it_agrees() -> None:
    first, second = judge(YES, ideas=[OTHER]), judge(confirms=[YES, NO, YES], name="another-judge")
    game = await play(candidate("egg timer", "gong", "metronome"), [first, second], max_rounds=3, encore=True)
    assert [value["accepted"] for value in game.values("confirm")] == [True, False, True]
    assert len(first.heard("different")) == 1
    assert second.heard("different") == []
    assert len(game.steps("leap")) == 2


async def test_a_judge_that_cannot_be_read_goes_to_the_next_for_an_idea_too() -> None:
    first = judge(YES, ideas=["Hard to say.\nReally."])
    second = judge(YES, ideas=[OTHER], name="another-judge")
    game = await play(
        candidate("egg timer", "metronome"), [first, second], max_rounds=2, encore=True, confirm="never"
    )
    assert len(game.steps("leap")) == 2
    assert (len(first.heard("different")), len(second.heard("different"))) == (2, 1)


async def test_a_hidden_encore_compares_whole_responses_and_a_new_point_with_what_was_found_alone() -> None:
    checker = judge(YES, NO, YES, chains=[CHAIN], trial=[*TRIAL, *TRIAL], ideas=[OTHER])
    game = await play(
        candidate(SNOOZE, HEART), checker, sample=POINTED, frame="hidden", max_rounds=2, **PLAIN
    )
    assert [value.get("target") for value in game.values("leap")] == [0, 1]
    (asked,) = checker.heard("different")
    known = 'KNOWN: "My neighbour keeps an alarm clock in the tank."'
    assert f'{known}; "{SNOOZE}"\nCANDIDATE: "{HEART}"' in asked
    assert CALM not in asked and "CAPTION: My" not in asked


async def test_chinese_answers_are_compared_in_chinese() -> None:
    checker = judge(YES, ideas=[OTHER])
    await play(candidate("计时器", "鼓"), checker, sample=CHINESE, max_rounds=2, **PLAIN)
    assert "已有：“闹钟”；“计时器”\n候选词：“鼓”" in checker.heard("different")[0]


# ---- Scores ----

ENCORE = Rules(max_rounds=3, encore=True)


def leap(round: int, number: int, failed: int) -> dict[str, Any]:
    return remark("leap", round, {"number": number, "failed": failed, "text": f"word {round}"})


def accepted(round: int, number: int, failed: int) -> list[dict[str, Any]]:
    return [respond(round), check(round, True), leap(round, number, failed)]


WHOLE = trace("a", 1, "solved", [*accepted(1, 1, 0), respond(2), check(2, False), ask(2), *accepted(3, 2, 1)])
BROKEN = trace("b", 1, "judge_failed", [*accepted(1, 1, 0), respond(2), unread(2), unread(2)])


def value(name: str, *traces: Trace) -> float:
    found = metrics(traces, ENCORE)[name].value
    assert found is not None
    return found


def test_a_game_that_broke_off_counts_for_the_rounds_in_which_it_was_watched() -> None:
    """Leaps: 2 of 2 games in round 1, none of 1 in round 2, 1 of 1 in round 3."""
    assert value("leaps", WHOLE, BROKEN) == pytest.approx(2.0)
    assert value("leap_score", WHOLE, BROKEN) == pytest.approx(1.0 + math.exp(-0.2))


def test_a_game_that_broke_off_after_its_solve_was_solved() -> None:
    assert value("creativity_score", WHOLE, BROKEN) == value("solve_rate", WHOLE, BROKEN) == 1.0
    assert read(BROKEN).censored is False and read(BROKEN).broke_off is True


def test_scores_of_leaps_have_intervals_over_samples() -> None:
    others = [trace(f"s{n}", 1, "unsolved", [respond(1), check(1, False)]) for n in range(6)]
    found = metrics([WHOLE, *others], ENCORE)["leaps"]
    assert found.value == pytest.approx(2 / 7)
    assert found.low is not None and found.high is not None and found.low < 2 / 7 < found.high
    assert (found.n, found.observations) == (7, 7)


def test_a_game_without_an_encore_has_no_leaps_among_its_scores() -> None:
    assert not {"leaps", "leap_score"} & metrics([WHOLE], Rules(max_rounds=3)).keys()


@pytest.mark.parametrize(("stop", "count", "score"), [(0.0, 0.0, 0.0), (1.0, 15.0, 15.0)])
def test_the_chance_line_is_none_of_or_every_attempt(stop: float, count: float, score: float) -> None:
    found = expected(stop, None, Rules(encore=True))
    assert (found["leaps"], found["leap_score"]) == (pytest.approx(count), pytest.approx(score))


def test_the_chance_line_is_what_games_of_that_probability_come_to() -> None:
    """Two attempts with p: p leaps are worth 1 in the first; in the second 1 if that counted, else exp(-0.2)."""
    p = 0.3
    found = expected(p, None, Rules(max_rounds=2, encore=True))
    assert found["leap_score"] == pytest.approx(p + p * (p + (1 - p) * math.exp(-0.2)))
