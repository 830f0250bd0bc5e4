"""Solves before and after clues, and the sign of contamination: every count by hand."""

import math

import pytest

from lotbench.benchmarks.lotbench.clues import TITLE, stages
from lotbench.benchmarks.lotbench.contamination import openings
from lotbench.benchmarks.lotbench.games import answers, game
from lotbench.benchmarks.lotbench.sections import sections
from lotbench.harness.benchmark import remark
from lotbench.harness.evidence import Evidence
from lotbench.report.sections import Section
from lotbench.types import Trace
from tests.games import Rules, broken, check, lost, respond, trace, unsolved, won

SMALL = Rules(max_rounds=6)


def clued(one: Trace, *reveals: tuple[int, int]) -> Trace:
    """The game with so many clues revealed at the end of a round, as far as it was played on after it."""
    last = max(int(str(step["round"])) for step in one.steps)
    shown = [remark("reveal", at, {"clues": ["hint"] * n}) for at, n in reveals if at < last]
    return trace(one.sample, one.repeat, one.outcome, [*map(dict, one.steps), *shown])


GAMES = (
    clued(won("a", 1, 1), (2, 2), (4, 1)),
    clued(won("a", 2, 4), (2, 2), (4, 1)),
    clued(won("b", 1, 2), (2, 2), (4, 1)),
    clued(won("b", 2, 5), (2, 2), (4, 1)),
    clued(broken("c", 1, 4), (2, 2), (4, 1)),
    clued(unsolved("c", 2, 6), (2, 1), (4, 1)),
)


def section(title: str, traces: tuple[Trace, ...], evidence: Evidence | None = None) -> Section:
    made = sections(traces, SMALL, evidence) if evidence else sections(traces, SMALL)
    (found,) = [one for one in made if one.title == title]
    return found


def test_stages_by_hand() -> None:
    first, second, third = stages([game(one) for one in GAMES], SMALL)
    assert [one.clues for one in (first, second, third)] == [(0, 0), (1, 2), (2, 3)]
    assert [one.rounds for one in (first, second, third)] == [(1, 2), (3, 4), (5, 6)]
    # All six games begin; four are played on after round 2, of which one ends in 4, one breaks off there.
    assert [one.games for one in (first, second, third)] == [6, 4, 2]
    assert [one.solved for one in (first, second, third)] == [2, 1, 1]
    # Rounds with a verdict: 1 + 2 + 2 + 2 + 2 + 2, then 2 + 2 + 1 + 2 (the broken one's last is not known), then 1 + 2.
    assert [len(one.tries) for one in (first, second, third)] == [11, 7, 3]
    assert first.pace.value == pytest.approx(2 / 11) and first.pace.n == 3
    assert first.worth == pytest.approx(1 + math.exp(-0.2))


def test_the_section_on_clues() -> None:
    found = section(TITLE, GAMES)
    assert [row[0] for row in found.tables[0].rows] == [
        "before any clue",
        "with 1 to 2 clues",
        "with 2 to 3 clues",
    ]
    assert [row[4] for row in found.tables[0].rows] == pytest.approx([2 / 4, 1 / 4, 1 / 4])
    assert sum(row[6] for row in found.tables[0].rows if isinstance(row[6], float)) == pytest.approx(1)
    assert found.notes[0] == "2 of 4 solved games needed no clue; 2 were solved after the first."
    assert found.name == "clues" and found.numbers["solved"] == 4
    assert list(found.plots[0].series) == [row[0] for row in found.tables[0].rows]
    # Of the four games still played after round 2, none ended in round 3 and one of three with a verdict in 4.
    assert found.plots[0].series["with 1 to 2 clues"] == ((3.0, 0.0), (4.0, pytest.approx(1 / 3)))


def test_without_clues_there_is_no_after() -> None:
    found = section(TITLE, (won("a", 1, 1), unsolved("b", 1, 6)))
    assert found.notes[0].startswith("No game was played on after a clue") and not found.plots
    assert [row[0] for row in found.tables[0].rows] == ["before any clue"]


def exact(sample: str, repeat: int, round: int) -> Trace:
    """A game solved in that round by the very key text."""
    last = [respond(round, "the key"), check(round, True, how="exact")]
    return trace(sample, repeat, "solved", [*lost(round - 1), *last])


def test_openings_by_hand() -> None:
    played = (
        exact("a", 1, 1),
        exact("a", 2, 1),
        won("b", 1, 1),
        exact("b", 2, 3),
        won("c", 1, 2),
        unsolved("d", 1, 6),
    )
    found = openings([game(one) for one in played])
    assert [hit for hit, _ in found.first] == [True, True, False, False, False, False]
    assert [hit for hit, _ in found.solved_first] == [True, True, False]
    assert [hit for hit, _ in found.solved_later] == [True, False]
    assert found.always == ["a"]
    # Each sample once, by its first solved game: a at once and exact, b at once and not, c later and not.
    assert found.chance == pytest.approx(2 / 3)


def test_a_reply_that_is_no_filling_is_no_first_attempt() -> None:
    mute = trace("m", 1, "unsolved", [respond(1, status="refused", filling=""), *lost(2)[2:]])
    assert openings([game(mute)]).first == ()
    assert answers([mute, won("a", 1, 2)], None) == {"m": [], "a": ["word 1"]}


def test_whoever_knows_the_key_texts_at_once_and_not_later_shows_the_sign() -> None:
    knows = tuple(exact(f"k{at}", 1, 1) for at in range(8)) + tuple(won(f"l{at}", 1, 3) for at in range(8))
    found = section("Contamination", knows)
    # 1 of 16 choose 8 orders has them so.
    assert found.numbers["p"] == pytest.approx(1 / math.comb(16, 8))
    assert found.notes[0].startswith("SIGN: first solves have the key text more often than later ones")
    assert found.tables[1].rows[0][:2] == ("k0", None) and len(found.tables[1].rows) == 8
    honest = tuple(won(f"k{at}", 1, 1) for at in range(8)) + tuple(exact(f"l{at}", 1, 3) for at in range(8))
    assert section("Contamination", honest).notes[0].startswith("No sign")


def test_what_cannot_be_tested_is_said() -> None:
    found = section("Contamination", (exact("a", 1, 1), exact("a", 2, 1)))
    assert found.notes[0].startswith("Not tested") and found.numbers["p"] is None
    assert found.notes[1] == "1 sample opens with the key text in every one of its games."
