"""One game as its trace tells it: in which round it was solved, or through which round it was not.

The outcome is taken from the trace; the rounds are read off its steps, so that a game that broke off
counts for exactly the rounds whose verdict is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from lotbench.errors import LotbenchError
from lotbench.metrics.survival import Span
from lotbench.types import Trace

FAILED = ("candidate_failed", "judge_failed", "oracle_failed")

Value = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Game:
    """What scoring needs to know of one game; rounds count from 1.

    Attributes:
        solved: The round of the filling that solved it.
        first_positive: The first round in which a check accepted, whatever a second judge then said.
        unsolved_through: The last round that is known not to have solved it, 0 if none is.
        played: The last round in which the candidate was heard.
        valid: Whether any filling could be judged.
    """

    sample: str
    repeat: int
    outcome: str
    solved: int | None
    first_positive: int | None
    unsolved_through: int
    played: int
    valid: bool
    steps: tuple[Mapping[str, Any], ...]

    @property
    def censored(self) -> bool:
        """Broke off before it was solved or lost."""
        return self.outcome in FAILED

    def span(self, last: int, *, unconfirmed: bool = False) -> Span:
        """How long the game was watched; `unconfirmed` takes every first positive for the end.

        Raises:
            LotbenchError: The game was solved in a later round than the last.
        """
        won = self.first_positive if unconfirmed else self.solved
        if won is not None and won > last:
            raise LotbenchError(f"game {self.sample}/{self.repeat} was solved after round {last}")
        if won is not None:
            return Span(won, True)
        return Span(min(self.unsolved_through, last) if self.censored else last, False)


def game(trace: Trace) -> Game:
    """Read a trace.

    Raises:
        LotbenchError: The trace is of no game, or contradicts itself.
    """
    return read_game(trace.outcome, trace.steps, trace.sample, trace.repeat)


def read_game(outcome: str, steps: Sequence[Mapping[str, Any]], sample: str, repeat: int) -> Game:
    """Read the outcome and the steps of a finished game.

    Raises:
        LotbenchError: No game ends in this outcome, or it is called solved and no check accepted.
    """
    checks, confirms = verdicts(steps, "check"), verdicts(steps, "confirm")
    positive = [at for at, value in checks.items() if value["accepted"]]
    passed = [at for at in positive if at not in confirms or confirms[at]["accepted"]]
    if outcome not in ("solved", "unsolved", *FAILED):
        raise LotbenchError(f"game {sample}/{repeat}: no game ends as {outcome!r}")
    if outcome == "solved" and not passed:
        raise LotbenchError(f"game {sample}/{repeat} is called solved, but no check accepted a filling")
    responds = latest(steps, "respond")
    return Game(
        sample=sample,
        repeat=repeat,
        outcome=outcome,
        solved=max(passed) if outcome == "solved" else None,
        first_positive=min(positive, default=None),
        unsolved_through=_unsolved_through(steps, [*checks.items(), *confirms.items()]),
        played=max(responds, default=0),
        valid=any(value["status"] == "ok" for value in responds.values()),
        steps=tuple(steps),
    )


def latest(steps: Sequence[Mapping[str, Any]], step: str) -> dict[int, Value]:
    """The value of the last step of that name in each round: the attempt that counts."""
    return {int(one["round"]): cast(Value, one["value"]) for one in steps if one["step"] == step}


def verdicts(steps: Sequence[Mapping[str, Any]], step: str) -> dict[int, Value]:
    """The verdict of each round that has one; attempts that could not be read have none."""
    return latest([one for one in steps if "accepted" in one["value"]], step)


def _unsolved_through(steps: Sequence[Mapping[str, Any]], verdicts: Sequence[tuple[int, Value]]) -> int:
    """The last round that surely did not solve the game.

    Its verdict was a No, or a question followed it, or a later round was begun.
    """
    denied = [at for at, value in verdicts if not value["accepted"]]
    asked = [int(one["round"]) for one in steps if one["step"] in ("ask", "answer")]
    begun = [int(one["round"]) - 1 for one in steps]
    return max([0, *denied, *asked, *begun])
