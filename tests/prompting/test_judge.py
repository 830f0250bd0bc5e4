"""An answer of a judge is a verdict or an error, never a no."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import Field

from lotbench.errors import Unread
from lotbench.prompting.judge import verdict
from lotbench.prompting.reply import Form, YesNo
from lotbench.types import Answer, Key, Question, Reply, Verdict


class Fit(Form):
    why: Annotated[str, Field(max_length=50)]
    fits: YesNo


def read(text: str, **reply: Any) -> Verdict:
    answer = Answer(
        Question("judge", "check", ()), Key("s", 1, 3, "check", 0, 0, "d"), Reply(text, "m", **reply)
    )
    return verdict(answer, Fit, lambda form: form.fits)


@pytest.mark.parametrize("fits", [True, False])
def test_an_answer_is_a_verdict_with_its_parts(fits: bool) -> None:
    assert read(json.dumps({"why": "so", "fits": fits})) == Verdict(fits, {"why": "so", "fits": fits})


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
    with pytest.raises(Unread) as caught:
        read(text, **reply)
    assert caught.value.kind == kind
