"""The formats of batch APIs: a chat body as a line of a file, a line of results as the answer to one; pure.

OpenAI's lines hold chat bodies and chat completions as they are. Anthropic's hold Messages: a body is turned into one on
the way out, and what comes back into a chat completion, so that `chat_format` reads both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import orjson

from lotbench.edge.files.jsonl import document
from lotbench.edge.models.chat_format import Abilities

Api: TypeAlias = Literal["openai", "anthropic"]
APIS: tuple[Api, ...] = ("openai", "anthropic")

NATIVE: Mapping[str, Abilities] = {
    "anthropic": Abilities(
        structured="text", bounds=("max_tokens",), refused=frozenset({"seed", "logprobs"})
    ),
}
"""What an API can do, where that is not learned: the form of an answer stands in its prompt, too."""
MOST_LINES, MOST_BYTES = 50_000, 100_000_000
"""Of a file: OpenAI takes so many lines and twice the bytes, Anthropic twice the lines and 256 MB."""
HOTTEST = 1.0
"""Anthropic's highest temperature."""
REPLY_TOKENS = 4096
"""Anthropic wants a bound for every reply."""
EXPIRED, CANCELLED = 408, 499
"""Statuses for what has none: a line that was not reached in time, and one that somebody called back."""
TOKEN = "lotbench"
"""The name under which a batch's token stands in its metadata, where an API keeps any."""
ERRORS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Anthropic's kinds of errors as statuses; any other is 500."""
STOPS = {"refusal": "content_filter", "stop_sequence": "stop"}
_DATA = re.compile(r"data:(?P<type>[\w/+.-]+);base64,(?P<data>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one line: a status as of a call by itself, and the body that would have come with it."""

    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Look:
    """What a server says of a batch.

    Attributes:
        ended: Whether nothing more will come of it.
        files: The ids of the files that hold its results (OpenAI).
        lines: How many lines it has, as far as it says.
        failed: Why it was refused as a whole; "" if it was not.
        cancelled: Whether somebody called it back: what has no line then is not to be sent again.
    """

    ended: bool
    files: tuple[str, ...] = ()
    lines: int = 0
    failed: str = ""
    cancelled: bool = False


def custom_id(api: Api, token: str, key: str) -> str:
    """The name of a call in a file: its key; where that is too long, a digest that no other run has."""
    if api == "openai":
        return key
    return blake2b(f"{token}/{key}".encode(), digest_size=24).hexdigest()


def line(api: Api, name: str, body: Mapping[str, Any]) -> bytes:
    """A chat body as a line of a file, without its end."""
    if api == "openai":
        return orjson.dumps(
            {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
        )
    return orjson.dumps({"custom_id": name, "params": message_of(body)})


def message_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """A chat body as the body of a Message: what the system says apart, pictures as data."""
    system = [one["content"] for one in body["messages"] if one["role"] == "system"]
    made = {
        "model": body["model"],
        "max_tokens": body.get("max_tokens", REPLY_TOKENS),
        "messages": [
            {"role": one["role"], "content": _content(one["content"])}
            for one in body["messages"]
            if one["role"] != "system"
        ],
    }
    if system:
        made["system"] = "\n\n".join(system)
    if "temperature" in body:
        made["temperature"] = min(HOTTEST, body["temperature"])
    return made | ({"top_p": body["top_p"]} if "top_p" in body else {})


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [_part(part) for part in content]


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    found = _DATA.fullmatch(part["image_url"]["url"])
    assert found is not None, "pictures are data URLs"
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": found["type"], "data": found["data"]},
    }


def outcome(text: bytes) -> tuple[str, Outcome]:
    """A line of results: whose it is, and what became of it.

    Raises:
        ValueError: It is no line of results.
    """
    table = document(text)
    if not isinstance(table, dict) or not isinstance(table.get("custom_id"), str):
        raise ValueError("no custom_id")
    if isinstance(table.get("result"), dict):
        return table["custom_id"], _of_anthropic(table["result"])
    return table["custom_id"], _of_openai(table.get("response"), table.get("error"))


def _of_openai(response: Any, error: Any) -> Outcome:
    status = response.get("status_code") if isinstance(response, dict) else None
    if type(status) is int and 100 <= status <= 599:
        return Outcome(status, response.get("body"))
    code = str(error.get("code")) if isinstance(error, dict) else ""
    known = {"batch_expired": EXPIRED, "batch_cancelled": CANCELLED}
    return Outcome(known.get(code, 500), {"error": error})


def _of_anthropic(result: Mapping[str, Any]) -> Outcome:
    kind, told = result.get("type"), result.get("error")
    if kind == "succeeded":
        return Outcome(200, completion(result.get("message")))
    if kind == "errored":
        inner = told.get("error") if isinstance(told, dict) else None
        named = inner.get("type") if isinstance(inner, dict) else None
        return Outcome(ERRORS.get(str(named), 500), {"error": inner})
    known = {"expired": EXPIRED, "canceled": CANCELLED}
    return Outcome(known.get(str(kind), 500), {"error": {"message": f"the request {str(kind)[:40]}"}})


def completion(message: Any) -> dict[str, Any]:
    """A Message as a chat completion; one that is none has no choices."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return {"choices": []}
    parts = [part for part in content if isinstance(part, dict)]
    thought = [part["thinking"] for part in parts if isinstance(part.get("thinking"), str)]
    stop = message.get("stop_reason")
    return {
        "model": message.get("model"),
        "choices": [
            {
                "message": {
                    "content": [part for part in parts if part.get("type") == "text"],
                    "reasoning_content": "".join(thought) or None,
                },
                "finish_reason": STOPS.get(str(stop), stop),
            }
        ],
        "usage": _usage(message.get("usage")),
    }


def _usage(told: Any) -> Any:
    """Token counts by the names of chat completions: what was read from the cache is part of the input there."""
    if not isinstance(told, dict):
        return told
    parts = [
        told.get(name) for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    ]
    counts = [part for part in parts if type(part) is int]
    return {
        "prompt_tokens": sum(counts),
        "completion_tokens": told.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": parts[1]},
    }


def look(api: Api, answer: Any) -> Look:
    """What a server says of a batch.

    Raises:
        ValueError: It is no batch.
    """
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
        raise ValueError("no batch")
    counts = answer.get("request_counts")
    told = [count for count in counts.values() if type(count) is int] if isinstance(counts, dict) else []
    if api == "anthropic":
        return Look(answer.get("processing_status") == "ended", lines=sum(told))
    status = answer.get("status")
    files = (answer.get("output_file_id"), answer.get("error_file_id"))
    return Look(
        status in ("completed", "expired", "cancelled", "failed"),
        tuple(one for one in files if isinstance(one, str) and one),
        failed=_complaints(answer.get("errors")) if status == "failed" else "",
        cancelled=status == "cancelled",
    )


def _complaints(errors: Any) -> str:
    """Why a file was refused; its first complaints stand for all."""
    rows = errors.get("data") if isinstance(errors, dict) else None
    told = [f"{one.get('code')}: {one.get('message')}" for one in rows or () if isinstance(one, dict)]
    return "; ".join(told[:3]) or "no reason given"
