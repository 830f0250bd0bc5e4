"""Tables of several runs can be joined: each row says its run and model, and what was guessed and asked in its round."""

import io
import json
import sys

import pytest

from lotbench.report.trace_rows import episodes, steps
from lotbench.storage import export
from tests.games import answer, ask, check, respond, trace

STEPS = [
    respond(1, "a bell"), check(1, False), ask(1, question="Is it loud?"), answer(1), respond(2, "a gong"), check(2, True),
]  # fmt: skip


def test_a_row_of_a_step_says_what_was_guessed_and_asked_in_its_round() -> None:
    made = list(steps([trace("s", 1, "solved", STEPS)], "run-1", "nova"))
    assert {(row["run"], row["model"], row["sample"]) for row in made} == {("run-1", "nova", "s")}
    told = [(row["step"], row["guess"], row["question"]) for row in made]
    assert told[:4] == [(step, "a bell", "Is it loud?") for step in ("respond", "check", "ask", "answer")]
    assert told[4:] == [("respond", "a gong", None), ("check", "a gong", None)]
    assert list(made[0])[:4] == ["run", "model", "sample", "repeat"]


def test_a_row_of_an_episode_says_what_was_guessed_and_asked_last() -> None:
    (row,) = episodes([trace("s", 1, "solved", STEPS)], "run-1", "nova")
    last = {"run": "run-1", "model": "nova", "guess": "a gong", "question": "Is it loud?"}
    assert last.items() <= row.items()
    (none,) = episodes([trace("s", 1, "scored", [])], "run-1", "nova")
    assert (none["guess"], none["question"]) == (None, None)


@pytest.mark.parametrize("terminal", [False, True])
def test_rows_steer_no_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(printed, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", printed)
    row = {"guess": "a\x9b2J\u202eb\x7f\U000e0041 \u00fc"}
    assert export.write([row], None) == 1
    out = printed.getvalue()
    assert json.loads(out) == row and "\u00fc" in out
    assert ("\x9b" in out and "\u202e" in out) is not terminal
