"""Whatever arrives from outside, the model rooms make a reply, a refusal or a known error of it, never a surprise."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lotbench.calls.caller import storable
from lotbench.errors import Unread
from lotbench.models import chat_format
from lotbench.models.chat_format import LADDER, PARAMETERS, Abilities, short
from lotbench.prompting.reply import fills, read_form, schema
from lotbench.types import Finish, Reply, Usage
from tests.asking import Guess, question, reply_of

# Text as JSON can spell it: also halves of character pairs, which Python strings hold and files do not.
texts = st.text(st.characters(), max_size=20) | st.sampled_from(
    ["", "<think>", "</think>", "{", "}", '{"guess": "a"}', '{"guess": "\\ud83d"}', "```json\n", "是"]
)
names = st.sampled_from([
    "choices", "message", "content", "model", "usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details",
    "cached_tokens", "prompt_cache_hit_tokens", "finish_reason", "refusal", "reasoning", "reasoning_content", "text", "type",
    "error",
])  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names | texts, inner, max_size=4),
    max_leaves=6,
)
small = st.dictionaries(names, values, max_size=3)
completions = st.fixed_dictionaries(
    {"choices": st.tuples(st.fixed_dictionaries({"message": small})).map(list)},
    optional={"model": values, "usage": small},
)


@given(values | completions)
def test_any_json_is_a_reply_or_none(answer: Any) -> None:
    found = reply_of(answer)
    assert isinstance(chat_format.complaint(answer), str)
    if found is None:
        return
    assert isinstance(found.text, str) and isinstance(found.model, str)
    assert found.refusal is None or found.refusal
    assert found.reasoning is None or found.reasoning
    assert 0 <= found.usage.cached_input_tokens <= found.usage.input_tokens
    assert all(type(count) is int for count in (found.usage.input_tokens, found.usage.output_tokens))


@given(completions)
def test_any_completion_is_a_reply_that_can_be_written_down_and_read_or_refused(answer: Any) -> None:
    found = reply_of(answer)
    assert found is not None
    stored = storable(found)
    for text in (stored.text, stored.model, stored.reasoning or "", stored.refusal or ""):
        text.encode("utf-8")
    try:
        made = read_form(stored, Guess)
    except Unread as error:
        assert error.kind in ("refused", "truncated", "unparsed") and error.reason
        return
    json.dumps(made.model_dump(), ensure_ascii=False).encode("utf-8")


finishes: st.SearchStrategy[Finish] = st.sampled_from(["stop", "length", "content_filter", "other"])


@given(st.builds(Reply, st.lists(texts, max_size=5).map("".join), texts, finishes, refusal=st.none() | texts))
def test_any_text_is_read_or_refused_and_what_fills_a_form_can_be_read_as_json(reply: Reply) -> None:
    filled = fills(reply, schema(Guess))
    try:
        read_form(storable(reply), Guess)
    except Unread as error:
        assert error.kind in ("refused", "truncated", "unparsed")
    if filled:
        assert "{" in reply.text and "guess" in reply.text


WORDS = ["max_tokens", "max_completion_tokens", "json_schema", "completion", "image", "maxLength"]
words = st.sampled_from([*PARAMETERS, *WORDS, "context length", "not supported"])


@given(st.lists(words | st.text(max_size=8), max_size=6).map(" ".join), st.text(max_size=8))
def test_any_refusal_takes_something_away_or_nothing(message: str, model: str) -> None:
    able, request = Abilities(), question()
    for _ in range(len(PARAMETERS) + len(chat_format.BOUNDS) + len(LADDER)):
        made = chat_format.body(request, model, able, lambda sha256: "")
        less = chat_format.lessened(able, message, made)
        if less is None:
            break
        assert less != able
        able = less
    else:
        raise AssertionError("a refusal that is repeated must come to an end")
    for ask in (chat_format.too_long, chat_format.withheld):
        assert ask(message) in (True, False)
    assert chat_format.no_pictures(message, made) is False


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text(max_size=30)))
def test_any_header_is_a_wait_or_none(headers: dict[str, str]) -> None:
    found = chat_format.retry_after(headers, 1_790_000_000.0)
    assert found is None or found >= 0


@given(small)
def test_any_usage_is_counted(table: dict[str, Any]) -> None:
    assert isinstance(chat_format.usage(table), Usage)


@given(st.text(max_size=600), st.text("abc-", min_size=4, max_size=8))
def test_an_error_is_one_short_line_without_the_key(text: str, secret: str) -> None:
    told = short(f"{text}{secret}{text}", secret)
    assert len(told) <= 300
    assert secret not in told or secret in "***"
    assert len(told.splitlines()) <= 1
