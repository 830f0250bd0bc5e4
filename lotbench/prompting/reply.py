"""From raw text to a typed answer, or to the reason why there is none; pure, for candidates and judges alike.

A reply is read or refused, never guessed at: the answer is one JSON object that fills the form, and only a
form with a single field may come as plain text. Reasoning is stripped first; a reasoning block that was
never closed means that the reply was cut off.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError

from lotbench.errors import Unread, faults_of
from lotbench.types import JSON, Answer, Reply, Verdict

REASONING = ("think", "thinking", "thought", "reasoning", "reflection")
_TAGS = "|".join(REASONING)
_TAG = re.compile(rf"<(?P<ends>/?)(?P<name>{_TAGS})>", re.IGNORECASE)
HALVES = re.compile("[\ud800-\udfff]")
"""Half of a character pair: JSON can spell one, and no file can hold it."""
_LABEL = r"^\W*(?:output|answer|{})\W*[:：]\s*"
_CANNOT = r"i(?:['’]m| am)? (?:can(?:no|['’])t|not able to|unable to|won['’]t)"
_HELP = r"(?:help|assist|comply)(?: you)?(?: with\b| in\b|[.,!;]|$)"
_OBJECT = r"(?:that|this|the|your|an?|any)\b"
# What a whole text says. "I can't help thinking of a clock" declines nothing.
_REFUSAL = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|抱歉|对不起|很遗憾"
    rf"|(?:as an? (?:ai|large language model)\b[^.!?\n]{{0,80}})?\b{_CANNOT} (?:{_HELP}|"
    rf"(?:do|provide|fulfil|answer|create|generate|complete|continue|engage)(?: with| in)? {_OBJECT}|continue\W)"
    r"|我(?:无法|不能)(?:提供|回答|协助|帮助|继续))",
    re.IGNORECASE,
)
# What a field of an answer says: narrower, since reasons may well begin with what one cannot tell.
_DECLINED = re.compile(
    rf"{_CANNOT} (?:{_HELP}|(?:provide|fulfil|create|generate) (?:that|this|your)\b)"
    r"|我(?:无法|不能)(?:为[您你])?(?:协助|(?:提供|回答|帮助)(?:[您你这该此，。,.!！]|$))",
    re.IGNORECASE,
)
_YES_NO = {"yes": True, "no": False, "true": True, "false": False, "是": True, "否": False}


class Form(BaseModel):
    """The shape of an answer that a model is asked to give; the schema and the example come from it."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def prose(limit: int, about: str = "...") -> Any:
    """Return the annotation of a text field: bounded in the schema, so that a small model does not ramble.

    A text that is longer all the same is read: servers that do not know the bound write what they like,
    and a verdict with long reasons is still a verdict.
    """
    return Field(description=about, json_schema_extra={"maxLength": limit})


def yes_or_no(value: object) -> object:
    """Return what a decision in words decides (`Yes.`, `no`, `是`); anything else as it is."""
    return _YES_NO.get(value.strip(" .!。！").lower(), value) if isinstance(value, str) else value


YesNo = Annotated[bool, Strict(), BeforeValidator(yes_or_no)]
"""A decision in a form; 'yes' and 'no' are read as booleans, nothing else is."""


F = TypeVar("F", bound=Form)


@cache
def schema(form: type[Form]) -> dict[str, JSON]:
    """Return the JSON schema of a form: flat, every field required, no other field, every string bounded."""
    form_schema = form.model_json_schema()
    if "$defs" in form_schema:
        raise TypeError(f"{form.__name__}: an answer form must be flat")
    properties = {name: _plain(field) for name, field in form_schema["properties"].items()}
    for name, field in properties.items():
        if field.get("type") == "string" and "maxLength" not in field and "enum" not in field:
            raise TypeError(f"{form.__name__}.{name}: a string needs max_length")
    return {
        "title": form.__name__,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@cache
def shape(form: type[Form]) -> str:
    """Return the form as an example to print in a prompt: its fields, each with what may stand there."""
    lines = [
        f"  {json.dumps(name, ensure_ascii=False)}: {_example(field)}"
        for name, field in cast(dict[str, dict[str, Any]], schema(form)["properties"]).items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def read_form(reply: Reply, form: type[F]) -> F:
    """Read a reply as a form.

    Raises:
        Unread: `refused`, `truncated` or `unparsed`, with the reason.
    """
    if reply.refusal or reply.finish == "content_filter":
        raise Unread("refused", "the answer was withheld")
    text = visible(reply)
    table = _object(text)
    # An answer may come after an apology; only a reply without one declines by its words.
    if table is None and _REFUSAL.match(text):
        raise Unread("refused", "the answer declines the task")
    if reply.finish == "length" and table is None:
        raise Unread("truncated", "the answer was cut off before its end")
    answer = _fill(text, table, form)
    if any(isinstance(value, str) and _DECLINED.match(value) for value in vars(answer).values()):
        raise Unread("refused", "the answer declines the task")
    return answer


def verdict(answer: Answer, form: type[F], decide: Callable[[F], bool]) -> Verdict:
    """Read an answer of a judge: the decision, and the parts that it rests on.

    There is no third way beside a Verdict and Unread, so a judge that could not be read can never be mistaken for one that
    said no.

    Raises:
        Unread: The reply is refused, truncated, or not the form.
    """
    filled = read_form(answer.reply, form)
    return Verdict(decide(filled), filled.model_dump(mode="json"))


def plain(reply: Reply, *, cut: bool = False) -> str:
    """Read a reply that was asked for as plain text.

    Args:
        reply: The reply.
        cut: Whether a text that was cut off at its longest is an answer all the same.

    Raises:
        Unread: `refused`, `truncated` or `unparsed` (empty), with the reason.
    """
    if reply.refusal or reply.finish == "content_filter":
        raise Unread("refused", "the answer was withheld")
    text = visible(reply)
    if _REFUSAL.match(text):
        raise Unread("refused", "the answer declines the task")
    if reply.finish == "length" and not (cut and text):
        raise Unread("truncated", "the answer was cut off before its end")
    if not text:
        raise Unread("unparsed", "the answer is empty")
    return text


def fills(reply: Reply, schema: Mapping[str, JSON]) -> bool:
    """Return whether a reply holds an object with every field that a schema requires; what they say is not looked at."""
    try:
        table = _object(visible(reply))
    except Unread:
        return False
    return table is not None and set(cast(list[str], schema["required"])) <= table.keys()


def visible(reply: Reply) -> str:
    """Return the text of a reply without its reasoning.

    Raises:
        Unread: `truncated`, if a reasoning block was opened and never closed.
    """
    if "<" not in reply.text:
        return reply.text.strip()
    text = _without_blocks(reply.text)
    tags = list(_TAG.finditer(text))
    closed = next((tag.end() for tag in tags if tag["ends"]), 0)
    if any(tag.start() >= closed and not tag["ends"] for tag in tags):
        raise Unread("truncated", "the reasoning never ended")
    return text[closed:].strip()


def _without_blocks(text: str) -> str:
    """Return a text without what stands between a tag of reasoning and the next one that ends it."""
    tags = list(_TAG.finditer(text))
    last = {tag["name"].casefold(): tag.start() for tag in tags if tag["ends"]}
    pieces, start, inside = [], 0, ""
    for tag in tags:
        name = tag["name"].casefold()
        if not inside and not tag["ends"] and tag.start() < last.get(name, 0):
            pieces.append(text[start : tag.start()])
            inside = name
        elif inside == name and tag["ends"]:
            start, inside = tag.end(), ""
    return "".join([*pieces, text[start:]])


def _fill(text: str, table: dict[str, JSON] | None, form: type[F]) -> F:
    if not text:
        raise Unread("unparsed", "the answer is empty")
    if table is None:
        table = _plain_text(text, form)
    if table is None:
        raise Unread("unparsed", "the answer is not one JSON object of the form asked for")
    try:
        return form.model_validate(table)
    except ValidationError as error:
        # A model is shown this when it is asked again: pydantic's own words, as earlier runs have them.
        faults = faults_of(error, field=lambda name: name or form.__name__, message=itemgetter("msg"))
        raise Unread("unparsed", faults[0]) from None


def _object(text: str) -> dict[str, JSON] | None:
    """Return the one JSON object in a text: alone, in a single fence, or at the end after prose or a label.

    It begins a line or follows a colon: an object in the middle of a sentence is something that is talked
    about.
    """
    # A pattern for a fence would try each of its spaces against each other one.
    parts = text.split("```")
    if len(parts) in (3, 4):
        text = (parts[1][4:] if parts[1][:4].lower() == "json" else parts[1]).strip()
    start = text.find("{")
    if start < 0 or text[:start].rpartition("\n")[2].strip()[-1:] not in ("", ":", "：", "*"):
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or text[end:].strip():
        return None
    if "\\ud" in text.lower() and HALVES.search(plain := json.dumps(value, ensure_ascii=False)):
        value = json.loads(HALVES.sub("\ufffd", plain))
    return cast(dict[str, JSON], value)


def _no_twins(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return a JSON object that says two things under one name says nothing."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a field comes twice")
    return table


def _no_constant(name: str) -> JSON:
    """Refuse NaN and Infinity, which are no JSON."""
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_twins, parse_constant=_no_constant)


def _plain_text(text: str, form: type[Form]) -> dict[str, JSON] | None:
    """Read a one-field form, which may come as a bare line, with or without a label before it."""
    names = list(form.model_fields)
    if len(names) != 1 or "{" in text or "}" in text or text.startswith("["):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != 1:
        return None
    bare = re.sub(_LABEL.format(names[0]), "", lines[0].strip(), flags=re.IGNORECASE)
    return {names[0]: bare.strip("\"'`*“”「」 ")}


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """Return a property without what only pydantic reads."""
    return {name: value for name, value in field.items() if name not in ("title", "default")}


def _example(field: dict[str, Any]) -> str:
    if field["type"] == "array":
        return '["...", ...]'
    if field["type"] == "boolean":
        # A model too small to judge copies what stands first; it must not end games by that.
        return "false or true"
    if "enum" in field:
        return " or ".join(json.dumps(option, ensure_ascii=False) for option in field["enum"])
    if field["type"] == "integer":
        # In quotes it would invite a string.
        return str(field.get("description", "a whole number"))
    if field["type"] == "string":
        # What it means stands in the prompt and in the schema: a small model would copy it as its answer.
        return '"..."'
    return json.dumps(field.get("description", "..."), ensure_ascii=False)
