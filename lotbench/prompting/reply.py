"""Reading of replies: from raw text to a typed answer, or to the reason why it cannot be read.

An answer is one JSON object that fits the form; only a form with a single field may also come as plain text. Reasoning
blocks are removed first, and an unclosed one means that the reply was cut off. Candidates and judges are read alike.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, Field, Strict, ValidationError

from lotbench.errors import Unread, faults_of
from lotbench.types import JSON, Answer, Reply, Verdict

REASONING = ("think", "thinking", "thought", "reasoning", "reflection")
_TAGS = "|".join(REASONING)
_TAG = re.compile(rf"<(?P<ends>/?)(?P<name>{_TAGS})>", re.IGNORECASE)
MAX_FORM = 100_000
"""The maximum length of an answer in a form of the class Quoted, in characters."""
MAX_FAULT = 500
"""The maximum length of what a fault of a form says, in characters: pydantic names all ids that would be allowed."""
HALVES = re.compile("[\ud800-\udfff]")
"""Lone surrogates: JSON can hold them, UTF-8 files cannot."""
_LABEL = r"^\W*(?:output|answer|{})\W*[:：]\s*"
_CANNOT = r"i(?:['’]m| am)? (?:can(?:no|['’])t|not able to|unable to|won['’]t)"
_HELP = r"(?:help|assist|comply)(?: you)?(?: with\b| in\b|[.,!;]|$)"
_BEGINS = re.compile(r'\{\s*+"')
"""The beginning of a JSON object."""
_OBJECT = r"(?:that|this|the|your|an?|any)\b"
# Refusals at the start of a whole text. "I can't help thinking of a clock" is none.
_REFUSAL = re.compile(
    r"^\W*(?:i['’]?m sorry|i am sorry|sorry,|i apologi[sz]e|抱歉|对不起|很遗憾"
    rf"|(?:as an? (?:ai|large language model)\b[^.!?\n]{{0,80}})?\b{_CANNOT} (?:{_HELP}|"
    rf"(?:do|provide|fulfil|answer|create|generate|complete|continue|engage)(?: with| in)? {_OBJECT}|continue\W)"
    r"|我(?:无法|不能)(?:提供|回答|协助|帮助|继续))",
    re.IGNORECASE,
)
# Refusals in a field of an answer: narrower, since reasons may begin with "I cannot tell".
_DECLINED = re.compile(
    rf"{_CANNOT} (?:{_HELP}|(?:provide|fulfil|create|generate) (?:that|this|your)\b)"
    r"|我(?:无法|不能)(?:为[您你])?(?:协助|(?:提供|回答|帮助)(?:[您你这该此，。,.!！]|$))",
    re.IGNORECASE,
)
_YES_NO = {"yes": True, "no": False, "true": True, "false": False, "是": True, "否": False}


class Form(BaseModel, extra="ignore", frozen=True):
    """The fields of a reply, as a pydantic class; the JSON schema and the example in prompts are made from it."""


class Quoted(Form):
    """The base of forms whose texts stand in later prompts: an answer of more than MAX_FORM characters cannot be read."""


def prose(limit: int, about: str = "...") -> Any:
    """Return the annotation of a text field with a description (`about`) and a maximum length (`limit`, in characters).

    The maximum is only in the schema, so that small models stop. Longer texts are accepted, since some servers ignore it.
    """
    return Field(description=about, json_schema_extra={"maxLength": limit})


def yes_or_no(value: object) -> object:
    """Return True or False for a decision in words (`Yes.`, `no`, `是`), and any other value unchanged."""
    return _YES_NO.get(value.strip(" .!。！").lower(), value) if isinstance(value, str) else value


YesNo = Annotated[bool, Strict(), BeforeValidator(yes_or_no)]
"""A boolean field that also accepts yes and no in words."""


F = TypeVar("F", bound=Form)


@cache
def schema(form: type[Form]) -> dict[str, JSON]:
    """Return the JSON schema of a form: flat, all fields required, no other fields, all strings bounded.

    Raises:
        TypeError: The form is nested, or a string field has no maximum length.
    """
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
    """Return an example of a reply with the fields of a form, for a prompt: JSON with placeholders as values."""
    lines = [
        f"  {json.dumps(name, ensure_ascii=False)}: {_example(field)}"
        for name, field in cast(dict[str, dict[str, Any]], schema(form)["properties"]).items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def read_form(reply: Reply, form: type[F]) -> F:
    """Return the answer in a reply, as an instance of the form.

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
    if issubclass(form, Quoted) and len(text) > MAX_FORM:
        raise Unread("unparsed", "the answer is not one JSON object of the form asked for")
    answer = _fill(text, table, form)
    if any(isinstance(value, str) and _DECLINED.match(value) for value in vars(answer).values()):
        raise Unread("refused", "the answer declines the task")
    return answer


def verdict(answer: Answer, form: type[F], decide: Callable[[F], bool]) -> Verdict:
    """Return the verdict of a judge: the decision that `decide` derives from the filled form, and the form's fields.

    An unreadable reply raises Unread, so it cannot be mistaken for a no.

    Raises:
        Unread: `refused`, `truncated` or `unparsed`, with the reason.
    """
    filled = read_form(answer.reply, form)
    return Verdict(decide(filled), filled.model_dump(mode="json"))


def plain(reply: Reply, *, cut: bool = False) -> str:
    """Return the text of a plain-text reply.

    Args:
        reply: The reply.
        cut: Whether to accept a text that was cut off at the token limit.

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
    """Return whether a reply has a JSON object with all required fields of a schema, whatever their values."""
    try:
        table = _object(visible(reply))
    except Unread:
        return False
    return table is not None and set(cast(list[str], schema["required"])) <= table.keys()


def visible(reply: Reply) -> str:
    """Return the text of a reply without its reasoning.

    Raises:
        Unread: `truncated`, if a reasoning block was never closed.
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
    """Return a text without closed reasoning blocks."""
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
        # The model sees this message in its second attempt: pydantic's own words, as in earlier runs.
        faults = faults_of(error, field=lambda name: name or form.__name__, message=itemgetter("msg"))
        raise Unread("unparsed", faults[0][:MAX_FAULT]) from None


def _object(text: str) -> dict[str, JSON] | None:
    """Return the JSON object in a text: alone, in a single code fence, or at the end after prose or a label; None if none.

    It must begin a line or follow a colon; an object inside a sentence does not count.
    """
    # Split instead of a regular expression, which could backtrack quadratically.
    parts = text.split("```")
    if len(parts) in (3, 4):
        # A judge may quote an object in a fence and give its own beside it: that is not one object.
        if _BEGINS.search(parts[0]) or _BEGINS.search(parts[2]):
            return None
        text = (parts[1][4:] if parts[1][:4].lower() == "json" else parts[1]).strip()
    start = text.find("{")
    if start < 0 or text[:start].rpartition("\n")[2].strip()[-1:] not in ("", ":", "：", "*"):
        return None
    try:
        value, end = _DECODER.raw_decode(text, start)
        if "\\ud" in text.lower() and HALVES.search(plain := json.dumps(value, ensure_ascii=False)):
            value = json.loads(HALVES.sub("\ufffd", plain))
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, JSON], value) if isinstance(value, dict) and not text[end:].strip() else None


def _no_twins(pairs: list[tuple[str, JSON]]) -> dict[str, JSON]:
    """Return a dict of the pairs of a JSON object; raise ValueError if a name occurs twice."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a field comes twice")
    return table


def _no_constant(name: str) -> JSON:
    """Raise ValueError for NaN and Infinity, which are not valid JSON."""
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(object_pairs_hook=_no_twins, parse_constant=_no_constant)


def _plain_text(text: str, form: type[Form]) -> dict[str, JSON] | None:
    """Return the answer in a text of one plain line, with or without a label, as the only field of a form.

    None if the form has several fields, or the text is JSON or has several lines.
    """
    names = list(form.model_fields)
    if len(names) != 1 or "{" in text or "}" in text or text.startswith("["):
        return None
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != 1:
        return None
    bare = re.sub(_LABEL.format(names[0]), "", lines[0].strip(), flags=re.IGNORECASE)
    return {names[0]: bare.strip("\"'`*“”「」 ")}


def _plain(field: dict[str, Any]) -> dict[str, Any]:
    """Return a property of a JSON schema without its title and default."""
    return {name: value for name, value in field.items() if name not in ("title", "default")}


def _example(field: dict[str, Any]) -> str:
    if field["type"] == "array":
        return '["...", ...]'
    if field["type"] == "boolean":
        # Very small models copy the first word; it must not end games.
        return "false or true"
    if "enum" in field:
        return " or ".join(json.dumps(option, ensure_ascii=False) for option in field["enum"])
    if field["type"] == "integer":
        # Quotes would invite a string.
        return str(field.get("description", "a whole number"))
    if field["type"] == "string":
        # The description is in the prompt and the schema; a small model would copy it here.
        return '"..."'
    return json.dumps(field.get("description", "..."), ensure_ascii=False)
