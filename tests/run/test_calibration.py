"""Blind plays: what a line may say, how hard samples are by them, and where a run stands beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.run.calibration import FILE, Play, opening, section, tiers
from lotbench.types import Trace
from tests.games import unsolved, won

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


def games(solved: int, of: int) -> list[Trace]:
    return [won(f"s{at:02}", 1, 1) if at < solved else unsolved(f"s{at:02}", 1, 15) for at in range(of)]


def shown(data: Path, known: list[Play], traces: list[Trace]) -> list[tuple[object, ...]]:
    """The rows of the section of a run beside these plays."""
    names = {one.sample for one in known} | {trace.sample for trace in traces}
    (data / "samples.jsonl").write_text("".join(json.dumps({"id": name}) + "\n" for name in names))
    (data / FILE).write_text("".join(one.model_dump_json() + "\n" for one in known))
    found = section(data, "own", traces, FULL)
    return [tuple(row) for one in found for row in one.tables[0].rows]


def test_first_attempts_stand_beside_those_of_blind_players_each_sample_once(tmp_path: Path) -> None:
    # Samples 0 to 2 are solved by all eight players, 3 to 5 by none; the run solves the first two.
    known = [
        play(f"s{at:02}", 1 if at < 3 else None, player=f"gpt-{n}" if n % 2 else f"p{n}")
        for at in range(6)
        for n in range(8)
    ]
    # What says nothing here: another sample, another variant, the run's own plays, more plays of one sample.
    known += [play("elsewhere", 1), play("s05", arm="caption"), play("s05", 1, player="me", run="own")]
    known += [play("s00", 1, player=f"q{n}", arm="image+caption, max_rounds=1", attempts=1) for n in range(9)]
    rows = shown(tmp_path, known, games(2, 6))
    assert rows == [
        ("all", 6, 57, 0.5, pytest.approx(1 / 3)),
        ("easy", 3, 33, 1.0, pytest.approx(2 / 3)),
        ("hard", 3, 24, 0.0, 0.0),
    ]


def test_plays_of_other_arms_or_samples_give_no_section(tmp_path: Path) -> None:
    assert shown(tmp_path, [play("x", 1), play("s01", 1, arm="caption")], games(2, 4)) == []
