"""Alignment: does a justification argue like the gold justification and reach the same conclusion (G-Eval; Fig. 2).

The judge writes the evaluation steps once, before it sees any idea, and they serve all ideas and runs, so that scores
stay comparable. With `alignment_steps=per_idea` it writes them for each idea, as the public script does. An idea's
alignment is the mean score of k calls of the judge.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from lotbench.benchmarks.rinobench.candidate import says_something
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.errors import Unread
from lotbench.harness.episode import Place
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, Quoted, prose, read_form
from lotbench.types import Answer

TOP = 10
"""The judge's highest score; alignment is its score divided by this."""
_NUMBER = re.compile(r"^\s*(?:\d+[.)]|[-*])?\s*")
"""The number or bullet at the beginning of a step."""


def _whole(value: object) -> object:
    """Return a whole number that came as text or as `7.0` as an integer, and any other value unchanged."""
    text = str(value).strip().removesuffix(".0")
    return int(text) if text.isdecimal() else value


class Steps(Quoted):
    """The judge's reply with the evaluation steps."""

    steps: Annotated[
        list[Annotated[str, prose(300)]],
        Field(min_length=1, max_length=100, json_schema_extra={"maxItems": 8}),
    ]


class Aligned(Form):
    """The judge's reply with one alignment score, 0 to 10, and its reason."""

    reason: Annotated[str, prose(600)]
    score: Annotated[Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], BeforeValidator(_whole)]


async def evaluation_steps(episode: IdeaEpisode) -> list[str]:
    """Ask the judge for the evaluation steps and return them, without numbers.

    The setting `alignment_steps` says whether the steps are asked for once for all ideas, or for each idea.

    Raises:
        EpisodeFailed: The judge did not reply, or its reply could not be read.
    """
    once, step = episode.settings.alignment_steps == "once", "alignment_steps"
    place = Place(shared=once, about="*" if once else "")
    result = await episode.require("judge", step, episode.prompt(step), Steps, {}, read=read_steps, **place)
    return list(result["steps"])


def read_steps(answer: Answer) -> dict[str, list[str]]:
    """Return the evaluation steps of a reply, under `steps`.

    Raises:
        Unread: The reply does not fit the schema, or its steps are empty.
    """
    steps = [_NUMBER.sub("", step) for step in read_form(answer.reply, Steps).steps if says_something(step)]
    if not steps:
        raise Unread("unparsed", "steps: they are empty")
    return {"steps": steps}


async def score(episode: IdeaEpisode, steps: Sequence[str], draw: int) -> None:
    """Ask for one of the k alignment scores and record it; the judge sees both justifications without novelty scores.

    Args:
        episode: The episode.
        steps: The evaluation steps.
        draw: The number of the call, from 0 to k - 1.

    Raises:
        EpisodeFailed: The judge did not reply, or its reply could not be read.
    """
    values: dict[str, Value] = {
        "steps": "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)),
        "gold": episode.sample.novelty_reasoning,
        "justification": episode.state["turn"]["reasoning"],
    }
    prompt = episode.prompt("alignment")
    place = Place(draw=draw, temperature=episode.settings.alignment_temperature)
    await episode.require("judge", "alignment", prompt, Aligned, values, read=read_score, **place)


def read_score(answer: Answer) -> dict[str, Any]:
    """Return the alignment of a reply, 0..1, and its reason.

    Raises:
        Unread: The reply does not fit the schema.
    """
    form = read_form(answer.reply, Aligned)
    return {"alignment": form.score / TOP, "reason": form.reason}
