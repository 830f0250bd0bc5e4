"""The candidate's part: one judgment of an idea, first the reasoning and then the score (Sec. 5, Fig. 6).

A score outside 1..5 is asked for once more. If it comes again, the answer is `invalid`: its score is wrong, and its
reasoning is judged like any other.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.benchmarks.rinobench.settings import IdeaEpisode
from lotbench.benchmarks.rinobench.works import show_works
from lotbench.errors import Unread
from lotbench.harness.episode import AskResult
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.reply import Form, read_form
from lotbench.types import JSON, Answer

NOTHING: dict[str, JSON] = {"novelty_score": None, "reasoning": ""}
"""The fields of the candidate's answer if its reply cannot be read."""
OUT_OF_RANGE = "novelty_score is not one of 1, 2, 3, 4, 5"


def label(value: object) -> int | None:
    """Return a novelty score of 1 to 5 as an integer, also if it came as `4.0` or `"4"`; None for any other value."""
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if value in LABELS else None


def says_something(text: str) -> bool:
    """Return whether a text has a letter or a digit; a small model may copy the `...` of the prompt instead of writing."""
    return any(map(str.isalnum, text))


class Judgment(Form):
    """The candidate's reply; `novelty_score` is None if it is not one of 1 to 5."""

    # The minimum length keeps a small model from copying the dots of the form.
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


async def respond(state: EpisodeState, runtime: Runtime[IdeaEpisode]) -> Update:
    """Ask for a judgment of the idea, and once more if the answer cannot be used; a refusal is not asked again."""
    episode = runtime.context
    reading = await _judgment(episode)
    if reading.value and reading.value["status"] == "invalid":
        reading = await _judgment(episode, unread=OUT_OF_RANGE)
    elif reading.value is None and reading.status != "refused":
        reading = await _judgment(episode, unread=reading.reason)
    return {"turn": reading.value or {"status": reading.status, **NOTHING}}


async def _judgment(episode: IdeaEpisode, unread: str | None = None) -> AskResult[dict[str, Any]]:
    """Ask once for a judgment and record it; `unread` says what was wrong with the previous reply, None if it is the first."""
    idea = episode.sample
    works, cut = show_works(idea.related_works, episode.settings.works_chars)
    extra: dict[str, JSON] = {"shortened": cut, "works": len(idea.related_works)}
    return await episode.ask(
        "candidate",
        "respond",
        episode.prompt("respond"),
        Judgment,
        {"idea": idea.research_idea.text(), "works": works},
        read=_judged,
        value=lambda judged: {**judged, **extra},
        missing=lambda error: {"status": error.kind, **NOTHING, **extra},
        once=True,
        unread=unread,
    )


def _judged(answer: Answer) -> dict[str, Any]:
    """Return the status, score and reasoning of a reply; the status is `ok`, or `invalid` if the score is not 1 to 5.

    Raises:
        Unread: The reply does not fit the schema, or its reasoning is empty.
    """
    judgment = read_form(answer.reply, Judgment)
    if not says_something(judgment.reasoning):
        raise Unread("unparsed", "reasoning: it says nothing")
    return {
        "status": "ok" if judgment.novelty_score else "invalid",
        "novelty_score": judgment.novelty_score,
        "reasoning": judgment.reasoning.strip(),
    }
