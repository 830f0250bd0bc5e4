"""Alignment: does a justification argue as the gold does and come to the same end (G-Eval; Fig. 2).

The evaluation steps are written once by the judge, before it has seen any idea, and kept for all ideas and
runs: a score must not move because the yardstick was drawn again. `alignment_steps=per_idea` has them written anew for each
idea, as the public script does. Each idea's alignment is the mean of k calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from lotbench.benchmarks.rinobench.candidate import says_something
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.errors import Unread
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, prose, read_form
from lotbench.types import Answer

TOP = 10
"""The judge scores 0..10; alignment is that share of 10."""
_NUMBER = re.compile(r"^\s*(?:\d+[.)]|[-*])?\s*")
"""What a step begins with if the judge has numbered it already."""


def _whole(value: object) -> object:
    """Return a number that came as text or as `7.0`."""
    text = str(value).strip().removesuffix(".0")
    return int(text) if text.isdecimal() else value


class Steps(Form):
    """The evaluation steps."""

    steps: Annotated[list[Annotated[str, prose(300)]], Field(min_length=1, json_schema_extra={"maxItems": 8})]


class Aligned(Form):
    """One alignment score with its reason."""

    reason: Annotated[str, prose(600)]
    score: Annotated[Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], BeforeValidator(_whole)]


async def evaluation_steps(episode: IdeaEpisode) -> list[str]:
    """Return the evaluation steps, which are of no idea: the judge is asked for them once, or as often as there are ideas."""
    once = episode.settings.alignment_steps == "once"
    result = await episode.require(
        "judge",
        "alignment_steps",
        episode.prompt("alignment_steps"),
        Steps,
        {},
        read=read_steps,
        shared=once,
        about="*" if once else "",
    )
    return list(result["steps"])


def read_steps(answer: Answer) -> dict[str, list[str]]:
    """Return the steps, under `steps`.

    Raises:
        Unread: The reply is not the form, or its steps say nothing.
    """
    steps = [_NUMBER.sub("", step) for step in read_form(answer.reply, Steps).steps if says_something(step)]
    if not steps:
        raise Unread("unparsed", "steps: they are empty")
    return {"steps": steps}


async def score(episode: IdeaEpisode, steps: Sequence[str], draw: int) -> None:
    """Ask for one of the k alignment scores; the judge sees both justifications without their scores."""
    values: dict[str, Value] = {
        "steps": "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)),
        "gold": episode.sample.novelty_reasoning,
        "justification": episode.state["turn"]["reasoning"],
    }
    warm = episode.settings.alignment_temperature
    await episode.require(
        "judge",
        "alignment",
        episode.prompt("alignment"),
        Aligned,
        values,
        read=read_score,
        draw=draw,
        temperature=warm,
    )


def read_score(answer: Answer) -> dict[str, Any]:
    """Return the alignment, 0..1, and its reason.

    Raises:
        Unread: The reply is not the form.
    """
    form = read_form(answer.reply, Aligned)
    return {"alignment": form.score / TOP, "reason": form.reason}
