"""The answers to a task as the steps of a walk tell of them; the one place where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class Rating(NamedTuple):
    """What a judge said of an answer: three marks, 1 to 5, and whether it is a hallucination."""

    originality: int
    feasibility: int
    value: int
    hallucination: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """One of the answers of a walk.

    Attributes:
        number: Within the walk, from 0.
        status: `ok`, or why there is no answer.
        over_length: Longer than it was to be, or cut off for that.
        ratings: By seat; None where a verdict could not be read.
    """

    number: int
    status: str
    text: str
    over_length: bool
    ratings: tuple[Rating | None, ...]


def read_answered(steps: Sequence[Mapping[str, Any]], role: str = "judge") -> list[Answered]:
    """The answers of a walk in their order, with the last verdict of each seat of a role."""
    answers: dict[int, Mapping[str, Any]] = {}
    ratings: dict[int, dict[int, Rating | None]] = {}
    # Where one reply held all answers, they were taken apart in steps of their own.
    name = "answer" if any(step["step"] == "answer" for step in steps) else "respond"
    for step in steps:
        value = step["value"]
        if step["step"] == name:
            answers[step["draw"]] = value
        elif step["role"] == role and "seat" in value:
            ratings.setdefault(value["answer"], {})[value["seat"]] = _rating(value)
    return [
        Answered(
            number,
            value["status"],
            value["answer"] or "",
            value["over_length"],
            _seats(ratings.get(number, {})),
        )
        for number, value in sorted(answers.items())
    ]


def _rating(value: Mapping[str, Any]) -> Rating | None:
    return Rating(*(value[name] for name in Rating._fields)) if value["status"] == "ok" else None


def _seats(ratings: Mapping[int, Rating | None]) -> tuple[Rating | None, ...]:
    return tuple(ratings.get(seat) for seat in range(max(ratings, default=-1) + 1))
