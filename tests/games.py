"""Traces of games as short as their story: one letter a round."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.episode import remark
from lotbench.types import Score, Trace

Rules = partial(Settings, confirm="never")
"""The game's settings without a second verdict."""


def respond(
    round: int, guess: str | None = None, status: str = "ok", mismatch: bool = False
) -> dict[str, Any]:
    word = f"word {round}" if guess is None and status == "ok" else guess
    return remark("respond", round, {"guess": word, "status": status, "language_mismatch": mismatch})


def check(round: int, accepted: bool, step: str = "check", how: str = "judge") -> dict[str, Any]:
    return remark(step, round, {"accepted": accepted, "how": how, "judge": 0, "status": "ok"})


def unread(round: int, step: str = "check") -> dict[str, Any]:
    return remark(step, round, {"status": "unparsed"})


def ask(round: int, leak: bool = False, question: str | None = "Is it alive?") -> dict[str, Any]:
    return remark("ask", round, {"question": question, "status": "ok", "leak": leak})


def answer(round: int, answer: str | None = "No") -> dict[str, Any]:
    return remark("answer", round, {"answer": answer})


def lost(rounds: int) -> list[dict[str, Any]]:
    """The steps of that many rounds that a judge said No in."""
    return [step for k in range(1, rounds + 1) for step in (respond(k), check(k, False))]


def trace(sample: str, repeat: int, outcome: str, steps: Sequence[dict[str, Any]], **parts: str) -> Trace:
    score = Score({"solved": 1.0, "unsolved": 0.0}.get(outcome), parts=parts)
    return Trace(sample, repeat, f"{sample}/{repeat}", outcome, score, tuple(steps), None, {})


def won(sample: str, repeat: int, round: int, **parts: str) -> Trace:
    """A game solved in that round."""
    return trace(sample, repeat, "solved", [*lost(round - 1), respond(round), check(round, True)], **parts)


def unsolved(sample: str, repeat: int, rounds: int = 15, **parts: str) -> Trace:
    return trace(sample, repeat, "unsolved", lost(rounds), **parts)


def broken(sample: str, repeat: int, round: int, outcome: str = "judge_failed", **parts: str) -> Trace:
    """A game whose verdict of that round could not be read."""
    steps = [*lost(round - 1), respond(round), unread(round), unread(round)]
    return trace(sample, repeat, outcome, steps, **parts)
