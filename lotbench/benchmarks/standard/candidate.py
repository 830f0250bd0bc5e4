"""How a problem is put: what models must write first, notes, then every draw of the answer, unread ones again.

The frameworks of Fig. 9 differ in a line of the prompt, a field of the form, and how often is asked; that is
the table here, and there is one path for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lotbench.benchmarks.standard.answers import (
    LETTERS,
    Caption,
    Notes,
    ReasonedWritten,
    Rewrite,
    Written,
    choosing,
    shown,
    written,
)
from lotbench.benchmarks.standard.oogiri.problems import Problem, same
from lotbench.benchmarks.standard.settings import Settings, Walk
from lotbench.errors import Unread
from lotbench.harness.benchmark import record
from lotbench.harness.reask import Attempt, Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, read_form, schema, shape
from lotbench.types import Answer, Question


@dataclass(frozen=True, slots=True)
class Framework:
    """How the candidate is made to think: a line of the prompt, reasoning in the form, votes, notes before."""

    method: str
    reasoned: bool = False
    votes: bool = False
    notes: bool = False


FRAMEWORKS = {
    "direct": Framework("method_direct"),
    "cot": Framework("method_cot", reasoned=True),
    "cot_sc": Framework("method_cot", reasoned=True, votes=True),
    "ddcot": Framework("method_ddcot", notes=True),
    "plot": Framework("method_plot"),
}


def draws(settings: Settings, one: Problem) -> int:
    """How many answers to a problem are drawn: its votes."""
    return settings.votes if FRAMEWORKS[settings.framework].votes and one.kind != "generate" else 1


def ask(walk: Walk) -> Sequence[Question]:
    """The captioner and the rewriter first, notes if the framework takes them, then the candidate."""
    if walk.step != "respond":
        return ()
    if wanted := _preparations(walk):
        return tuple(_prepare(walk, step) for step in wanted)
    draft, framework = walk.state["draft"], FRAMEWORKS[walk.settings.framework]
    if framework.notes and "notes" not in draft:
        return (_question(walk, "decompose", Notes),)
    answers = walk.state["turn"].get("answers", {})
    missing = [draw for draw in range(draws(walk.settings, walk.sample)) if str(draw) not in answers]
    return tuple(_response(walk, draw) for draw in missing)


def read_answers(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What the answers change; the panel has no judge here, and its last node ends the walk."""
    if walk.step == "grade":
        return {"outcome": "scored"}
    if not answers:
        return {}
    step = answers[0].question.step
    if step in PREPARATIONS:
        return _prepared(walk, answers)
    if step == "decompose":
        return _noted(walk, answers[0])
    return _responded(walk, answers)


PREPARATIONS: dict[str, tuple[str, type[Form]]] = {
    "caption": ("captioner", Caption),
    "rewrite": ("rewriter", Rewrite),
}
"""What a model writes before the candidate is asked: the step, who is asked, and the form."""
TASKS = {"5t2": "task_two"}
"""What is to be chosen, as a line of the prompt; by default the one right option."""
WRITTEN = {"captioner": "caption", "rewriter": "rewrite"}
"""The steps in which options are written, by their origin."""


def _preparations(walk: Walk) -> list[str]:
    """The steps that are still to be taken before the candidate sees the problem."""
    one, origins = walk.sample, {option.origin for option in walk.sample.options}
    seen = walk.settings.arm == "caption" and walk.settings.captions == "captioner" and one.image is not None
    wanted = [
        step
        for step, needed in (("caption", seen or "captioner" in origins), ("rewrite", "rewriter" in origins))
        if needed and step not in walk.state["shared"]
    ]
    # One role at a time: the walk that a call ends is named for the role that failed.
    return wanted[:1]


def _prepare(walk: Walk, step: str) -> Question:
    """A shared question: one caption a picture and one rewrite a response, for all walks and runs."""
    one, (role, form), draft = walk.sample, PREPARATIONS[step], walk.state["draft"]
    once = asking(walk, draft.get("unread"))
    values: dict[str, Value] = {"shape": shape(form), "again": once.again}
    if step == "caption":
        values["image"], about = walk.pictures.get(one.id), one.group
    else:
        values |= {"response": one.options[0].text, "question": _question_line(walk)}
        if "manner" in walk.prompt(step).fields:
            values["manner"] = walk.prompt("lines").line(f"rewriting_{walk.settings.rewriting}")
        about = str(one.options[0].row)
    messages = walk.prompt(step).messages(**values)
    return Question(role, step, messages, schema(form), attempt=once.number, shared=True, about=about)


def _prepared(walk: Walk, answers: Sequence[Answer]) -> Update:
    """A text that cannot be read, or that rewrites nothing, is asked for once more; then the walk ends."""
    answer, step = answers[0], answers[0].question.step
    text = reading(answer, partial(_preparation, walk))
    if isinstance(text, Unreadable):
        steps = [record(answer, {step: None, "status": text.status})]
        if text.again:
            return {"draft": {**walk.state["draft"], "unread": text.reason}, "steps": steps}
        role, why = answer.question.role, f"{text.status}: {text.reason}"
        return {"outcome": f"{role}_failed", "why": why, "steps": steps}
    steps = [record(answer, {step: text, "status": "ok"})]
    return {"shared": {**walk.state["shared"], step: text}, "draft": {}, "steps": steps}


def _preparation(walk: Walk, answer: Answer) -> str:
    """The caption or the rewrite that a reply is.

    Raises:
        Unread: It is neither, or rewrites nothing.
    """
    step = answer.question.step
    text = str(read_form(answer.reply, PREPARATIONS[step][1]).model_dump()[step])
    if step == "rewrite" and same(text) == same(walk.sample.options[0].text or ""):
        raise Unread("unparsed", "the rewrite is the response itself")
    return text


def _noted(walk: Walk, answer: Answer) -> Update:
    """Notes that cannot be read are none; the walk goes on without them."""
    try:
        notes, status = read_form(answer.reply, Notes).notes, "ok"
    except Unread as error:
        notes, status = "", error.kind
    steps = [record(answer, {"notes": notes, "status": status})]
    return {"draft": {**walk.state["draft"], "notes": notes}, "steps": steps}


def _response(walk: Walk, draw: int) -> Question:
    settings, kind = walk.settings, walk.sample.kind
    temperature = None
    if kind == "generate":
        temperature = settings.write_temperature
    elif FRAMEWORKS[settings.framework].votes:
        temperature = settings.vote_temperature
    return replace(_question(walk, "respond", form_of(walk), draw), temperature=temperature)


def form_of(walk: Walk) -> type[Form]:
    """The form of the answer to a problem."""
    one, reasoned = walk.sample, FRAMEWORKS[walk.settings.framework].reasoned
    if one.kind == "generate":
        return ReasonedWritten if reasoned else Written
    return choosing(len(one.options), one.wanted, reasoned)


def _responded(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Each draw is read by itself; one that cannot be read is asked for again once, unless it was refused."""
    answered = dict(walk.state["turn"].get("answers", {}))
    again: dict[str, str] = {}
    steps = []
    for answer in answers:
        draw = str(answer.question.draw)
        found = reading(answer, partial(_read, walk), refusal_stands=True)
        if isinstance(found, Unreadable):
            steps.append(record(answer, {"status": found.status}))
            if found.again:
                again[draw] = found.reason
            else:
                answered[draw] = None
            continue
        answered[draw], value = found
        steps.append(record(answer, {**value, "status": "ok"}))
    draft = {**walk.state["draft"], "again": again}
    return {"turn": {"answers": answered}, "draft": draft, "steps": steps}


def _read(walk: Walk, answer: Answer) -> tuple[Any, dict[str, Any]]:
    """What a reply says: options by index, or a free response; and all that it says, for the trace."""
    one, form = walk.sample, form_of(walk)
    if one.kind == "generate":
        said = read_form(answer.reply, form).model_dump()
        if not said["response"].strip():
            raise Unread("unparsed", "the response is empty")
        return said["response"].strip(), said
    order = shown(walk, one)
    picked, filled = written(answer.reply, form, order)
    return picked, {**filled, "picked": picked, "shown": order}


def _question(walk: Walk, step: str, form: type[Form], draw: int = 0) -> Question:
    """A question to the candidate: rules first, the problem last."""
    one, settings, draft, lines = walk.sample, walk.settings, walk.state["draft"], walk.prompt("lines")
    values: dict[str, Value] = _scene(walk) | {"options": _listed(walk) if one.options else None}
    once = Attempt()
    if step == "decompose":
        values["shape"] = shape(form)
        name = step
    else:
        name = "write" if one.kind == "generate" else "rank" if one.kind == "rank" else "choose"
        once = asking(walk, draft.get("again", {}).get(str(draw)))
        values["method"] = lines.line(FRAMEWORKS[settings.framework].method)
        values["rationale"] = lines.line("rationale", text=draft["notes"]) if draft.get("notes") else None
        values["again"] = once.again
        values["form"] = lines.line("form", shape=shape(form))
    if name == "choose":
        values["task"] = lines.line(TASKS.get(one.kind, "task_one"))
    if name == "write":
        del values["options"]
    messages = walk.prompt(name).messages(**values)
    return Question("candidate", step, messages, schema(form), draw=draw, attempt=once.number)


def _scene(walk: Walk) -> dict[str, Value]:
    """What the candidate is shown of the prompt: its arm of the picture, and the question."""
    one, settings, lines = walk.sample, walk.settings, walk.prompt("lines")
    picture = walk.pictures.get(one.id) if settings.arm == "image" else None
    caption = walk.state["shared"].get("caption") or one.caption
    described = settings.arm == "caption" and one.image is not None
    return {
        "image": picture,
        "image_label": lines.line("image") if picture else None,
        "caption": lines.line("caption", text=caption) if described and caption else None,
        "question": _question_line(walk),
    }


def _question_line(walk: Walk) -> str | None:
    asked = walk.sample.question
    return walk.prompt("lines").line("question", text=asked) if asked else None


def _listed(walk: Walk) -> str:
    """The options, a letter and a line each."""
    made = walk.state["shared"]
    texts = [option.text or str(made[WRITTEN[option.origin]]) for option in walk.sample.options]
    order = shown(walk, walk.sample)
    return "\n".join(f"{LETTERS[place]}. {' '.join(texts[i].split())}" for place, i in enumerate(order))
