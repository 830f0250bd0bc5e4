"""The candidate's half: ten answers to a task, under one of four prompts (Sec. 4; App. A.1, D).

Answers are plain text. One that is refused, empty or cut off stays what it is: it is counted, never scored
and never asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.hicbench import memory
from lotbench.benchmarks.hicbench.settings import Settings, Walk
from lotbench.errors import Unread
from lotbench.harness.benchmark import record, remark
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import plain
from lotbench.types import JSON, Answer, Question

PIECE = re.compile(r"\w+|[^\w\s]")
NUMBERED = re.compile(r"^\W*(?:answer\s*)?(\d{1,3})\s*[.):][\s*_]*", re.IGNORECASE | re.MULTILINE)


def ask(walk: Walk) -> Sequence[Question]:
    """Every answer at once: a draw each, or all in one reply."""
    if "answers" in walk.state["turn"]:
        return ()
    settings = walk.settings
    calls = 1 if settings.one_call else settings.answers
    longest = settings.answer_tokens * (settings.answers if settings.one_call else 1)
    messages = walk.prompt(settings.strategy).messages(**_values(walk))
    return tuple(
        Question(
            "candidate",
            "respond",
            messages,
            round=walk.round,
            draw=draw,
            max_tokens=longest if settings.answer_cap == "cut" else None,
        )
        for draw in range(calls)
    )


def read_answers(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The texts that can be judged; a walk without any is a failure of the candidate."""
    settings = walk.settings
    values = [_answer(answer, settings) for answer in answers]
    steps = [record(answer, value) for answer, value in zip(answers, values, strict=True)]
    if settings.one_call:
        values = _split(values[0], settings)
        steps += [remark("answer", walk.round, value) | {"draw": at} for at, value in enumerate(values)]
    update: Update = {"turn": {"answers": [value["answer"] for value in values]}, "steps": steps}
    if not any(value["status"] == "ok" for value in values):
        update |= {"outcome": "candidate_failed", "why": f"none of {len(values)} answers could be read"}
    return update


def tokens(text: str) -> int:
    """The length of an answer in tokens, about: its words and marks (tokenizers hardly need fewer)."""
    return len(PIECE.findall(text))


def _values(walk: Walk) -> dict[str, Value]:
    """What the strategy's prompt is filled with."""
    settings, sample, lines = walk.settings, walk.sample, walk.prompt("lines")
    many = settings.one_call and settings.answers > 1
    layout = lines.line("many", answers=str(settings.answers)) if many else lines.line("one")
    values: dict[str, Value] = {
        "field": sample.field,
        "question": sample.question,
        "tokens": str(settings.answer_tokens),
        "each": lines.line("each") if many else "",
        "layout": layout,
        **{name: None for name in ("good", "bad")},
    }
    if settings.strategy == "rag":
        values["knowledge"] = getattr(sample, settings.rag_source)
    if settings.dhp:
        shown = memory.shown(walk.state["memory"], settings)
        values |= {name: walk.prompt("dhp").line(name, text=text) for name, text in shown.items()}
    return values


def _answer(answer: Answer, settings: Settings) -> dict[str, Any]:
    """One reply, as the step has it."""
    try:
        text = plain(answer.reply, cut=settings.answer_cap == "cut")
    except Unread as error:
        return {"status": error.kind, "answer": None, "over_length": False}
    return _value(text, settings, cut=answer.reply.finish == "length")


def _value(text: str, settings: Settings, *, cut: bool = False) -> dict[str, Any]:
    over = cut or tokens(text) > settings.answer_tokens
    return {"status": "ok", "answer": text, "over_length": over}


def _split(value: Mapping[str, JSON], settings: Settings) -> list[dict[str, Any]]:
    """The answers of one reply; those that are not there are unparsed."""
    found = split(str(value["answer"]), settings.answers) if value["status"] == "ok" else []
    status = "unparsed" if value["status"] == "ok" else str(value["status"])
    missing = {"status": status, "answer": None, "over_length": False}
    return [*(_value(text, settings) for text in found), *[missing] * (settings.answers - len(found))]


def split(text: str, answers: int) -> list[str]:
    """The numbered answers of a reply, from 1 on without a gap, at most so many; or one a line.

    A number inside an answer begins no other: only the number that is due does.
    """
    starts: list[re.Match[str]] = []
    for match in NUMBERED.finditer(text):
        if int(match[1]) == len(starts) + 1:
            starts.append(match)
    if not starts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines if len(lines) == answers else []
    ends = [match.start() for match in starts[1:]] + [len(text)]
    found = [text[match.end() : end].strip() for match, end in zip(starts, ends, strict=True)]
    return [one for one in found[:answers] if one]
