"""The sections of a game run's report: every count by hand, and the warnings where they are due."""

import json

import pytest

from lotbench.benchmarks.lotbench.sections import sections
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
    assert found.solved == (1, 1, 0) and "Kaplan-Meier" in found.method[1]
    assert found.plots[0].series["S"] == ((0.0, 1.0), (1.0, 0.75), (2.0, 0.375), (3.0, 0.375))


def test_leaks_and_missing_answers() -> None:
    leaky = [*lost(1), ask(1, leak=True), answer(1, None), respond(2), check(2, True)]
    quiet = [*lost(1), ask(1), answer(1), *lost(2)[2:], ask(2, question=None), respond(3), check(3, False)]
    found = section("Rounds", (trace("a", 0, "solved", leaky), trace("b", 0, "unsolved", quiet)))
    assert [row[1:] for row in found.tables[0].rows][-3:] == [(1, 3, 1 / 3), (1, 2, 0.5), (1, 2, 0.5)]


@pytest.mark.parametrize("traces", [(), FOUR, (broken("a", 0, 1),)])
def test_every_row_fits_its_columns_and_holds_plain_data(traces: tuple[Trace, ...]) -> None:
    for one in sections(traces, SMALL):
        for table in one.tables:
            assert all(len(row) == len(table.columns) for row in table.rows)
            json.dumps(table.rows, allow_nan=False)


def test_key_texts_at_once_are_a_row() -> None:
    exact = trace("a", 1, "solved", [respond(1, "the key"), check(1, True, how="exact")])
    played = sections((exact, won("b", 1, 4), won("c", 1, 2)), Rules(max_rounds=6))
    rows = {row[0]: row[1:] for one in played for table in one.tables for row in table.rows}
    assert rows["first guesses that are the very key text"] == (1, 3, pytest.approx(1 / 3))
