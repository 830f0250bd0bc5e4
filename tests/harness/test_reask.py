"""Asking once more: which reply is asked for again, and what its second question says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lotbench.errors import JudgeError, Unread
from lotbench.harness.reask import Attempt, Unreadable, asking, reading
from lotbench.types import Answer, Key, Question, Reply


class Lines:
    prompts = SimpleNamespace(prompts={})
    sample = SimpleNamespace(language="en")

    def prompt(self, name: str) -> Lines:
        assert name == "lines"
        return self

    def line(self, name: str, **values: str) -> str:
        return f"{name}: {values['reason']}"


def answer(attempt: int) -> Answer:
    question = Question("judge", "check", (), attempt=attempt)
    return Answer(question, Key("s", 1, 1, "check", 0, attempt, "d"), Reply("text", "m"))


def test_the_second_asking_says_what_was_wrong_with_the_first() -> None:
    walk: Any = Lines()
    assert asking(walk, None) == Attempt(0, None)
    assert asking(walk, "it is empty") == Attempt(1, "again: it is empty")


def test_what_can_be_read_is_what_it_is_read_as() -> None:
    assert reading(answer(0), lambda given: given.reply.text) == "text"


@pytest.mark.parametrize("error", [Unread, JudgeError])
@pytest.mark.parametrize(
    ("kind", "attempt", "refusal_stands", "again"),
    [
        ("unparsed", 0, False, True),
        ("unparsed", 1, False, False),
        ("refused", 0, False, True),
        ("refused", 0, True, False),
        ("truncated", 0, True, True),
    ],
)
def test_a_reply_is_asked_for_again_once(
    error: type[Unread], kind: str, attempt: int, refusal_stands: bool, again: bool
) -> None:
    def read(given: Answer) -> str:
        raise error(kind, "why")

    found = reading(answer(attempt), read, refusal_stands=refusal_stands)
    assert found == Unreadable(kind, "why", again)
