"""Things to find out, each asked until it is read: all that are open at once, each unread one once more.

What was found and what could not be read stand in the walk's draft, by name. A piece that is unread twice ends
the walk as a failure of the role that was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.harness.benchmark import record
from lotbench.harness.reask import Unreadable, asking, reading
from lotbench.harness.state import AnyWalk, Update
from lotbench.types import Answer, Question


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to find out: how it is asked (given `attempt` and `again`) and how the answer is read."""

    name: str
    ask: Callable[..., Question]
    read: Callable[[Answer], Mapping[str, Any]]


def found(walk: AnyWalk) -> dict[str, Any]:
    """What has been found out so far, by name."""
    return dict(walk.state["draft"].get("done", {}))


def ask(walk: AnyWalk, pieces: Sequence[Piece]) -> list[Question]:
    """The questions for pieces, with what was wrong where they were asked before."""
    unread = walk.state["draft"].get("unread", {})
    askings = [asking(walk, unread.get(piece.name)) for piece in pieces]
    return [
        piece.ask(attempt=once.number, again=once.again) for piece, once in zip(pieces, askings, strict=True)
    ]


def read_pieces(walk: AnyWalk, pieces: Sequence[Piece], answers: Sequence[Answer]) -> Update:
    """What the answers to these pieces say; a trace has the ones that could not be read last."""
    done, unread = found(walk), dict(walk.state["draft"].get("unread", {}))
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    update: Update = {}
    for piece, answer in zip(pieces, answers, strict=True):
        question = answer.question
        value = reading(answer, piece.read)
        if isinstance(value, Unreadable):
            bad.append(record(answer, {"status": value.status, "reason": value.reason}))
            unread[piece.name] = value.reason
            if not value.again:
                update = {
                    "outcome": f"{question.role}_failed",
                    "why": f"{question.step}: {value.reason}",
                }
            continue
        done[piece.name] = value
        good.append(record(answer, {"status": "ok", **value}))
    return {"draft": {"done": done, "unread": unread}, "steps": [*good, *bad], **update}
