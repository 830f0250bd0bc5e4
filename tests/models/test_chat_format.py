"""The OpenAI chat format: what goes out, what is read of what comes back, what a refusal teaches."""

import json
import time
from base64 import b64encode
from typing import Any

import pytest

from lotbench.models import chat_format
from lotbench.models.chat_format import Abilities, body, lessened
from lotbench.types import Key, Message, Request, Sampling
from tests.asking import reply_of

SCHEMA: dict[str, Any] = {
    "title": "Guess",
    "type": "object",
    "properties": {
        "guess": {"type": "string", "maxLength": 120, "minLength": 1},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 9}},
    },
    "required": ["guess"],
    "additionalProperties": False,
}
ALL = Abilities()
FULL = Sampling(temperature=0.7, top_p=0.9, seed=7, max_tokens=64)
TEXT = Message("system", ("Fill ", "the mask."))


def request(*messages: Message, schema: dict[str, Any] | None = SCHEMA, sampling: Sampling = FULL) -> Request:
    return Request(Key("s", 1, 1, "respond", 0, 0, "d"), "m", messages or (TEXT,), schema, sampling)


def made(able: Abilities = ALL, *messages: Message, **kwargs: Any) -> dict[str, Any]:
    return body(request(*messages, **kwargs), "m", able, lambda sha256: f"data:{sha256}")


OTHER_BOUND: dict[str, Any] = {"bounds": ("max_completion_tokens",)}
NO_BOUND: dict[str, Any] = {"bounds": ()}
UNBOUNDED: dict[str, Any] = {"structured": "json_schema_unbounded"}
REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.":
        ("gpt-5", OTHER_BOUND),
    "Unrecognized request argument supplied: max_tokens": ("x", OTHER_BOUND),
    "max_tokens: Extra inputs are not permitted": ("x", OTHER_BOUND),
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.": ("gpt-4o", NO_BOUND),
    "`max_tokens` must be less than or equal to `8192`, it is less than the `context_window`": ("x", NO_BOUND),
    "Range of max_tokens should be [1, 2048]": ("qwen", NO_BOUND),
    "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (104 in the "
    "messages, 4096 in the completion).": ("x", NO_BOUND),
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
    "supported.": ("o3", {"refused": frozenset({"temperature"})}),
    "Unsupported parameter: 'top_p' is not supported with this model.": (
        "o3",
        {"refused": frozenset({"top_p"})},
    ),
    "seed is not supported": ("x", {"refused": frozenset({"seed"})}),
    "response_format: type 'json_schema' is not supported for seed-oss": ("seed-oss", UNBOUNDED),
    "Invalid schema for response_format 'Guess': 'maxLength' is not permitted.": ("x", UNBOUNDED),
    "This response_format type is unavailable now": ("x", UNBOUNDED),
    "failed to compile the grammar": ("x", UNBOUNDED),
}  # fmt: skip


@pytest.mark.parametrize("word", ["temperature", "seed", "json"])
def test_a_word_of_a_quoted_prompt_takes_nothing_away(word: str) -> None:
    message = f"Invalid prompt: could not process input 'The {word} drops as penguins march'"
    assert lessened(Abilities(), message, made() | {"model": "x"}) is None


@pytest.mark.parametrize("message", REFUSALS)
def test_a_refusal_in_the_words_of_a_server_takes_one_thing_away(message: str) -> None:
    model, change = REFUSALS[message]
    refused = made() | {"model": model}
    assert lessened(Abilities(), message, refused) == Abilities(**change)


NO_REPLIES = [
    None, 3, "", "<html></html>", "[" * 100_000, [], {}, {"choices": None}, {"choices": []}, {"choices": [None]},
    {"choices": [{}]}, {"choices": [{"message": "a"}]}, {"error": {"message": "overloaded"}},
]  # fmt: skip


@pytest.mark.parametrize("answer", NO_REPLIES)
def test_what_is_no_chat_completion_is_no_reply(answer: object) -> None:
    assert reply_of(answer, {"structured": "text"}) is None


NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, float("inf")),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2020 14:13:50 GMT"}, 0.0),
        ({"retry-after": "Mon, 99 Sep 2026 14:13:50 GMT"}, None),
        # Our clock is an hour behind, or ahead; by the server's own it is half a minute.
        ({"retry-after": "Mon, 21 Sep 2026 15:13:50 GMT", "date": "Mon, 21 Sep 2026 15:13:20 GMT"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2026 13:13:50 GMT", "date": "Mon, 21 Sep 2026 13:13:20 GMT"}, 30.0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT", "date": "today"}, 30.0),
    ],
)
def test_a_wait_that_the_server_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert chat_format.retry_after(headers, NOW) == seconds


FORMS = (
    r"\u%04X", r"\\u%04x", r"\x%02X", r"\U%08x", r"\u{%x}", r"\%03o", "%%%02X", "%%25%02x", "&#%d;", "&#x%X;",
)  # fmt: skip
"""Ways in which servers escape a character."""


@pytest.mark.parametrize("key", ["sk/+Qq=/", "token-abc123", "fw_abc12345", "0123456789abcdef", "u0000000"])
def test_a_key_that_begins_like_an_escape_is_masked_in_time(key: str) -> None:
    """80 kB of them took minutes, in which nothing else ran."""
    started = time.process_time()
    for escape in (r"\t", r"\f", r"\u000a", "\t", "\u200b", r"\u0074", "\\", "&#0", "%"):
        chat_format.masked(escape * 10_000, key)
    assert time.process_time() - started < 2
    within = ("\n", r"\n", r"\u000a", "\u200b " * 50, r"\u200B", r"\\u200B", r"\x0A")
    broken = (key, *(key[:3] + inside + key[3:] for inside in within))
    broken += tuple("".join(form % ord(one) for one in key) for form in FORMS)
    assert {chat_format.masked(rf"C:\{one} \n{one}\t", key) for one in broken[:2]} == {r"C:\*** \n***\t"}
    assert chat_format.masked(r"%41 \/ &#65;", key) == r"%41 \/ &#65;"
    broken += (key.replace("/", r"\/"), b64encode(f"Bearer {key}".encode()).decode().rstrip("="))
    assert {chat_format.masked(f"you sent {one}.", key) for one in broken} == {"you sent ***."}


def test_errors_and_contents_that_are_too_deep_to_write_are_read() -> None:
    for depth in range(500, 1000):
        try:
            deep = json.loads("[" * depth + "]" * depth)
        except RecursionError:
            break
        assert chat_format.error_message(b'{"error": %b}' % ("[" * depth + "]" * depth).encode())
        assert chat_format.complaint({"error": deep})
        assert isinstance(chat_format.content_text({"a": deep}), str)
