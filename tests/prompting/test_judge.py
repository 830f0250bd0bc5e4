"""A question to a judge: its form is shown and sent, and its answer is a verdict or an error, never a no."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from lotbench.errors import JudgeError, UsageError
from lotbench.prompting.judge import JudgeQuestion
from lotbench.prompting.prompt import parse
from lotbench.prompting.reply import Form, YesNo, schema, shape
from lotbench.types import Answer, Key, Reply, Verdict


class Fit(Form):
    why: Annotated[str, Field(max_length=50)]
    fits: YesNo


JUDGE = JudgeQuestion("judge", "check", Fit, lambda form: form.fits)
PROMPT = parse("fit", "[system]\nDecide.\n{{shape}}\n[user]\n{{filling}}\n{{again}}")


def answered(text: str, **reply: Any) -> Answer:
    question = JUDGE.ask(PROMPT, round=3, filling="bell", again=None)
    return Answer(question, Key("s", 1, 3, "check", 0, 0, "d"), Reply(text, "m", **reply))


def test_the_question_shows_the_form_and_asks_for_it() -> None:
    question = JUDGE.ask(PROMPT, round=3, seat=1, attempt=1, filling="bell", again="Again.")
    assert (question.role, question.step, question.round, question.seat, question.attempt) == (
        "judge",
        "check",
        3,
        1,
        1,
    )
    assert question.messages[0].parts == (f"Decide.\n{shape(Fit)}",)
    assert question.messages[1].parts == ("bell\nAgain.",)
    assert question.schema == schema(Fit)


def test_a_prompt_without_a_field_for_what_is_judged_is_refused() -> None:
    for text in ("[user]\n{{shape}}\n{{again}}", "[user]\n{{filling}}\n{{again}}"):
        with pytest.raises(UsageError):
            JUDGE.ask(parse("fit", text), round=1, filling="bell", again=None)


@pytest.mark.parametrize("fits", [True, False])
def test_an_answer_is_a_verdict_with_its_parts(fits: bool) -> None:
    verdict = JUDGE.read(answered(json.dumps({"why": "so", "fits": fits})))
    assert verdict == Verdict(fits, {"why": "so", "fits": fits})


@pytest.mark.parametrize(
    ("text", "reply", "kind"),
    [
        ("No.", {}, "unparsed"),
        ('{"fits": false}', {}, "unparsed"),
        ('{"why": "so", "fits": "hardly"}', {}, "unparsed"),
        ("", {}, "unparsed"),
        ("I'm sorry, I can't help with that.", {}, "refused"),
        ('{"why": "so", "fits": true}', {"finish": "content_filter"}, "refused"),
        ('{"why": "so", "fi', {"finish": "length"}, "truncated"),
        ("<think>fits", {}, "truncated"),
    ],
)
def test_a_judge_that_cannot_be_read_is_an_error_and_no_verdict(text: str, reply: Any, kind: str) -> None:
    with pytest.raises(JudgeError) as caught:
        JUDGE.read(answered(text, **reply))
    assert caught.value.kind == kind
