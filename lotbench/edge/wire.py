"""The OpenAI chat format: a request as a body, a body as a reply, an error as what it means; pure.

What an endpoint can do is learned from its refusals and remembered: it starts with all that the format
has, and each 400 that names a parameter takes one thing away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from lotbench.types import JSON, Finish, Image, Message, Reply, Request, Usage

Structured: TypeAlias = Literal["json_schema", "json_schema_unbounded", "json_object", "text"]
LADDER: tuple[Structured, ...] = ("json_schema", "json_schema_unbounded", "json_object", "text")
FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "content_filter"}
PARAMETERS = ("temperature", "top_p", "seed")

Picture: TypeAlias = Callable[[str], str]
"""A picture's data URL, by the sha256 of its bytes."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an endpoint is known to take for one model.

    `structured` is how the form of an answer is asked for, each step down its ladder less strict.
    """

    structured: Structured = "json_schema"
    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    refused: frozenset[str] = frozenset()
    detail: bool = False
    """Whether pictures carry `detail: high`."""


def body(request: Request, model: str, able: Abilities, picture: Picture) -> dict[str, Any]:
    """The body of a chat completion request."""
    made: dict[str, Any] = {
        "model": model,
        "messages": [_message(m, able, picture) for m in request.messages],
    }
    for name in PARAMETERS:
        value = getattr(request.sampling, name)
        if value is not None and name not in able.refused:
            made[name] = value
    if request.sampling.max_tokens is not None:
        made[able.max_tokens] = request.sampling.max_tokens
    if request.schema is not None and able.structured != "text":
        made["response_format"] = _format(request.schema, able.structured)
    return made


def sent(made: Mapping[str, Any], able: Abilities) -> dict[str, JSON]:
    """What of a body is worth recording: how it went out after fallbacks, without messages."""
    kept: dict[str, JSON] = {name: made[name] for name in PARAMETERS if name in made}
    kept["structured"] = able.structured if "response_format" in made else "text"
    if able.max_tokens in made:
        kept[able.max_tokens] = made[able.max_tokens]
    return kept


def reply(answer: object, seconds: float, how: Mapping[str, JSON]) -> Reply | None:
    """A reply from the body of a response, or None if the body is no chat completion."""
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or not answer["choices"]:
        return None
    choice = answer["choices"][0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return None
    return Reply(
        text=_text(message.get("content")),
        model=str(answer.get("model") or ""),
        finish=FINISHES.get(str(choice.get("finish_reason")), "other"),
        reasoning=_optional(message.get("reasoning_content") or message.get("reasoning")),
        refusal=_optional(message.get("refusal")),
        usage=usage(answer.get("usage")),
        seconds=round(seconds, 3),
        sent=dict(how),
    )


def usage(table: object) -> Usage:
    """Token counts from a response; what is not told is 0."""
    if not isinstance(table, dict):
        return Usage()
    details = table.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        input_tokens=_count(table.get("prompt_tokens")),
        cached_input_tokens=_count(cached if cached is not None else table.get("prompt_cache_hit_tokens")),
        output_tokens=_count(table.get("completion_tokens")),
    )


def lessened(able: Abilities, error: str, made: Mapping[str, Any]) -> Abilities | None:
    """What an endpoint can do after it refused a body with this message, or None if nothing explains it."""
    text = error.lower()
    for name in ("max_completion_tokens", "max_tokens"):
        other: Literal["max_tokens", "max_completion_tokens"]
        other = "max_tokens" if name == "max_completion_tokens" else "max_completion_tokens"
        if name in made and name in text.replace(other, "") and f"no {name}" not in able.refused:
            return replace(able, max_tokens=other, refused=able.refused | {f"no {name}"})
    for name in PARAMETERS:
        if name in made and name in text:
            return replace(able, refused=able.refused | {name})
    if "response_format" in made and re.search(
        r"response_?format|json|schema|grammar|structured|maxlength", text
    ):
        return replace(able, structured=LADDER[LADDER.index(able.structured) + 1])
    return None


def too_long(error: str) -> bool:
    """Whether a refusal says that the prompt does not fit."""
    return bool(
        re.search(
            r"context.{0,20}(?:length|size|window)|exceed_context|maximum context|too many tokens", error
        )
    )


def no_pictures(error: str) -> bool:
    """Whether a refusal says that the model takes no pictures."""
    return bool(re.search(r"image|vision|multimodal|mmproj|modalit", error.lower()))


def _message(message: Message, able: Abilities, picture: Picture) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.speaker, "content": "".join(cast(tuple[str, ...], message.parts))}
    parts = [_part(part, able, picture) for part in message.parts]
    return {"role": message.speaker, "content": parts}


def _part(part: str | Image, able: Abilities, picture: Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url: dict[str, str] = {"url": picture(part.sha256)}
    return {"type": "image_url", "image_url": url | ({"detail": "high"} if able.detail else {})}


def _format(schema: Mapping[str, JSON], structured: Structured) -> dict[str, Any]:
    if structured == "json_object":
        return {"type": "json_object"}
    name = str(schema.get("title", "answer"))
    shown = schema if structured == "json_schema" else _unbounded(schema)
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": shown}}


def _unbounded(schema: Any) -> Any:
    """A schema without the bounds that strict servers refuse."""
    if isinstance(schema, Mapping):
        return {
            name: _unbounded(value)
            for name, value in schema.items()
            if name not in ("maxLength", "minLength")
        }
    return schema


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else json.dumps(content)


def _optional(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0
