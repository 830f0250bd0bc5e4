"""The sections of a game run's report: every count by hand, and the warnings where they are due."""

import json
from dataclasses import replace

import pytest

from lotbench.benchmarks.lotbench.sections import sections
from lotbench.harness.episode import remark
from lotbench.report.sections import Section
from lotbench.types import Trace
from tests.games import Rules, answer, ask, broken, check, lost, respond, trace, unsolved, won

SMALL = Rules(max_rounds=3)
FOUR = (won("a", 0, 1), broken("a", 1, 2), won("b", 0, 2), unsolved("b", 1, 3))


def section(title: str, traces: tuple[Trace, ...], rules: Rules = SMALL) -> Section:
    (found,) = [one for one in sections(traces, rules) if one.title == title]
    return found


def test_the_survival_table_by_hand() -> None:
    found = section("Survival by round", FOUR)
    assert found.tables[0].columns == ("round", "at risk", "solved", "broke off", "S")
    assert found.tables[0].rows == ((1, 4, 1, 0, 0.75), (2, 2, 1, 1, 0.375), (3, 1, 0, 0, 0.375))
    assert found.plots[0].series["S"] == ((0.0, 1.0), (1.0, 0.75), (2.0, 0.375), (3.0, 0.375))


def test_the_curve_has_intervals_over_samples() -> None:
    games = tuple(won(f"s{at}", 0, 1 + at % 3) for at in range(30))
    (plot,) = section("Survival by round", games).plots
    shares = {k: share for k, share in plot.series["S"]}
    assert len(plot.bands["S"]) == 4 and plot.bands["S"][0] == (1.0, 1.0)
    low, high = plot.bands["S"][1]
    assert low < shares[1.0] < high and plot.bands["S"][3][1] > 0
    # Two thirds of 30 remain: sqrt(2/9 / 30) is the standard error.
    assert (high - low) / 2 == pytest.approx(1.96 * (2 / 9 / 30) ** 0.5, rel=0.15)


def test_one_game_of_each_kind_is_worth_reading() -> None:
    overturned = trace(
        "d",
        0,
        "unsolved",
        [respond(1), check(1, True), check(1, False, "confirm"), ask(1), answer(1), *lost(3)[2:]],
    )
    found = section("Worth reading", (*FOUR, won("c", 0, 3), overturned))
    assert [(one.title, one.sample, one.repeat) for one in found.readings] == [
        ("Solved at once, or soonest", "a", 0),
        ("Solved last", "c", 0),
        ("A yes that was not confirmed", "d", 0),
        ("Unsolved, with the most different guesses", "b", 1),
    ]
    texts = dict(found.readings[2].texts)
    assert texts["round 1"] == "word 1 (accepted, not confirmed)\nIs it alive? – No"
    assert texts["round 3"] == "word 3 (not it)" and texts["end"] == "unsolved"
    mute = trace("m", 0, "unsolved", [respond(1, status="refused", filling="")])
    assert section("Worth reading", (mute,)).readings == ()


def test_outcomes_count_mute_games_apart() -> None:
    mute = trace("c", 0, "unsolved", [respond(k, status="refused") for k in (1, 2, 3)])
    rows = section("Outcomes", (*FOUR, mute)).tables[0].rows
    assert rows == (
        ("solved", 2, 0.4),
        ("unsolved", 2, 0.4),
        ("candidate_failed", 0, 0.0),
        ("judge_failed", 1, 0.2),
        ("oracle_failed", 0, 0.0),
        ("of the unsolved: no valid guess", 1, 0.2),
        ("of the solved: before any clue", 2, 0.4),
    )


def test_bounds_of_the_censored_by_hand() -> None:
    found = section("Games that broke off", FOUR)
    # At once: worths 1, .818731, .818731, 0; never: 1, .818731, 0, 0.
    score, rate, rounds = found.tables[0].rows
    assert score[1:] == pytest.approx((0.557024, 0.659365, 0.454683), abs=1e-6)
    assert rate[1:] == pytest.approx((0.625, 0.75, 0.5))
    assert rounds[1:] == pytest.approx((2.125, 2.0, 2.25))
    assert found.notes[0].startswith("1 of 4 (25.0 %) games count as broken off.")


def test_repeats_that_open_alike_are_warned_of_with_one_game_a_sample() -> None:
    found = section("Repeated guesses", FOUR)
    assert found.tables[0].rows[1][1:] == (2, 2, 1.0)
    assert "WARNING: 2 of 2 (100.0 %)" in found.notes[2]
    # Repeat 0 of a is worth 1 and of b exp(-.2).
    assert (
        "(m = 1) creativity_score is 0.9094 (95 % interval 0.0137 to 0.9999) over 2 games" in found.notes[2]
    )
    apart = replace(FOUR[0], steps=(respond(1, "WORD one"), check(1, True)))
    assert len(section("Repeated guesses", (apart, *FOUR[1:])).notes) == 2
    same = replace(FOUR[0], steps=(respond(1, " ＷORD  1"), check(1, True)))
    assert len(section("Repeated guesses", (same, *FOUR[1:])).notes) == 3


def test_repeated_fillings_are_counted_among_those_judged() -> None:
    steps = [respond(1), check(1, False), respond(2), check(2, False, how="repeat")]
    mute = [respond(3, status="unparsed"), check(3, False, how="none")]
    rows = section("Repeated guesses", (trace("a", 0, "unsolved", steps + mute),)).tables[0].rows
    assert rows[0][1:] == (1, 2, 0.5)
    assert rows[1][1:] == (0, 0, None)


def test_leaks_and_missing_answers() -> None:
    leaky = [*lost(1), ask(1, leak=True), answer(1, None), respond(2), check(2, True)]
    quiet = [*lost(1), ask(1), answer(1), *lost(2)[2:], ask(2, question=None), respond(3), check(3, False)]
    found = section("Questions", (trace("a", 0, "solved", leaky), trace("b", 0, "unsolved", quiet)))
    assert [row[1:] for row in found.tables[0].rows] == [
        (1, 3, 1 / 3),
        (1, 2, 0.5),
        (1, 2, 0.5),
        (1, 2, 0.5),
    ]
    assert (
        found.notes[0]
        == "creativity_score over games without a leak: 0.0000 (95 % interval open to open), n = 1 samples."
    )


def test_replies_count_the_last_attempt_of_a_round() -> None:
    first = [respond(1, status="unparsed"), respond(1, mismatch=True), check(1, False)]
    rest = [respond(2, status="truncated"), respond(3, status="odd")]
    rows = section("Replies", (trace("a", 0, "unsolved", first + rest),)).tables[0].rows
    assert {str(row[0]): row[1:] for row in rows} == {
        "ok": (1, 3, 1 / 3),
        "unparsed": (0, 3, 0.0),
        "not_a_phrase": (0, 3, 0.0),
        "refused": (0, 3, 0.0),
        "truncated": (1, 3, 1 / 3),
        "odd": (1, 3, 1 / 3),
        "language_mismatch, of the ok": (1, 1, 1.0),
    }


def test_judging_tells_verdicts_confirmations_and_doubtful_chains() -> None:
    chains = [
        remark("chain_accepted", 1, {"judge": 0, "accepted": False, "builds": 3}),
        remark("chain_accepted", 1, {"judge": 1, "accepted": True, "builds": 1}),
    ]
    steps = [
        *chains,
        respond(1),
        check(1, True),
        check(1, False, "confirm"),
        respond(2),
        check(2, True, how="exact"),
    ]
    found = section(
        "Judging", (trace("a", 0, "solved", steps), broken("b", 0, 1)), Rules(3, confirm="same_judge")
    )
    assert found.tables[0].rows == (("exact", 1, 0), ("judge", 1, 0), ("confirm", 0, 1))
    assert found.tables[1].rows == (("a", 0, 3),)
    assert "not independent" in found.notes[0]
    assert "no readable verdict: 2." in found.notes[1]
    assert "first yes" in section("Judging", FOUR).notes[0]


def test_groups_come_from_the_parts_of_the_score() -> None:
    traces = (
        won("a", 0, 1, language="en", tier="easy"),
        unsolved("b", 0, 3, language="zh", tier="easy"),
    )
    rows = section("By language and tier", traces).tables[0].rows
    assert [row[:5] for row in rows] == [
        ("language", "en", 1, 1, 1.0),
        ("language", "zh", 1, 1, 0.0),
        ("tier", "easy", 2, 2, 0.5),
    ]
    assert section("By language and tier", FOUR).tables[0].rows == ()


@pytest.mark.parametrize("traces", [(), FOUR, (broken("a", 0, 1),)])
def test_every_row_fits_its_columns_and_holds_plain_data(traces: tuple[Trace, ...]) -> None:
    for one in sections(traces, SMALL):
        for table in one.tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
            json.dumps(table.rows, allow_nan=False)


def test_solves_before_any_clue_and_key_texts_at_once_are_a_row_each() -> None:
    exact = trace("a", 1, "solved", [respond(1, "the key"), check(1, True, how="exact")])
    late = trace(
        "b", 1, "solved", [*map(dict, won("b", 1, 4).steps), remark("reveal", 2, {"clues": ["hint"]})]
    )
    played = sections((exact, late, won("c", 1, 2)), Rules(max_rounds=6))
    rows = {row[0]: row[1:] for one in played for table in one.tables for row in table.rows}
    assert rows["of the solved: before any clue"] == (2, pytest.approx(2 / 3))
    assert rows["first guesses that are the very key text"] == (1, 3, pytest.approx(1 / 3))
