"""From raw text to a typed answer: what is read, what is refused, what was cut off, and what is none."""

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from lotbench.benchmarks.lotbench.forms import Chain
from lotbench.benchmarks.rinobench.alignment import Steps
from lotbench.errors import Unread
from lotbench.prompting.reply import (
    Form,
    Quoted,
    YesNo,
    fills,
    plain,
    prose,
    read_form,
    schema,
    shape,
    verdict,
    visible,
)
from lotbench.types import Answer, Key, Question, Reply, Verdict


class One(Form):
    guess: Annotated[str, prose(40, "what is missing")]


class Two(Form):
    reason: Annotated[str, prose(30)]
    same: YesNo


class Rating(Form):
    score: Annotated[float, Field(ge=0, le=10)]


def test_an_answer_as_long_as_a_book_is_not_read_into_later_prompts() -> None:
    steps = {"steps": ["a" * 99_000]}
    assert status(json.dumps(steps), Steps) == "read"
    assert status(json.dumps({"steps": ["a" * 100_000]}), Steps) == "unparsed"
    assert issubclass(Chain, Quoted)


def status(text: str, form: type[Form] = One, **reply: Any) -> str:
    """The kind of failure, or `read`."""
    try:
        read_form(Reply(text, "m", **reply), form)
    except Unread as error:
        assert error.reason
        return error.kind
    return "read"


BELL = '{"guess": "bell"}'
READ = {
    "alone": BELL,
    "spaces around it": f"\n\n {BELL} \n",
    "several lines": '{\n  "guess":\n  "bell"\n}',
    "more fields": '{"note": [1, {"a": {}}], "guess": "bell"}',
    "fenced": f"```json\n{BELL}\n```",
    "fenced without a name": f"```\n{BELL}\n```",
    "fenced in capitals": f"```JSON\n{BELL}\n```",
    "fenced on one line": f"```json {BELL}```",
    "fenced after prose": f"Here it is:\n```json\n{BELL}\n```",
    "fenced before prose": f"```json\n{BELL}\n```\nI hope it helps {{a lot}}.",
    "after a line of prose": f"It rings, so here is my answer.\n{BELL}",
    "after prose and a blank line": f"It rings.\n\n{BELL}",
    "after a label": f"OUTPUT: {BELL}",
    "after a bold label": f"**Answer:** {BELL}",
    "after an apology": f"I apologize for the confusion. Here is the corrected answer:\n{BELL}",
    "after a Chinese label": f"答案：{BELL}",
    "after reasoning": f'<think>{{"guess": "drum"}} no</think>\n{BELL}',
    "after reasoning in capitals": f"<THINKING>so</THINKING>{BELL}",
    "after reasoning that was opened elsewhere": f"so it is a bell</think>{BELL}",
    "after reasoning within reasoning": f"<think>a<think>b</think>c</think>{BELL}",
    "escaped": '{"guess": "b\\u0065ll"}',
    "cut off after its end": BELL,
    "plain": "bell",
    "plain in quotes": '"bell"',
    "plain and bold": "**bell**",
    "plain after a label": "Guess: bell",
    "plain after a bold label": "**Guess:** bell",
    "plain after the prompt's label": "OUTPUT: bell",
    "plain after reasoning": "<think>hm</think>\n\nbell\n",
}


@pytest.mark.parametrize("how", READ)
def test_an_answer_is_read(how: str) -> None:
    finish: Any = "length" if how.startswith("cut off") else "stop"
    assert read_form(Reply(READ[how], "m", finish=finish), One) == One(guess="bell")


UNPARSED = {
    "nothing": "",
    "blank": " \n ",
    "only reasoning": "<think>a bell</think>",
    "prose of several lines": "It may be a bell.\nOr not.",
    "JSON cut short": '{"guess": "bell"',
    "single quotes": "{'guess': 'bell'}",
    "a list": '["bell"]',
    "a number": '{"guess": 7}',
    "null": '{"guess": null}',
    "an object": '{"guess": {"text": "bell"}}',
    "another field": '{"answer": "bell"}',
    "a field twice": '{"guess": "bell", "guess": "drum"}',
    "a twin further in": '{"guess": "bell", "more": {"a": 1, "a": 2}}',
    "two objects": f"{BELL}\n{BELL}",
    "two fences": f"```\n{BELL}\n```\n```\n{BELL}\n```",
    "a quoted object and its own": f"It says:\n```json\n{BELL}\n```\nI say:\n{BELL}",
    "its own and a quoted one": f"{BELL}\nIt said ```{BELL}```",
    "prose after it": f"{BELL} is my answer",
    "in the middle of a sentence": f"I would never say {BELL}",
    "NaN beside it": '{"guess": "bell", "x": NaN}',
    "Infinity beside it": '{"guess": "bell", "x": -Infinity}',
    "nested without end": '{"a":' * 50_000,
    "a number without end": '{"guess": "bell", "x": ' + "9" * 10_000 + "}",
}


@pytest.mark.parametrize("how", UNPARSED)
def test_what_is_not_the_form_is_unparsed(how: str) -> None:
    assert status(UNPARSED[how]) == "unparsed"


def test_a_form_of_several_fields_is_never_read_from_plain_text() -> None:
    assert status("yes", Two) == "unparsed"
    assert status("reason: x, same: yes", Two) == "unparsed"


def test_the_reason_names_the_field_and_not_what_was_in_it() -> None:
    with pytest.raises(Unread) as caught:
        read_form(Reply('{"guess": 12345}', "m"), One)
    assert caught.value.reason == "guess: Input should be a valid string"


TRUNCATED = {
    "JSON": '{"guess": "be',
    "plain text": "an old chu",
    "nothing": "",
    "a fence": '```json\n{"guess": "bell',
}


@pytest.mark.parametrize("how", TRUNCATED)
def test_what_was_cut_off_is_truncated_and_not_guessed_at(how: str) -> None:
    assert status(TRUNCATED[how], finish="length") == "truncated"


@pytest.mark.parametrize(
    "text", ["<think>It might be a bell", f"<think>a</think> <reasoning>b {BELL}", f"<Thought>{BELL}"]
)
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_reasoning_that_never_ends_is_truncated(text: str, finish: Any) -> None:
    assert status(text, finish=finish) == "truncated"


REFUSED = [
    "I'm sorry, but I can't help with that.", "I’m sorry, I cannot assist with this request.",
    "Sorry, I can't comply.", "I apologize, but I am unable to provide an answer.",
    "I cannot fulfil this request.", "I can't answer that question.", "I am not able to continue.",
    "I won't help with this.", "As an AI language model, I cannot provide the guess.", "抱歉，我不能回答这个问题。",
    "我无法提供答案。", "很遗憾，我帮不了你。", '{"guess": "I cannot help with that."}', '{"guess": "我无法提供该内容"}',
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_an_answer_that_declines_is_refused(text: str) -> None:
    assert status(text) == "refused"


NOT_REFUSED = [
    "as an AI would say", "an AI", "sorry excuse", "I can't do mornings", "I can't help laughing",
    "apology letter", "the one who cannot help", '{"guess": "I\'m sorry"}',
    '{"guess": "sorry, wrong number"}', '{"guess": "I can\'t help thinking of you"}', '{"guess": "对不起"}',
    '{"guess": "我不能回家"}',
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_REFUSED)
def test_words_of_regret_or_of_inability_are_no_refusal_by_themselves(text: str) -> None:
    assert status(text) == "read"


@pytest.mark.parametrize(
    "reason",
    ["I can't help noticing it", "As an AI I can't see it", "I cannot be sure", "I am unable to decide"],
)
def test_a_reason_may_begin_with_what_one_cannot_tell(reason: str) -> None:
    assert status(json.dumps({"reason": reason, "same": True}), Two) == "read"


def test_a_judge_that_declines_within_the_form_is_refused() -> None:
    declined = {"reason": "I can't assist with that.", "same": False}
    assert status(json.dumps(declined), Two) == "refused"


def test_a_withheld_answer_is_refused_whatever_it_says() -> None:
    assert status(BELL, finish="content_filter") == "refused"
    assert status(BELL, refusal="No.") == "refused"


DECISIONS: list[tuple[Any, bool | None]] = [
    (True, True), (False, False),
    ("yes", True), ("Yes", True), (" YES. ", True), ("no", False), ("No.", False), ("true", True), ("False", False),
    ("是", True), ("否。", False),
    ("y", None), ("on", None), ("1", None), (1, None), (0, None), (1.0, None),
    ("maybe", None), ("yes and no", None), ("not yes", None), ("", None), (None, None), ([True], None),
]  # fmt: skip


@pytest.mark.parametrize(("said", "decided"), DECISIONS)
def test_a_decision_is_yes_or_no_and_nothing_else_is_read_as_one(said: Any, decided: bool | None) -> None:
    text = json.dumps({"reason": "r", "same": said})
    if decided is None:
        assert status(text, Two) == "unparsed"
    else:
        assert read_form(Reply(text, "m"), Two).same is decided


@pytest.mark.parametrize("same", [True, False])
def test_a_verdict_is_the_decision_with_its_parts(same: bool) -> None:
    parts = {"reason": "so", "same": same}
    assert judged(json.dumps(parts)) == Verdict(same, parts)


@pytest.mark.parametrize("text", ["No.", '{"same": false}', "", "I'm sorry, I can't help with that."])
def test_a_judge_that_cannot_be_read_is_an_error_and_never_a_no(text: str) -> None:
    with pytest.raises(Unread):
        judged(text)


def judged(text: str) -> Verdict:
    answer = Answer(Question("judge", "check", ()), Key("s", 1, 3, "check", 0, 0, "d"), Reply(text, "m"))
    return verdict(answer, Two, lambda form: form.same)


def test_prose_is_bounded_in_the_schema_and_read_where_a_server_let_it_run_on() -> None:
    assert read_form(Reply(json.dumps({"reason": "so " * 30, "same": "no"}), "m"), Two).reason == "so " * 30


def test_half_a_character_which_no_file_can_hold_becomes_a_mark() -> None:
    assert read_form(Reply('{"guess": "bell \\ud83d"}', "m"), One).guess == "bell \ufffd"
    assert read_form(Reply('{"guess": "bell \\ud83d\\ude00"}', "m"), One).guess == "bell 😀"


@pytest.mark.parametrize("said", ["NaN", "Infinity", "1e999", "11", '"7"x', "[7]"])
def test_a_number_that_is_none_or_out_of_range_is_unparsed(said: str) -> None:
    assert status(f'{{"score": {said}}}', Rating) == "unparsed"


@given(st.text(max_size=200))
def test_any_text_is_read_or_has_a_reason(text: str) -> None:
    assert status(text) in ("read", "unparsed", "refused", "truncated")
    assert status(text, Two) in ("unparsed", "refused", "truncated")


@given(st.text(max_size=40).filter(lambda text: status(text) != "refused" and "<" not in text))
def test_what_is_said_in_json_is_read_as_it_was_said(said: str) -> None:
    text = json.dumps({"guess": said}, ensure_ascii=False)
    for around in (text, f"```json\n{text}\n```" if "`" not in said else text, f"Thus:\n{text}"):
        assert read_form(Reply(around, "m"), One).guess == said


def test_the_text_without_its_reasoning() -> None:
    assert visible(Reply("<think>a</think> b <think>c</think> d", "m")) == "b  d"
    assert visible(Reply("b", "m", reasoning="a")) == "b"


# ---- Forms ----


def test_a_schema_is_flat_closed_and_bounded() -> None:
    made = schema(Two)
    assert made["required"] == ["reason", "same"]
    assert made["additionalProperties"] is False
    bounded = {"type": "string", "maxLength": 30, "description": "..."}
    assert made["properties"] == {"reason": bounded, "same": {"type": "boolean"}}


def test_a_shape_shows_every_field_and_no_words_to_copy() -> None:
    class Choice(Form):
        answer: Literal["Yes", "No"]
        sure: YesNo
        why: Annotated[str, prose(9, "say why")]
        marks: Annotated[int, Field(description="1 to 10")]
        years: int

    assert shape(Choice) == (
        '{\n  "answer": "Yes" or "No",\n  "sure": false or true,\n  "why": "...",\n  "marks": 1 to 10,'
        '\n  "years": a whole number\n}'
    )


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ('{"reason": 1, "same": 2, "more": 3}', True),
        ('OUTPUT: {"reason": "", "same": null}', True),
        ('{"reason": 1}', False),
        ("reason: 1, same: 2", False),
        ("<think>", False),
        ("", False),
    ],
)
def test_a_reply_fills_a_schema_if_every_field_is_there_whatever_it_says(text: str, whole: bool) -> None:
    assert fills(Reply(text, "m"), schema(Two)) is whole


def test_a_reply_that_is_too_deep_to_write_is_no_answer_and_no_crash() -> None:
    for depth in range(500, 1000):
        deep = "[" * depth + "]" * depth
        fills(Reply(rf'{{"reason": "\ud800", "x": {deep}}}', "m"), schema(Two))


def test_a_form_that_is_not_flat_or_has_a_string_without_bound_is_a_bug() -> None:
    class Inner(Form):
        text: Annotated[str, Field(max_length=3)]

    class Nested(Form):
        inner: Inner

    class Unbounded(Form):
        text: str

    for form in (Nested, Unbounded):
        with pytest.raises(TypeError):
            schema(form)


# Plain text.


@pytest.mark.parametrize(
    ("reply", "cut", "found"),
    [
        (Reply("  Two lines,\nas they came. ", "m"), False, "Two lines,\nas they came."),
        (Reply("<think>first this</think>The answer.", "m"), False, "The answer."),
        (Reply("The answer goes", "m", finish="length"), True, "The answer goes"),
        (Reply('{"a": 1}', "m"), False, '{"a": 1}'),
    ],
)
def test_plain_text_is_read_as_it_came(reply: Reply, cut: bool, found: str) -> None:
    assert plain(reply, cut=cut) == found


@pytest.mark.parametrize(
    ("reply", "cut", "kind"),
    [
        (Reply("The answer goes", "m", finish="length"), False, "truncated"),
        (Reply("", "m", finish="length"), True, "truncated"),
        (Reply("<think>and then", "m", finish="length"), True, "truncated"),
        (Reply("", "m"), False, "unparsed"),
        (Reply("I'm sorry, but I can't help with that.", "m"), False, "refused"),
        (Reply("The answer.", "m", finish="content_filter"), False, "refused"),
        (Reply("", "m", refusal="No."), False, "refused"),
    ],
)
def test_plain_text_that_is_no_answer_says_what_it_is(reply: Reply, cut: bool, kind: str) -> None:
    with pytest.raises(Unread) as caught:
        plain(reply, cut=cut)
    assert caught.value.kind == kind
