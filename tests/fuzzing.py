"""What is fuzzed: each reader of what comes from outside, as a function of bytes that must end in order.

A target returns, or raises what its caller expects; anything else is a finding. `tests/bench/fuzz.py` throws
bytes at them under atheris, `tests/edge/test_corpus.py` the inputs that were worth keeping.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from lotbench.benchmarks.lotbench.questions import question
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.words import filling
from lotbench.config import experiment as config
from lotbench.edge.calls.journal import entry
from lotbench.edge.files import jsonl
from lotbench.edge.models import chat_format
from lotbench.errors import Unread, UsageError
from lotbench.prompting.reply import Form, YesNo, prose, read_form
from lotbench.types import Reply

CORPUS = Path(__file__).parent / "cases" / "corpus"
FRAME = "My neighbour keeps a(n) <MASK> in the tank."


class Verdict(Form):
    """A form with a text and a decision, as a judge fills it."""

    reason: Annotated[str, prose(240)]
    accepted: YesNo


class Line(Form):
    """A form that may come as a bare line."""

    filling: Annotated[str, prose(80)]


def reply(data: bytes) -> None:
    """A candidate's or judge's text."""
    text = data.decode("utf-8", "replace")
    for form in (Verdict, Line):
        with suppress(Unread):
            read_form(Reply(text, "m"), form)


def phrase(data: bytes) -> None:
    """A filling and a question."""
    text = data.decode("utf-8", "replace")
    with suppress(Unread):
        assert len(filling(text, FRAME, 8, 16).split()) <= 8
    with suppress(Unread):
        question(text, ["Is it alive?"])


def completion(data: bytes) -> None:
    """The body of a server's answer."""
    chat_format.error_message(data)
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return
    chat_format.reply(answer, 0.1, {})
    chat_format.complaint(answer)


def journal(data: bytes) -> None:
    """A line of calls.jsonl."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        entry(json.loads(data))


def sample(data: bytes) -> None:
    """A line of samples.jsonl."""
    faults: list[str] = []
    jsonl._row(Path("samples.jsonl"), 1, data, Item.model_validate, faults)


def settings(data: bytes) -> None:
    """A config file."""
    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return
    with suppress(UsageError):
        config.validate(config.Experiment, table)
    with suppress(UsageError):
        config.validate(Settings, table)


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "reply": reply,
    "phrase": phrase,
    "completion": completion,
    "journal": journal,
    "sample": sample,
    "settings": settings,
}
