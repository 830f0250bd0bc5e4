"""The candidate's half: one judgment of an idea, its reasoning first and then the score (Sec. 5, Fig. 6).

A score outside 1..5 is asked for once more and is then an outcome of its own: it is wrong, but not unread, and
the reasoning beside it is judged like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.benchmarks.rinobench.settings import Walk
from lotbench.benchmarks.rinobench.works import shown
from lotbench.errors import Unread
from lotbench.harness.benchmark import record
from lotbench.harness.reask import Unreadable, asking, reading
from lotbench.harness.state import Update
from lotbench.prompting.reply import Form, read_form, schema, shape
from lotbench.types import Answer, Question

OUT_OF_RANGE = "novelty_score is not one of 1, 2, 3, 4, 5"


def label(said: object) -> int | None:
    """A score of the rubric, also where it came as `4.0` or `"4"`; None for anything else."""
    if isinstance(said, str) and said.strip().isdecimal():
        said = int(said)
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return int(said) if said in LABELS else None


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit: a small model copies the `...` of the form."""
    return any(map(str.isalnum, text))


class Judgment(Form):
    """The answer of the candidate."""

    # A shortest length, too: else a small model copies the dots of the form.
    reasoning: Annotated[
        str,
        Field(
            description="the comparison with the related works that leads to the score",
            json_schema_extra={"minLength": 40, "maxLength": 4000},
        ),
    ]
    novelty_score: Annotated[
        int | None, BeforeValidator(label), WithJsonSchema({"type": "integer", "enum": list(LABELS)})
    ]


def ask(walk: Walk) -> Sequence[Question]:
    """The idea and its related works, once, and once more after an answer that cannot be used."""
    if "status" in walk.state["turn"]:
        return ()
    idea, once = walk.sample, asking(walk, walk.state["draft"].get("unread"))
    messages = walk.prompt("respond").messages(
        idea=idea.research_idea.told(),
        works=shown(idea.related_works, walk.settings.works_chars).text,
        shape=shape(Judgment),
        again=once.again,
    )
    return (Question("candidate", "respond", messages, schema(Judgment), attempt=once.number),)


def read_answer(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The judgment, with `status` ok, or invalid, unparsed, refused or truncated after two askings."""
    answer = answers[0]
    judged = reading(answer, _judged, refusal_stands=True)
    if isinstance(judged, Unreadable):
        value: dict[str, Any] = {"status": judged.status, "novelty_score": None, "reasoning": ""}
        again, reason = judged.again, judged.reason
    else:
        value = judged
        again, reason = value["status"] == "invalid" and answer.question.attempt == 0, OUT_OF_RANGE
    works = walk.sample.related_works
    cut = shown(works, walk.settings.works_chars).cut
    steps = [record(answer, {**value, "shortened": cut, "works": len(works)})]
    if again:
        return {"draft": {"unread": reason}, "steps": steps}
    return {"turn": value, "draft": {}, "steps": steps}


def _judged(answer: Answer) -> dict[str, Any]:
    """A judgment, `ok` or, with a score that is none of the rubric, `invalid`.

    Raises:
        Unread: The reply is not the form, or its reasoning says nothing.
    """
    judgment = read_form(answer.reply, Judgment)
    if not says_something(judgment.reasoning):
        raise Unread("unparsed", "reasoning: it says nothing")
    return {
        "status": "ok" if judgment.novelty_score else "invalid",
        "novelty_score": judgment.novelty_score,
        "reasoning": judgment.reasoning.strip(),
    }
