"""What a request asks of a person: the same words without their JSON, and one plain field for each answer; pure.

A model is told to fill a form in JSON. A person is asked for a line of text, yes or no, a number or a choice,
and the form is filled in for them, so the records of both are alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lotbench.errors import UsageError
from lotbench.types import JSON, Image, Message, Request

Kind: TypeAlias = Literal["line", "yes_no", "choice", "number", "lines"]

_FORM = re.compile(r'(?:^[^\n]*[:：][ ]*\n)?^\{\n(?:  "[^"\n]+": .*\n)+\}[ ]*\n?', re.MULTILINE)
"""The form, with the line that announces it."""
_FILLED = re.compile(r'\{"[a-z_]+": ("(?:[^"\\\n]|\\.)*+")\}')
"""A form of one text as an example shows it."""
_PROMPT = re.compile(r"\n[^\n:：]{1,12}[:：]\s*$")
"""A last line that only says that the answer comes next."""
_LABELLED = re.compile(r"^(?:- )?(?P<label>[A-Z][A-Z0-9 _-]{0,24}|[\u4e00-\u9fff]{1,8})[:：]\s?(?P<text>.*)$")
_YES = ("yes", "y", "true", "是")
_NO = ("no", "n", "false", "否")
_MEANING = {"...": ""}
_LABELS = {
    "NOT IT": "not it",
    "Q": "you asked",
    "A": "answer",
    "IMAGE CAPTION": "scene",
    "RESPONSE": "joke",
    "CLUE": "clue",
    "FRAME": "part of the joke",
    "FOUND": "it counts",
}
"""Labels of a prompt in the words of people; others stay as they are."""
_WORDS = {"<MASK>": "____", "WRONG-ANS": "NOT IT", "Q and A": "QUESTION and ANSWER", "guess": "guess"}
_LABEL = re.compile(r"^([^\S\n]*+)(Q|A)(?=: )", re.MULTILINE)
"""A question and its answer in an example."""
LONGEST = 4_000
"""Characters of an answer whose form has no bound."""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that a person is asked for.

    Attributes:
        about: What is to stand there; empty where the name says it.
        choices: What may be chosen, of a choice.
        longest: Characters at most, of a line.
    """

    name: str
    kind: Kind
    about: str = ""
    choices: tuple[str, ...] = ()
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class Interview:
    """A request as a person sees it.

    Attributes:
        rules: What stays the same from request to request.
        told: What is asked about, line by line: a label, or "", and its text.
        pictures: The sha256 of each picture.
    """

    rules: str
    told: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]
    fields: tuple[Field, ...]


def interview(request: Request) -> Interview:
    """Return what a request asks of a person."""
    rules = [_plain(_text(message.parts)) for message in request.messages if message.speaker == "system"]
    turns = [_turn(message) for message in request.messages if message.speaker != "system"]
    digests = (
        part.sha256 for message in request.messages for part in message.parts if isinstance(part, Image)
    )
    properties: Any = (request.schema or {}).get("properties") or {"answer": {"type": "string"}}
    return Interview(
        rules=_LABEL.sub(lambda match: match[1] + _LABELS[match[2]].upper(), "\n\n".join(rules)),
        told=tuple(_lines("\n".join(turns))),
        pictures=tuple(dict.fromkeys(digests)),
        fields=tuple(_field(name, about) for name, about in properties.items()),
    )


def filled(request: Request, answers: Mapping[str, object]) -> str:
    """Return the reply to a request, from what a person gave for each of its fields.

    Raises:
        UsageError: A field is missing, too long, or not what was asked for, by name.
    """
    values = {field.name: read_field(field, answers.get(field.name)) for field in interview(request).fields}
    if request.schema is None:
        return str(values["answer"])
    return json.dumps(values, ensure_ascii=False)


def read_field(field: Field, value: object) -> JSON:
    """Return what a person gave for a field, as the form wants it.

    Raises:
        UsageError: It is missing, too long, or not what was asked for.
    """
    text = value.strip() if isinstance(value, str) else ""
    name = field.name.replace("_", " ")
    if not text:
        raise UsageError(f"{name}: nothing is given")
    if len(text) > field.longest:
        raise UsageError(f"{name}: {len(text)} characters, more than {field.longest}")
    if field.kind == "yes_no":
        if text.lower() not in (*_YES, *_NO):
            raise UsageError(f"{name}: yes or no, not {text[:40]!r}")
        return text.lower() in _YES
    if field.kind == "choice":
        chosen = [choice for choice in field.choices if choice.lower().startswith(text.lower())]
        if text in field.choices:
            return text
        if len(chosen) != 1:
            raise UsageError(f"{name}: one of {', '.join(field.choices)}, not {text[:40]!r}")
        return chosen[0]
    if field.kind == "number":
        try:
            return int(text) if re.fullmatch(r"[-+]?\d{1,18}", text) else float(text)
        except ValueError:
            raise UsageError(f"{name}: a number, not {text[:40]!r}") from None
    return [line.strip() for line in text.splitlines() if line.strip()] if field.kind == "lines" else text


def _field(name: str, about: Mapping[str, Any]) -> Field:
    text = str(about.get("description", ""))
    text = _MEANING.get(text, text)
    if about.get("enum"):
        return Field(name, "choice", text, tuple(map(str, about["enum"])))
    kinds: dict[object, Kind] = {
        "boolean": "yes_no",
        "integer": "number",
        "number": "number",
        "array": "lines",
    }
    kind = kinds.get(about.get("type"), "line")
    return Field(name, kind, text, longest=int(about.get("maxLength", LONGEST)))


def _text(parts: tuple[str | Image, ...]) -> str:
    return "".join(part if isinstance(part, str) else "\n" for part in parts)


def _turn(message: Message) -> str:
    """Return a turn of a conversation; the person's own is labelled as theirs."""
    text = _PROMPT.sub("", _plain(_text(message.parts)))
    return f"YOU: {text}" if message.speaker == "assistant" else text


def _plain(text: str) -> str:
    """Return a text without its form, and examples without theirs."""
    plain = _FILLED.sub(lambda match: json.loads(match[1]), _FORM.sub("", text)).strip("\n")
    for written, meant in _WORDS.items():
        plain = plain.replace(written, meant)
    return plain


def _lines(text: str) -> list[tuple[str, str]]:
    """Return lines with their labels; one that is empty, or a label with nothing after it, is left out."""
    rows = []
    for line in text.splitlines():
        match = _LABELLED.match(line)
        label, rest = (match["label"], match["text"]) if match else ("", line)
        if rest.strip():
            rows.append((_LABELS.get(label, label), rest.strip()))
    return rows
