"""The candidate's half of a round: respond, ask, answer, reveal (Alg. 1; App. A-C).

Each step is a pair of pure functions: the questions to put, and what the answers change. A step is done
when its part of the `turn` is there. Nothing that the candidate may not know is ever put into one of its
prompts: its scene is built here, from the picture, the caption, the frame and the history alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from lotbench.benchmarks.lotbench import encore, responses, whole, words
from lotbench.benchmarks.lotbench.conversation import grown, say
from lotbench.benchmarks.lotbench.questions import question
from lotbench.benchmarks.lotbench.settings import Walk, reveals
from lotbench.benchmarks.lotbench.whole import ReasonedWritten, Written
from lotbench.errors import Unread
from lotbench.harness.benchmark import record, remark
from lotbench.harness.reask import Attempt, Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, prose, read_form, schema, shape, yes_or_no
from lotbench.types import JSON, Answer, Message, Question

REASONING = prose(1200, "step by step")


class Filling(Form):
    """The answer of respond."""

    filling: Annotated[str, prose(120)]


class ReasonedFilling(Form):
    """The answer of respond when reasoning is asked for."""

    reasoning: Annotated[str, REASONING]
    filling: Annotated[str, prose(120)]


class Asking(Form):
    """The answer of ask."""

    question: Annotated[str, prose(240)]


class ReasonedAsking(Form):
    """The answer of ask when reasoning is asked for."""

    reasoning: Annotated[str, REASONING]
    question: Annotated[str, prose(240)]


class Notes(Form):
    """Small questions with their answers (DDCoT)."""

    notes: Annotated[str, prose(1200, "the small questions, each with its answer, and the best direction")]


_TOLD: Mapping[object, str] = {True: "Yes", False: "No"}
_UNCLEAR = ("unclear", "不清楚")


def _told(said: object) -> object:
    """An answer in any of its words (`yes.`, 否, 不清楚) as the form has it."""
    if isinstance(said, str) and said.strip(" .!。！").casefold() in _UNCLEAR:
        return "Unclear"
    return _TOLD.get(yes_or_no(said), said)


class Told(Form):
    """The answer of the oracle, as in the paper."""

    answer: Annotated[Literal["Yes", "No"], BeforeValidator(_told)]


class ToldIfClear(Form):
    """The answer of an oracle that need not decide."""

    answer: Annotated[Literal["Yes", "No", "Unclear"], BeforeValidator(_told)]


ANSWERS: Mapping[str, type[Told] | type[ToldIfClear]] = {"yes_no": Told, "yes_no_unclear": ToldIfClear}
"""The form of the oracle's answer, by `oracle_says`."""


@dataclass(frozen=True, slots=True)
class Framework:
    """How the candidate is made to think: a line of the prompt, a form, and how often it is asked."""

    method: str
    filling: type[Filling] | type[ReasonedFilling] = Filling
    written: type[Written] | type[ReasonedWritten] = Written
    asking: type[Asking] | type[ReasonedAsking] = Asking
    votes: bool = False
    notes: bool = False


FRAMEWORKS = {
    "direct": Framework("method_direct"),
    "cot": Framework("method_cot", ReasonedFilling, ReasonedWritten, ReasonedAsking),
    "cot_sc": Framework("method_cot", ReasonedFilling, ReasonedWritten, ReasonedAsking, votes=True),
    "ddcot": Framework("method_ddcot", notes=True),
    "plot": Framework("method_plot"),
}


def respond_ask(walk: Walk) -> Sequence[Question]:
    """One filling, or as many as there are votes; notes first where the framework takes them."""
    if "status" in walk.state["turn"]:
        return ()
    framework = FRAMEWORKS[walk.settings.framework]
    if framework.notes and "notes" not in walk.state["draft"]:
        return (_question(walk, "decompose", Notes),)
    votes = walk.settings.votes if framework.votes else 1
    form = framework.written if walk.settings.whole else framework.filling
    return tuple(_question(walk, "respond", form, draw) for draw in range(votes))


def respond_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The filling that most draws agree on, the first of them in a tie; asked for again once."""
    if answers[0].question.step == "decompose":
        return _notes(walk, answers[0])
    readings = [reading(answer, partial(_filling, walk), refusal_stands=True) for answer in answers]
    unread = [one for one in readings if isinstance(one, Unreadable)]
    values = [
        {"filling": None, "status": one.status} if isinstance(one, Unreadable) else one for one in readings
    ]
    steps = [record(answer, value) for answer, value in zip(answers, values, strict=True)]
    if valid := [value for value in values if value["status"] == "ok"]:
        counts = Counter(words.same(value["filling"]) for value in valid)
        turn = max(valid, key=lambda value: counts[words.same(value["filling"])])
        if len(answers) > 1:
            votes = {"votes": counts[words.same(turn["filling"])], "of": len(answers)}
            steps.append(remark("respond", walk.round, {**turn, **votes}))
        return {"turn": turn, "draft": {}, "steps": steps}
    if again := [one.reason for one in unread if one.again]:
        return {"draft": {**walk.state["draft"], "unread": again[-1]}, "steps": steps}
    return {"turn": values[-1], "draft": {}, "steps": steps}


def _filling(walk: Walk, answer: Answer) -> dict[str, Any]:
    """What one reply is as a filling, or as a whole response where no frame is shown.

    Raises:
        Unread: It is none.
    """
    settings, framework = walk.settings, FRAMEWORKS[walk.settings.framework]
    if settings.whole:
        said = read_form(answer.reply, framework.written).response
        text = responses.response(said, settings.max_response_words, settings.max_response_characters)
    else:
        said = read_form(answer.reply, framework.filling).filling
        text = words.filling(said, walk.sample.frame, settings.max_words, settings.max_characters)
    mismatch = words.other_language(text, walk.sample.language)
    value: dict[str, Any] = {"filling": text, "status": "ok", "language_mismatch": mismatch}
    return value | ({"whole": True} if settings.whole else {})


def ask_ask(walk: Walk) -> Sequence[Question]:
    """One yes/no question about the missing text, if questions are asked at all."""
    turn = walk.state["turn"]
    # An answer that counted is followed by no question: the game goes on from it only where there is an encore.
    if not walk.settings.ask or "question" in turn or turn.get("verdict"):
        return ()
    framework = FRAMEWORKS[walk.settings.framework]
    if framework.notes and "notes" not in walk.state["draft"]:
        return (_question(walk, "decompose", Notes, draw=1),)
    return (_question(walk, "ask", framework.asking),)


def ask_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The question, and whether it leaks; one that is none is asked for again once, then there is none."""
    turn = walk.state["turn"]
    if not answers:
        return {"turn": {**turn, "question": None}}
    answer = answers[0]
    if answer.question.step == "decompose":
        return _notes(walk, answer)
    said = reading(answer, partial(_asked, walk), refusal_stands=True)
    if isinstance(said, Unreadable):
        step = record(answer, {"question": None, "status": said.status, "leak": False})
        if said.again:
            return {"draft": {**walk.state["draft"], "unread": said.reason}, "steps": [step]}
        return {"turn": {**turn, "question": None}, "draft": {}, "steps": [step]}
    tried = [past["filling"] for past in walk.state["history"] if past.get("filling")]
    if turn["filling"]:
        tried.append(turn["filling"])
    leak = words.leaks(said, [*whole.secrets(walk.sample, whole=walk.settings.whole), *tried])
    value: dict[str, JSON] = {"question": said, "status": "ok", "leak": leak}
    return {"turn": {**turn, "question": said}, "draft": {}, "steps": [record(answer, value)]}


def _asked(walk: Walk, answer: Answer) -> str:
    """What one reply asks.

    Raises:
        Unread: It is no question that can be put.
    """
    before = [past["question"] for past in walk.state["history"] if past.get("question")]
    said = read_form(answer.reply, FRAMEWORKS[walk.settings.framework].asking).question
    return question(said, before)


def answer_ask(walk: Walk) -> Sequence[Question]:
    """The question goes to the oracle, which knows what `oracle_sees` says and no more."""
    if "answer" in walk.state["turn"]:
        return ()
    form = ANSWERS[walk.settings.oracle_says]
    name = whole.prompt("answer", walk.settings)
    messages = walk.prompt(name).messages(
        **_unclear(walk, name, "may_be_unclear"),
        shape=shape(form),
        question=walk.state["turn"]["question"],
        **_known_to_oracle(walk),
    )
    return (Question("oracle", "answer", messages, schema(form), round=walk.round),)


def _unclear(walk: Walk, prompt: str, line: str) -> dict[str, Value]:
    """What a prompt says of the answer Unclear; packs of before there was one have no field for it."""
    if "unclear" not in walk.prompt(prompt).fields:
        return {}
    return {"unclear": walk.prompt("lines").line(line) if walk.settings.oracle_says != "yes_no" else None}


def _known_to_oracle(walk: Walk) -> dict[str, Value]:
    """What the oracle answers by: as much as `oracle_sees` says; of a whole response it always sees all."""
    sees, sample, lines = walk.settings.oracle_sees, walk.sample, walk.prompt("lines")
    if walk.settings.whole:
        return {
            "caption": lines.line("oracle_scene", text=sample.caption) if sees == "scene" else None,
            "response": sample.response,
            "key": lines.line("key", text=sample.key_text),
        }
    return {
        "caption": lines.line("oracle_caption", text=sample.caption) if sees == "scene" else None,
        "response": lines.line("oracle_response", text=sample.response) if sees != "key_text" else None,
        "key_text": sample.key_text,
    }


def answer_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Yes, No, Unclear, or missing: an answer that cannot be read is told to nobody and counted."""
    try:
        told: str | None = read_form(answers[0].reply, ANSWERS[walk.settings.oracle_says]).answer
        value: dict[str, JSON] = {"answer": told, "status": "ok"}
    except Unread as error:
        told, value = None, {"answer": None, "status": error.kind}
    return {"turn": {**walk.state["turn"], "answer": told}, "steps": [record(answers[0], value)]}


def reveal_read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Close the round: after every `clue_interval` failed rounds clues join what is known, and an earned frame."""
    settings, done, turn = walk.settings, walk.round, walk.state["turn"]
    schedule = reveals(walk.sample.clues, settings)
    turn_over, off = divmod(encore.failed(walk) + 1, settings.clue_interval)
    due = off == 0 and not turn.get("verdict")
    clues = schedule[turn_over - 1] if due and 0 < turn_over <= len(schedule) else []
    if settings.clue_reveal == "grouped" and clues:
        # An entry of the paper's clue set holds several facts (Sec. 5.3).
        clues = [("" if words.CJK.search(clues[0]) else " ").join(clues)]
    shown: dict[str, JSON] = {"clues": clues}
    if due and (frame := whole.frame_at(walk.sample, settings, turn_over)):
        shown["frame"] = frame
    steps = [remark("reveal", done, shown)] if clues or "frame" in shown else []
    return {"history": [{**turn, **shown}], "turn": {}, "draft": {}, "round": done + 1, "steps": steps}


def _notes(walk: Walk, answer: Answer) -> Update:
    """Notes that cannot be read are none; the game goes on without them."""
    try:
        notes, status = read_form(answer.reply, Notes).notes, "ok"
    except Unread as error:
        notes, status = "", error.kind
    draft = {**walk.state["draft"], "notes": notes}
    return {"draft": draft, "steps": [record(answer, {"notes": notes, "status": status})]}


def _question(walk: Walk, step: str, form: type[Form], draw: int = 0) -> Question:
    """A question to the candidate: static part first, history last, so that prefixes can be cached."""
    draft, lines, once = walk.state["draft"], walk.prompt("lines"), Attempt()
    rationale = None
    if step != "decompose":
        rationale = lines.line("rationale", text=draft["notes"]) if draft.get("notes") else None
        once = asking(walk, draft.get("unread"))
    if walk.settings.conversation == "growing":
        messages = say(_grown(walk, step, form), rationale, once.again)
    else:
        name = whole.prompt(step, walk.settings)
        values: dict[str, Value] = {**_scene(walk), **_tips_of(walk), "shape": shape(form)}
        if step != "decompose":
            values |= {"method": _method(walk), "rationale": rationale, "again": once.again}
        if step == "respond":
            values |= _limits(walk)
        messages = walk.prompt(name).messages(**values, **_unclear(walk, name, "told_unclear"))
    return Question(
        "candidate", step, messages, schema(form), round=walk.round, draw=draw, attempt=once.number
    )


def _grown(walk: Walk, step: str, form: type[Form]) -> list[Message]:
    """The conversation of a game up to what is asked next."""
    framework = FRAMEWORKS[walk.settings.framework]
    shapes: dict[str, type[Form]] = {
        "respond": framework.written if walk.settings.whole else framework.filling,
        "ask": framework.asking,
        step: form,
    }
    rules = _unclear(walk, whole.prompt("talk", walk.settings), "told_unclear")
    return grown(walk, step, {**_scene(walk), **_limits(walk), "method": _method(walk), **rules}, shapes)


def _method(walk: Walk) -> str:
    return walk.prompt("lines").line(FRAMEWORKS[walk.settings.framework].method)


def _limits(walk: Walk) -> dict[str, Value]:
    """How long a filling, or a whole response, may be."""
    limits = walk.settings
    most = (limits.max_words, limits.max_characters)
    if limits.whole:
        most = (limits.max_response_words, limits.max_response_characters)
    return {"max_words": str(most[0]), "max_characters": str(most[1])}


def _scene(walk: Walk) -> dict[str, Value]:
    """What the candidate is shown of the sample: its arm of the scene, and the frame if it is shown."""
    arm, sample, lines = walk.settings.arm, walk.sample, walk.prompt("lines")
    picture = walk.pictures.get(sample.id) if "image" in arm else None
    scene: dict[str, Value] = {
        "image": picture,
        "image_label": lines.line("image") if picture else None,
        "caption": lines.line("caption", text=sample.caption) if "caption" in arm else None,
    }
    return scene if walk.settings.whole else {**scene, "frame": sample.frame}


def _tips_of(walk: Walk) -> dict[str, Value]:
    return {"tips": "\n".join(_tips(walk)) if walk.settings.feedback else None}


def _tips(walk: Walk) -> list[str]:
    """One line for each thing that the candidate knows, oldest first."""
    lines, told = walk.prompt("lines"), []
    for past in [*walk.state["history"], walk.state["turn"]]:
        if past.get("filling"):
            told.append(lines.line("found" if past.get("verdict") else "wrong", text=past["filling"]))
        if past.get("question") and past.get("answer"):
            told.append(lines.line("question", text=past["question"]))
            told.append(lines.line("answer", text=lines.line(past["answer"].lower())))
        told.extend(lines.line("clue", text=clue) for clue in past.get("clues", ()))
        if past.get("frame"):
            told.append(lines.line("frame", text=past["frame"]))
    return told
