"""Ask once more: what every benchmark does with a reply that cannot be read.

The first asking is attempt 0. Attempt 1 follows a reply that could not be read, and its prompt says what was
wrong (`again` of the pack's lines). What a second one means is for the benchmark to say: a gap, a used round, a
failed walk.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lotbench.errors import Unread
from lotbench.harness.state import AnyWalk
from lotbench.types import Answer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One asking of a question: the first (0) or the second (1), and the line that says what was wrong."""

    number: int = 0
    again: str | None = None


def asking(walk: AnyWalk, unread: str | None) -> Attempt:
    """A first asking, or a second one: then `unread` says why the last reply could not be read."""
    if unread is None:
        return Attempt()
    return Attempt(1, walk.prompt("lines").line("again", reason=_in_its_language(walk, unread)))


def _in_its_language(walk: AnyWalk, reason: str) -> str:
    """A reason in the language of the sample, where the pack has `reasons` for it; else as the code says it.

    A reason is looked up by its words; numbers in it fill the fields `first` and `second`.
    """
    told = walk.prompts.prompts.get(walk.sample.language, {}).get("reasons")
    if told is None:
        return reason
    name = re.sub(r"[^a-z]+", "_", reason.lower()).strip("_")
    section = name if name in told.sections else "other"
    numbers = dict(zip(("first", "second"), re.findall(r"\d+", reason), strict=False))
    return told.line(section, **(numbers if section == name else {}))


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply that could not be read: of which kind, why, and whether it is to be asked for again."""

    status: str
    reason: str
    again: bool


def reading(answer: Answer, read: Callable[[Answer], T], *, refusal_stands: bool = False) -> T | Unreadable:
    """Read an answer by a function that raises Unread.

    Args:
        answer: The answer; the one to a first asking is asked for again.
        read: What it is read by.
        refusal_stands: Whether a refusal is not asked for again.
    """
    try:
        return read(answer)
    except Unread as error:
        stands = refusal_stands and error.kind == "refused"
        return Unreadable(error.kind, error.reason, again=answer.question.attempt == 0 and not stands)
