"""Blind plays: what a line may say, how hard samples are by them, and where a run stands beside them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lotbench.benchmarks.lotbench.calibration import Play, opening, plays, standing, tiers
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.types import Trace
from tests.games import broken, unsolved, won

ONCE = Settings(max_rounds=1, confirm="never")
FULL = Settings(confirm="never")
ABOUT: dict[str, Any] = {"player": "p, by hand", "prompts": "d1", "date": "2026-11-22"}


def play(sample: str, solved: int | None = None, **fields: Any) -> Play:
    line = {"sample": sample, "arm": "image+caption", "solved": solved, "attempts": 15}
    return Play.model_validate({**ABOUT, **line, **fields})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"solved": 2, "attempts": 1}, "solved: is attempt 2 of 1"),
        ({"solved": 0}, "greater than or equal to 1"),
        ({"mood": "glad"}, "Extra inputs"),
        ({"player": ""}, "at least 1 character"),
        ({"date": "yesterday"}, "date"),
    ],
)
def test_a_line_that_is_no_play_is_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        play("a", **fields)


def test_games_of_a_run_are_plays_but_for_those_that_broke_off() -> None:
    made = plays([won("a", 1, 1), unsolved("b", 1, 1), broken("c", 1, 0)], ONCE, ABOUT)
    assert [(one.sample, one.repeat, one.solved, one.attempts) for one in made] == [
        ("a", 1, 1, 1),
        ("b", 1, None, 1),
    ]
    assert made[0].arm == "image+caption, max_rounds=1"
    assert opening(made[0].arm) == "image+caption"
    (later,) = plays([won("d", 2, 3)], FULL.model_copy(update={"frame": "earned"}), ABOUT)
    assert (later.arm, later.solved, later.attempts, later.repeat) == (
        "image+caption, frame=earned",
        3,
        15,
        2,
    )


def test_a_tier_is_the_mean_of_what_each_arm_solved_at_the_first_attempt() -> None:
    hidden = "image+caption, frame=hidden, max_rounds=1"
    known = [
        # Shown 2 of 2, hidden 0 of 2: a half.
        *(play("a", 1) for _ in range(2)),
        *(play("a", arm=hidden, attempts=1) for _ in range(2)),
        # Shown 6 of 6, hidden 1 of 2: .75, though 7 of 8 were solved.
        *(play("b", 1) for _ in range(6)),
        *(play("b", solved, arm=hidden, attempts=1) for solved in (1, None)),
        # Solved, but at no first attempt.
        *(play("c", 2) for _ in range(4)),
        *(play("d", 1) for _ in range(3)),
    ]
    assert tiers(known) == {"a": "medium", "b": "easy", "c": "hard", "d": None}


def row(found: Any, of: str) -> tuple[Any, ...]:
    (section,) = found
    assert all(len(one) == len(table.columns) for table in section.tables for one in table.rows)
    (one,) = [one for one in section.tables[0].rows if one[2] == of]
    return tuple(one)


def games(solved: int, of: int, rounds: int = 15) -> list[Trace]:
    return [won(f"s{at:02}", 1, 1) if at < solved else unsolved(f"s{at:02}", 1, rounds) for at in range(of)]


def test_a_run_stands_beside_the_plays_of_its_samples_and_its_arm() -> None:
    # Every sample played twice: half of them solved by both players, the others by none.
    known = [play(f"s{at:02}", 1 if at % 2 else None, player=f"p{n}") for at in range(40) for n in range(2)]
    known += [play("elsewhere", 1), play("s00", 1, arm="caption", player="q")]
    found = standing({"m": (games(30, 40), FULL)}, {"m": known})
    _, arm, _, samples, n, theirs, ends, runs, mine, _, ahead, between, p = row(found, "first attempt")
    assert (arm, samples, n, theirs, runs, mine, ahead) == ("image+caption", 40, 80, 0.5, 40, 0.75, 0.25)
    # Two plays of a sample are one observation: Wilson's of 20 of 40 is .352 to .648.
    low, high = map(float, ends.split(" to "))
    assert low == pytest.approx(0.352, abs=0.02) and high == pytest.approx(0.648, abs=0.02)
    low, high = map(float, between.split(" to "))
    assert low < 0.25 < high and 0 < p < 1


def test_the_difference_is_that_of_the_two_shares_however_often_samples_were_played() -> None:
    # One of ten samples was played nine times more than the others, and is the only one that was solved.
    known = [play(f"s{at:02}", 1 if at == 0 else None, player="p0") for at in range(10)]
    known += [play("s00", 1, player=f"p{n}") for n in range(1, 10)]
    found = row(standing({"m": (games(5, 10), FULL)}, {"m": known}), "first attempt")
    assert (found[4], found[5], found[8]) == (19, pytest.approx(0.1), 0.5)
    assert found[10] == pytest.approx(found[8] - found[5])


def test_whole_games_are_compared_in_the_very_arm_only_and_first_attempts_however_many_follow() -> None:
    once = [play(f"s{at:02}", 1, arm="image+caption, max_rounds=1", attempts=1) for at in range(8)]
    found = standing({"m": (games(4, 8), FULL)}, {"m": once})
    assert [one[2] for one in found[0].tables[0].rows] == ["first attempt"]
    whole = [play(f"s{at:02}", 2, player="q") for at in range(8)]
    found = standing({"m": (games(4, 8), FULL)}, {"m": [*once, *whole]})
    assert row(found, "game")[5] == pytest.approx(0.8187, abs=1e-4)
    assert row(found, "game")[8] == 0.5


def test_plays_of_other_arms_or_samples_say_nothing_and_a_run_without_any_has_no_section() -> None:
    known = [play("x", 1), play("s01", 1, arm="caption")]
    assert standing({"m": (games(2, 4), FULL)}, {"m": known}) == ()


def test_runs_side_by_side_have_a_row_each_and_one_run_its_tiers() -> None:
    known = [play(f"s{at:02}", 1 if at < 3 else None, player=f"p{n}") for at in range(6) for n in range(4)]
    (section,) = standing({"m": (games(3, 6), FULL), "n": (games(1, 6), FULL)}, {"m": known, "n": known})
    assert [one[0] for one in section.tables[0].rows] == ["m", "m", "n", "n"] and len(section.tables) == 1
    (section,) = standing({"m": (games(3, 6), FULL)}, {"m": known})
    assert [row[:4] for row in section.tables[1].rows] == [("easy", 3, 3, 1.0), ("hard", 3, 3, 0.0)]
