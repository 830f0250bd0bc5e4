"""Blind plays: what a line may say, and how hard samples are by them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lotbench.run.calibration import Play, opening, tiers

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


def test_a_first_attempt_knows_nothing_of_rounds() -> None:
    assert opening("image+caption, frame=hidden, max_rounds=1") == "image+caption, frame=hidden"


def test_a_tier_is_the_mean_of_what_each_arm_solved_at_the_first_attempt() -> None:
    hidden, two_kinds = "image+caption, frame=hidden, max_rounds=1", ("gpt-5", "claude-opus-4")
    known = [
        # Shown 4 of 4, hidden 0 of 4: a half.
        *(play("a", 1, player=name) for name in two_kinds * 2),
        *(play("a", arm=hidden, attempts=1) for _ in range(4)),
        # Shown 6 of 6, hidden 1 of 2: .75, though 7 of 8 were solved.
        *(play("b", 1, player=name) for name in two_kinds * 3),
        *(play("b", solved, arm=hidden, attempts=1) for solved in (1, None)),
        # Solved, but at no first attempt.
        *(play("c", 2, player=name) for name in two_kinds * 4),
        # One play too few; and enough of them, but by models of one maker, or by people.
        *(play("d", 1, player=name) for name in (*two_kinds * 3, "Ann")),
        *(play("e", 1, player=name) for name in ("gpt-5", "o3") * 4),
        *(play("f", 1, player=name) for name in ("Ann", "human:Ben") * 4),
    ]
    assert tiers(known) == {"a": "medium", "b": "easy", "c": "hard", "d": None, "e": None, "f": None}
