"""The panel's half: three judges score each idea, and one compares the ideas of a keyword (v2, Methods).

Seats come from a rotation over the data set's own order, so --limit, resume and the order of finishing never
change who judges what. A verdict that cannot be read is asked for once more and is then a judge failure: it
lowers n and is never filled in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, Strict

from lotbench.benchmarks.liveideabench.settings import Walk
from lotbench.harness.benchmark import record, remark
from lotbench.harness.reask import Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.judge import JudgeQuestion
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, prose
from lotbench.types import Answer, Question

Grade = Annotated[int, Strict(), Field(ge=1, le=10, description="1 to 10")]
_LETTER = re.compile(
    r"^\W*(?:(?:the )?(?:answer|grade|option|choice)(?: is)?\b\W*)?([A-D])\W*$", re.IGNORECASE
)


class Scores(Form):
    """A judge's answer in v1."""

    originality: Grade
    feasibility: Grade


class Review(Form):
    """A judge's answer in v2."""

    analysis: Annotated[str, prose(1000, "strengths and weaknesses, under 100 words")]
    originality: Grade
    feasibility: Grade
    clarity: Grade


def _letter(said: object) -> object:
    found = _LETTER.match(said) if isinstance(said, str) else None
    return found[1].upper() if found else said


class Likeness(Form):
    """The answer of the judge of fluency, from completely different to identical."""

    grade: Annotated[Literal["A", "B", "C", "D"], BeforeValidator(_letter)]


SCORING: Mapping[str, JudgeQuestion[Any]] = {
    "v1": JudgeQuestion("judge", "judge", Scores, lambda form: True),
    "v2": JudgeQuestion("judge", "judge", Review, lambda form: True),
}
COMPARING = JudgeQuestion("judge", "compare", Likeness, lambda form: True)

Pair = tuple[int, int]


def judge_ask(walk: Walk) -> Sequence[Question]:
    """Whatever has no verdict yet: each idea from each of its judges, each pair in each order."""
    return (*_scoring(walk), *_comparing(walk))


def judge_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The verdicts, a step each; one that cannot be read has a status and no scores."""
    steps = []
    for answer in answers:
        question = answer.question
        kind: JudgeQuestion[Any] = COMPARING if question.step == "compare" else SCORING[walk.settings.version]
        value: dict[str, Any] = {"judge": question.seat, "model": answer.reply.model}
        if question.step == "compare":
            value["ideas"] = list(_ordered(pairs(walk)[question.round - 1], question.draw))
        verdict = reading(answer, kind.read)
        if isinstance(verdict, Unreadable):
            value |= {"status": verdict.status, "reason": verdict.reason}
        else:
            value |= {"status": "ok", **verdict.parts}
        steps.append(record(answer, value))
    return {"steps": steps}


def grade_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Ideas that are the same, word for word, are D without a call; then the walk is over."""
    steps = [
        remark("compare", number, {"status": "ok", "grade": "D", "how": "identical", "ideas": list(pair)})
        for number, pair in enumerate(pairs(walk), 1)
        if _identical(walk, pair)
    ]
    verdicts = [step for step in walk.state["steps"] if step["step"] == "judge"]
    if verdicts and not any(step["value"]["status"] == "ok" for step in verdicts):
        why = verdicts[-1]["value"]["reason"]
        return {
            "steps": steps,
            "outcome": "judge_failed",
            "why": f"no judge of any idea could be read: {why}",
        }
    return {"steps": steps, "outcome": "scored"}


def judged(walk: Walk) -> dict[int, str]:
    """The ideas that are judged, by number."""
    values = {step["round"]: step["value"] for step in walk.state["steps"] if step["role"] == "candidate"}
    return {number: value["idea"] for number, value in sorted(values.items()) if value["status"] == "ok"}


def pairs(walk: Walk) -> list[Pair]:
    """The pairs of ideas that are compared: all."""
    return list(combinations(judged(walk), 2))


def seats(walk: Walk, number: int) -> list[int]:
    """The seats of an idea's judges: a window on the panel that moves on by one with each idea.

    Every judge sits in as many windows as any other.
    """
    first = _turn(walk) * walk.settings.ideas + number - 1
    return [(first + place) % walk.seats["judge"] for place in range(walk.settings.judges)]


def _turn(walk: Walk) -> int:
    """The place of the walk among all there could be, in the data set's own order."""
    place = next(index for index, one in enumerate(walk.data) if one.id == walk.sample.id)
    return (walk.repeat - 1) * len(walk.data) + place


def _scoring(walk: Walk) -> Iterator[Question]:
    version = walk.settings.version
    for number, idea in judged(walk).items():
        for place, seat in enumerate(seats(walk, number)):
            yield from _open(walk, SCORING[version], f"judge_{version}", (number, place, seat), idea=idea)


def _comparing(walk: Walk) -> Iterator[Question]:
    settings, ideas, seat = walk.settings, judged(walk), _turn(walk) % walk.seats["judge"]
    for number, pair in enumerate(pairs(walk), 1):
        if _identical(walk, pair):
            continue
        for order in range(2 if settings.fluency_orders == "both" else 1):
            one, other = (ideas[n] for n in _ordered(pair, order))
            said = {"keyword": walk.sample.keyword, "one": one, "other": other}
            yield from _open(walk, COMPARING, f"compare_{settings.version}", (number, order, seat), **said)


def _open(
    walk: Walk, kind: JudgeQuestion[Any], prompt: str, place: tuple[int, int, int], **values: Value
) -> Iterator[Question]:
    """The question at a place (round, draw, seat), if it was never put, or once and not answered."""
    number, draw, seat = place
    before: list[Mapping[str, Any]] = [
        step["value"]
        for step in walk.state["steps"]
        if (step["step"], step["round"], step["draw"]) == (kind.step, number, draw)
    ]
    if len(before) > 1 or any(value["status"] == "ok" for value in before):
        return
    once = asking(walk, before[0]["reason"] if before else None)
    asked = kind.ask(
        walk.prompt(prompt), round=number, seat=seat, attempt=once.number, again=once.again, **values
    )
    yield replace(asked, draw=draw)


def _ordered(pair: Pair, order: int) -> Pair:
    return pair if order == 0 else (pair[1], pair[0])


def _identical(walk: Walk, pair: Pair) -> bool:
    one, other = (_plain(judged(walk)[number]) for number in pair)
    return one == other


def _plain(text: str) -> str:
    """A text without what does not make another idea: case, width, punctuation, spacing."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
