"""The judges' half: each answer goes to each judge alone; three marks and a yes or no (App. A.2).

A judge sees the question and one answer, and nothing of who wrote it, of the other answers or of the other
judges. A verdict that could not be read is asked for once more; after that it is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from lotbench.benchmarks.hicbench import memory, ratings
from lotbench.benchmarks.hicbench.settings import Walk
from lotbench.harness.benchmark import record
from lotbench.harness.reask import Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.judge import JudgeQuestion
from lotbench.prompting.reply import Form, YesNo
from lotbench.types import Answer, Question


def _no_decision(value: object) -> object:
    """True is no 1."""
    if isinstance(value, bool):
        raise ValueError("a whole number, not a decision")
    return value


# The bounds come first: behind a validator they would be missing from the schema.
Mark = Annotated[int, Field(ge=1, le=5, description="a whole number, 1 to 5"), BeforeValidator(_no_decision)]


class Verdict(Form):
    """What a judge says of one answer."""

    originality: Mark
    feasibility: Mark
    value: Mark
    hallucination: YesNo


JUDGES = {
    role: JudgeQuestion(role, role, Verdict, lambda form: not form.hallucination)
    for role in ("judge", "dhp_judge")
}


def ask(walk: Walk) -> Sequence[Question]:
    """Every answer to every judge; then those again whose reply could not be read."""
    if "judged" in walk.state["turn"]:
        return ()
    again = walk.state["draft"].get("again")
    if again is not None:
        return tuple(question(walk, number, role, seat, reason) for number, role, seat, reason in again)
    return tuple(question(walk, *place) for place in _places(walk))


def question(walk: Walk, number: int, role: str, seat: int, unread: str | None = None) -> Question:
    """Ask a judge for its verdict on one answer; `unread` says why its last reply could not be read."""
    once = asking(walk, unread)
    made = JUDGES[role].ask(
        walk.prompt("judge"),
        round=number + 1,
        seat=seat,
        attempt=once.number,
        question=walk.sample.question,
        answer=walk.state["turn"]["answers"][number],
        again=once.again,
    )
    # Two seats may be one model, whose calls would otherwise have one key.
    return replace(made, draw=seat)


def read_ratings(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The verdicts; the second reading of an unread one stands. When all are in, the memory changes."""
    steps, again = [], []
    for answer in answers:
        asked = answer.question
        value: dict[str, Any] = {"answer": asked.round - 1, "seat": asked.seat}
        verdict = reading(answer, JUDGES[asked.role].read)
        if isinstance(verdict, Unreadable):
            value["status"] = verdict.status
            if verdict.again:
                again.append([asked.round - 1, asked.role, asked.seat, verdict.reason])
        else:
            value |= {"status": "ok", **verdict.parts}
        steps.append(record(answer, value))
    if again:
        return {"steps": steps, "draft": {"again": again}}
    done = [*walk.state["steps"], *steps]
    update: Update = {"steps": steps, "draft": {}, "turn": {**walk.state["turn"], "judged": True}}
    if not any(step["role"] == "judge" and step["value"]["status"] == "ok" for step in done):
        update |= {"outcome": "judge_failed", "why": "no verdict of any judge could be read"}
    elif walk.settings.dhp:
        update["memory"] = memory.after(
            walk.state["memory"], walk.settings, walk.sample.id, rated(walk, done)
        )
    return update


def rated(walk: Walk, steps: Sequence[Any]) -> list[memory.Rated]:
    """The answers of a walk as the judges of its examples see them together (mean_then_threshold)."""
    role = "judge" if walk.settings.dhp_judge == "panel" else "dhp_judge"
    made = []
    for answer in ratings.read_answered(steps, role):
        if answer.status != "ok":
            continue
        table = np.array(answer.ratings, dtype=float).reshape(1, -1, 4)
        marks, hallucinated = ratings.together(table[..., :3], table[..., 3])
        ih, dh = ratings.classify(marks, hallucinated, walk.settings.classes)
        total = float(marks.sum())
        made.append(memory.Rated(answer.text, total, bool(ih.any()), bool(dh.any())))
    return made


def _places(walk: Walk) -> Iterator[tuple[int, str, int]]:
    """The number of each answer, with each role and seat that judges it."""
    separate = walk.settings.dhp and walk.settings.dhp_judge == "separate"
    for number, text in enumerate(walk.state["turn"]["answers"]):
        if text is not None:
            yield from ((number, "judge", seat) for seat in range(walk.seats["judge"]))
            if separate:
                yield number, "dhp_judge", 0
