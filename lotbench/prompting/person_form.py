"""Requests for people: the text of a prompt without its JSON, and one input field for each field of the reply.

People answer with a line of text, yes or no, a number or a choice. The JSON reply is made from that, so records of people
and models have the same fields.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lotbench.errors import UsageError
from lotbench.types import JSON, Image, Message, Request

Kind: TypeAlias = Literal["line", "yes_no", "choice", "number", "lines"]

_FORM = re.compile(r'(?:^[^\n]*[:：][ ]*\n)?^\{\n(?:  "[^"\n]+": .*\n)+\}[ ]*\n?', re.MULTILINE)
"""The JSON form in a prompt, with the line before it."""
_FILLED = re.compile(r'\{"[a-z_]+": ("(?:[^"\\\n]|\\.)*+")\}')
"""A form with one text field, as in an example."""
_PROMPT = re.compile(r"\n[^\n:：]{1,12}[:：]\s*$")
"""A last line that only announces the answer."""
_LABELLED = re.compile(r"^(?:- )?(?P<label>[A-Z][A-Z0-9 _-]{0,24}|[\u4e00-\u9fff]{1,8})[:：]\s?(?P<text>.*)$")
_YES = ("yes", "y", "true", "是")
_NO = ("no", "n", "false", "否")
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
"""Labels of prompts, reworded for people; other labels are unchanged."""
_WORDS = {"<MASK>": "____", "WRONG-ANS": "NOT IT", "Q and A": "QUESTION and ANSWER"}
_LABEL = re.compile(r"^([^\S\n]*+)(Q|A)(?=: )", re.MULTILINE)
"""The labels of a question and its answer in an example."""
LONGEST = 4_000
"""The longest answer in characters, if the form has no bound."""


@dataclass(frozen=True, slots=True)
class Field:
    """One input field that a person fills in.

    Attributes:
        about: The description; may be empty.
        choices: The options of a choice.
        longest: The maximum length of a line in characters.
    """

    name: str
    kind: Kind
    about: str = ""
    choices: tuple[str, ...] = ()
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class Interview:
    """A request as shown to a person.

    Attributes:
        rules: The system message, the same for all requests.
        texts: The other messages, line by line as (label, text); the label may be "".
        pictures: The sha256 digests of the pictures.
    """

    rules: str
    texts: tuple[tuple[str, str], ...]
    pictures: tuple[str, ...]
    fields: tuple[Field, ...]


def interview(request: Request) -> Interview:
    """Return a request as a person sees it: rules, messages and pictures, with an input field for each field of the answer."""
    rules = [_plain(_text(message.parts)) for message in request.messages if message.speaker == "system"]
    turns = [_turn(message) for message in request.messages if message.speaker != "system"]
    digests = (
        part.sha256 for message in request.messages for part in message.parts if isinstance(part, Image)
    )
    properties: Any = (request.schema or {}).get("properties") or {"answer": {"type": "string"}}
    return Interview(
        rules=_LABEL.sub(lambda match: match[1] + _LABELS[match[2]].upper(), "\n\n".join(rules)),
        texts=tuple(_lines("\n".join(turns))),
        pictures=tuple(dict.fromkeys(digests)),
        fields=tuple(_field(name, about) for name, about in properties.items()),
    )


def filled(request: Request, answers: Mapping[str, object]) -> str:
    """Return the text of a reply from a person's inputs by field name: JSON, or plain text if the request has no schema.

    Raises:
        UsageError: A field is missing, too long, or invalid; the message names it.
    """
    values = {field.name: read_field(field, answers.get(field.name)) for field in interview(request).fields}
    if request.schema is None:
        return str(values["answer"])
    return json.dumps(values, ensure_ascii=False)


def read_field(field: Field, value: object) -> JSON:
    """Return the value of a field from a person's input.

    Raises:
        UsageError: The input is missing, too long, or invalid.
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
    text = str(about.get("description", "")).removeprefix("...")
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
    """Return the text of a message; earlier answers of the person begin with YOU."""
    text = _PROMPT.sub("", _plain(_text(message.parts)))
    return f"YOU: {text}" if message.speaker == "assistant" else text


def _plain(text: str) -> str:
    """Return a text without the JSON that models fill in, and with some words replaced for people."""
    plain = _FILLED.sub(lambda match: json.loads(match[1]), _FORM.sub("", text)).strip("\n")
    for written, meant in _WORDS.items():
        plain = plain.replace(written, meant)
    return plain


def _lines(text: str) -> list[tuple[str, str]]:
    """Return the lines of a text as (label, text), `CLUE: fish` as ("clue", "fish"); leave out lines without text.

    The label is "" for a line without one.
    """
    rows = []
    for line in text.splitlines():
        match = _LABELLED.match(line)
        label, rest = (match["label"], match["text"]) if match else ("", line)
        if rest.strip():
            rows.append((_LABELS.get(label, label), rest.strip()))
    return rows
