"""The candidate's half: ten answers to a task, under one of four prompts (Sec. 4; App. A.1, D).

Answers are plain text. One that is refused, empty or cut off stays what it is: it is counted, never scored
and never asked for again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lotbench.benchmarks.hicbench import memory
from lotbench.benchmarks.hicbench.settings import Settings, Walk
from lotbench.errors import Unread
from lotbench.harness.benchmark import record
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import plain
from lotbench.types import Answer, Question

PIECE = re.compile(r"\w+|[^\w\s]")


def ask(walk: Walk) -> Sequence[Question]:
    """Every answer at once: a draw each."""
    if "answers" in walk.state["turn"]:
        return ()
    settings = walk.settings
    messages = walk.prompt(settings.strategy).messages(**_values(walk))
    return tuple(
        Question(
            "candidate",
            "respond",
            messages,
            round=walk.round,
            draw=draw,
            max_tokens=settings.answer_tokens if settings.answer_cap == "cut" else None,
        )
        for draw in range(settings.answers)
    )


def read_answers(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The texts that can be judged; a walk without any is a failure of the candidate."""
    settings = walk.settings
    values = [_answer(answer, settings) for answer in answers]
    steps = [record(answer, value) for answer, value in zip(answers, values, strict=True)]
    update: Update = {"turn": {"answers": [value["answer"] for value in values]}, "steps": steps}
    if not any(value["status"] == "ok" for value in values):
        update |= {"outcome": "candidate_failed", "why": f"none of {len(values)} answers could be read"}
    return update


def tokens(text: str) -> int:
    """The length of an answer in tokens, about: its words and marks (tokenizers hardly need fewer)."""
    return len(PIECE.findall(text))


def _values(walk: Walk) -> dict[str, Value]:
    """What the strategy's prompt is filled with."""
    settings, sample = walk.settings, walk.sample
    values: dict[str, Value] = {
        "field": sample.field,
        "question": sample.question,
        "tokens": str(settings.answer_tokens),
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
    over = answer.reply.finish == "length" or tokens(text) > settings.answer_tokens
    return {"status": "ok", "answer": text, "over_length": over}
