"""Tables of several runs can be joined: each row says its run and model, and what was guessed and asked in its round."""

from __future__ import annotations

from lotbench.report.trace_rows import episodes, steps
from tests.games import answer, ask, check, respond, trace

STEPS = [
    respond(1, "a bell"),
    check(1, False),
    ask(1, question="Is it loud?"),
    answer(1),
    respond(2, "a gong"),
    check(2, True),
]


def test_a_row_of_a_step_says_what_was_guessed_and_asked_in_its_round() -> None:
    made = list(steps([trace("s", 1, "solved", STEPS)], "run-1", "nova"))
    assert {(row["run"], row["model"], row["sample"]) for row in made} == {("run-1", "nova", "s")}
    assert [(row["step"], row["guess"], row["question"]) for row in made] == [
        ("respond", "a bell", "Is it loud?"),
        ("check", "a bell", "Is it loud?"),
        ("ask", "a bell", "Is it loud?"),
        ("answer", "a bell", "Is it loud?"),
        ("respond", "a gong", None),
        ("check", "a gong", None),
    ]
    assert list(made[0])[:4] == ["run", "model", "sample", "repeat"]


def test_a_row_of_an_episode_says_what_was_guessed_and_asked_last() -> None:
    (row,) = episodes([trace("s", 1, "solved", STEPS)], "run-1", "nova")
    assert (row["run"], row["model"], row["guess"], row["question"]) == (
        "run-1",
        "nova",
        "a gong",
        "Is it loud?",
    )
    (none,) = episodes([trace("s", 1, "scored", [])], "run-1", "nova")
    assert (none["guess"], none["question"]) == (None, None)
