"""The OpenAI chat format: what goes out, what is read of what comes back, what a refusal teaches."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.edge.models import chat_format
from lotbench.edge.models.chat_format import BOUNDS, LADDER, Abilities, body, lessened, sent
from lotbench.types import Image, Key, Message, Reply, Request, Sampling, Usage
from tests.asking import reply_of

SCHEMA: dict[str, Any] = {
    "title": "Filling",
    "type": "object",
    "properties": {
        "filling": {"type": "string", "maxLength": 120, "minLength": 1},
        "words": {"type": "array", "items": {"type": "string", "maxLength": 9}},
    },
    "required": ["filling"],
    "additionalProperties": False,
}
ALL = Abilities()
FULL = Sampling(temperature=0.7, top_p=0.9, seed=7, max_tokens=64)
PICTURE = Message("user", ("Look: ", Image("ab"), " and fill."))
TEXT = Message("system", ("Fill ", "the mask."))


def request(*messages: Message, schema: dict[str, Any] | None = SCHEMA, sampling: Sampling = FULL) -> Request:
    return Request(Key("s", 1, 1, "respond", 0, 0, "d"), "m", messages or (TEXT,), schema, sampling)


def made(able: Abilities = ALL, *messages: Message, **kwargs: Any) -> dict[str, Any]:
    return body(request(*messages, **kwargs), "m", able, lambda sha256: f"data:{sha256}")


def test_a_body_says_all_that_was_asked_for() -> None:
    assert made() == {
        "model": "m",
        "messages": [{"role": "system", "content": "Fill the mask."}],
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 64,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "Filling", "strict": True, "schema": SCHEMA},
        },
    }


def test_what_was_left_to_the_server_is_not_said() -> None:
    assert made(schema=None, sampling=Sampling()).keys() == {"model", "messages"}


def test_pictures_stand_where_they_stood_in_the_message() -> None:
    content = made(Abilities(), PICTURE)["messages"][0]["content"]

    assert content == [
        {"type": "text", "text": "Look: "},
        {"type": "image_url", "image_url": {"url": "data:ab"}},
        {"type": "text", "text": " and fill."},
    ]
    detailed = made(Abilities(detail=True), PICTURE)["messages"][0]["content"]
    assert detailed[1]["image_url"] == {"url": "data:ab", "detail": "high"}


def test_each_step_down_the_ladder_asks_for_less() -> None:
    forms = [made(Abilities(structured=step)).get("response_format") for step in LADDER]

    assert forms[0]["json_schema"]["schema"] == SCHEMA
    unbounded = forms[1]["json_schema"]["schema"]
    assert "Length" not in json.dumps(unbounded)
    assert unbounded["properties"]["words"]["items"] == {"type": "string"}
    assert unbounded["required"] == ["filling"]
    assert forms[2] == {"type": "json_object"}
    assert forms[3] is None


def test_what_went_out_is_recorded_without_messages() -> None:
    assert sent(made(), Abilities()) == {
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 64,
        "structured": "json_schema",
    }
    able = Abilities("text", ("max_completion_tokens",), frozenset({"temperature", "seed"}))
    assert sent(made(able), able) == {"top_p": 0.9, "max_completion_tokens": 64, "structured": "text"}
    assert sent(made(schema=None, sampling=Sampling()), Abilities()) == {"structured": "text"}


REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": (
        "gpt-5",
        {"bounds": ("max_completion_tokens",)},
    ),
    "Unrecognized request argument supplied: max_tokens": ("x", {"bounds": ("max_completion_tokens",)}),
    "max_tokens: Extra inputs are not permitted": ("x", {"bounds": ("max_completion_tokens",)}),
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.": (
        "gpt-4o",
        {"bounds": ()},
    ),
    "`max_tokens` must be less than or equal to `8192`, it is less than the `context_window`": (
        "x",
        {"bounds": ()},
    ),
    "Range of max_tokens should be [1, 2048]": ("qwen", {"bounds": ()}),
    "This model's maximum context length is 4096 tokens. However, you requested 4200 tokens (104 in the "
    "messages, 4096 in the completion).": ("x", {"bounds": ()}),
    "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is "
    "supported.": ("o3", {"refused": frozenset({"temperature"})}),
    "Unsupported parameter: 'top_p' is not supported with this model.": (
        "o3",
        {"refused": frozenset({"top_p"})},
    ),
    "seed is not supported": ("x", {"refused": frozenset({"seed"})}),
    "response_format: type 'json_schema' is not supported for seed-oss": (
        "seed-oss",
        {"structured": "json_schema_unbounded"},
    ),
    "Invalid schema for response_format 'Filling': 'maxLength' is not permitted.": (
        "x",
        {"structured": "json_schema_unbounded"},
    ),
    "This response_format type is unavailable now": ("x", {"structured": "json_schema_unbounded"}),
    "failed to compile the grammar": ("x", {"structured": "json_schema_unbounded"}),
}


@pytest.mark.parametrize("message", REFUSALS)
def test_a_refusal_in_the_words_of_a_server_takes_one_thing_away(message: str) -> None:
    model, change = REFUSALS[message]
    refused = made() | {"model": model}

    assert lessened(Abilities(), message, refused) == Abilities(**change)


def test_a_refusal_of_what_was_not_sent_teaches_nothing() -> None:
    bare = made(schema=None, sampling=Sampling())

    for message in REFUSALS:
        assert lessened(Abilities(), message, bare) is None
    assert lessened(Abilities(), "Something else is wrong.", made()) is None


@given(st.lists(st.sampled_from(sorted(REFUSALS)), max_size=30))
def test_refusals_come_to_an_end(messages: list[str]) -> None:
    able, steps = Abilities(), 0
    for message in messages:
        less = lessened(able, message, made(able))
        if less is not None:
            assert less != able
            able, steps = less, steps + 1
    assert steps <= len(chat_format.PARAMETERS) + len(BOUNDS) + len(LADDER) - 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("This model's maximum context length is 8192 tokens. Your messages resulted in 9000.", "too_long"),
        ("the request exceeds the available context size, try increasing it", "too_long"),
        ('{"type": "exceed_context_size_error"}', "too_long"),
        ("The response was filtered: content_filter, ResponsibleAIPolicyViolation", "withheld"),
        ("Input data may contain inappropriate content. data_inspection_failed", "withheld"),
        ("Your chosen model requires moderation and your input was flagged for: violence", "withheld"),
        ("Unsupported parameter: 'temperature'", ""),
    ],
)
def test_refusals_of_one_prompt_are_told_apart(message: str, kind: str) -> None:
    assert (chat_format.too_long(message), chat_format.withheld(message)) == (
        kind == "too_long",
        kind == "withheld",
    )


@pytest.mark.parametrize(
    ("message", "model", "none"),
    [
        ("Invalid content type. image_url is only supported by certain models.", "m", True),
        ("No endpoints found that support image input", "m", True),
        ("image input is not supported - hint: you may need to provide the mmproj", "m", True),
        ("llama-vision is not a multimodal model", "llama-vision", True),
        ("response_format is not supported for llama-vision", "llama-vision", False),
        ("please revise the provision of tools", "m", False),
    ],
)
def test_a_refused_picture_is_told_by_words_that_are_not_the_models_name(
    message: str, model: str, none: bool
) -> None:
    with_picture = made(Abilities(), PICTURE) | {"model": model}

    assert chat_format.no_pictures(message, with_picture) is none
    assert not chat_format.no_pictures(message, made() | {"model": model})


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m-2026", "choices": [{"message": message, "finish_reason": "stop", **more}]}


def reply(answer: object) -> Reply | None:
    return reply_of(answer, {"structured": "text"})


def test_a_reply_holds_what_came() -> None:
    answer = completion({"content": "hello", "refusal": None, "reasoning_content": "hm"}) | {
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 8},
        }
    }

    assert reply(answer) == Reply(
        text="hello",
        model="m-2026",
        finish="stop",
        reasoning="hm",
        usage=Usage(12, 8, 3),
        seconds=0.123,
        sent={"structured": "text"},
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "a"}, "a"),
        ({"content": None}, ""),
        ({"content": None, "tool_calls": [{}]}, ""),
        ({}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": "x"},
                    {"type": "text", "text": None},
                    {"text": "b"},
                ]
            },
            "b",
        ),
        ({"content": {"filling": "a"}}, '{"filling": "a"}'),
    ],
)
def test_the_text_of_a_reply_may_come_in_parts_or_not_at_all(message: dict[str, Any], text: str) -> None:
    found = reply(completion(message))

    assert found is not None and found.text == text


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("tool_calls", "other"),
        ("max_tokens", "length"),
        ("STOP", "stop"),
        (None, "other"),
        (3, "other"),
    ],
)
def test_a_reply_says_why_it_ended(reason: Any, finish: str) -> None:
    found = reply(completion({"content": ""}, finish_reason=reason))

    assert found is not None and found.finish == finish


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own_is_kept_apart(name: str) -> None:
    found = reply(completion({"content": "a", name: "hm"}))

    assert found is not None and (found.text, found.reasoning) == ("a", "hm")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        3,
        "",
        "<html></html>",
        "[" * 100_000,
        [],
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": "a"}]},
        {"error": {"message": "overloaded"}},
    ],
)
def test_what_is_no_chat_completion_is_no_reply(answer: object) -> None:
    assert reply(answer) is None


def test_an_error_with_status_200_is_told() -> None:
    assert chat_format.complaint({"error": {"message": "overloaded"}}) == '{"message": "overloaded"}'
    assert chat_format.complaint({"choices": []}) == chat_format.complaint("<html>") == ""


@pytest.mark.parametrize(
    ("table", "usage"),
    [
        (None, Usage()),
        ({}, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": 2}, Usage(5, 0, 2)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(5, 3, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Usage(5, 0, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(5, 5, 0)),
        ({"prompt_tokens": "5", "completion_tokens": -2}, Usage()),
        ({"prompt_tokens": True, "completion_tokens": 2.5}, Usage()),
        # What Gemini thought stands in the total alone.
        ({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}, Usage(20, 0, 603)),
        ({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}, Usage(20, 0, 5)),
        ({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 9}, Usage(20, 0, 5)),
        ({"completion_tokens": 5, "total_tokens": 25}, Usage(0, 0, 5)),
    ],
)
def test_tokens_are_counted_as_far_as_they_are_told(table: Any, usage: Usage) -> None:
    assert chat_format.usage(table) == usage


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


LIKELY: dict[str, Any] = {"token": "A", "logprob": -0.1, "bytes": None}


def test_log_probabilities_are_asked_for_where_they_are_wanted() -> None:
    asked = body(replace(request(schema=None), logprobs=True), "m", ALL, str)
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 20)
    assert not {"logprobs", "top_logprobs"} & made().keys()
    less = lessened(ALL, "Unsupported parameter: 'top_logprobs' is not supported with this model.", asked)
    assert less is not None
    assert "logprobs" not in body(replace(request(schema=None), logprobs=True), "m", less, str)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (None, None),
        ({"content": None}, None),
        ({"content": []}, None),
        ({"content": ["A"]}, None),
        ({"content": [LIKELY]}, {"A": -0.1}),
        (
            {"content": [{**LIKELY, "top_logprobs": [LIKELY, {"token": " B", "logprob": -3}]}]},
            {"A": -0.1, " B": -3.0},
        ),
        (
            {"content": [{**LIKELY, "top_logprobs": ["x", {"token": 1}, {"token": "C", "logprob": "low"}]}]},
            {"A": -0.1},
        ),
    ],
)
def test_log_probabilities_of_the_first_token_are_read(told: Any, read: Any) -> None:
    found = reply({"choices": [{"message": {"content": "A"}, "logprobs": told}], "model": "m"})
    assert found is not None and found.logprobs == read
