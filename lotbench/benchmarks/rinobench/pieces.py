"""Things to find out, each asked until it is read: all that are open at once, each unread one once more.

What was found and what could not be read stand in the walk's draft, by name. A piece that is unread twice ends
the walk as a failure of the role that was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.rinobench.candidate import again
from lotbench.errors import Unread
from lotbench.harness.benchmark import record
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
    return [
        piece.ask(attempt=int(piece.name in unread), again=again(walk, unread.get(piece.name)))
        for piece in pieces
    ]


def read_pieces(walk: AnyWalk, pieces: Sequence[Piece], answers: Sequence[Answer]) -> Update:
    """What the answers to these pieces say; a trace has the ones that could not be read last."""
    done, unread = found(walk), dict(walk.state["draft"].get("unread", {}))
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    update: Update = {}
    for piece, answer in zip(pieces, answers, strict=True):
        question = answer.question
        try:
            done[piece.name] = value = piece.read(answer)
            good.append(record(answer, {"status": "ok", **value}))
        except Unread as error:
            bad.append(record(answer, {"status": error.kind, "reason": error.reason}))
            unread[piece.name] = error.reason
            if question.attempt:
                update = {
                    "outcome": f"{question.role}_failed",
                    "why": f"{question.step}: {error.reason}",
                }
    return {"draft": {"done": done, "unread": unread}, "steps": [*good, *bad], **update}
