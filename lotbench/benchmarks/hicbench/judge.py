"""The judges' part: each judge gives each answer three marks and decides on hallucination (App. A.2).

A judge sees the question and one answer. It does not see who wrote the answer, other answers, or other judges. A
verdict that cannot be read is asked for once more; after that it is missing.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from lotbench.benchmarks.hicbench import keywords, memory, ratings
from lotbench.benchmarks.hicbench.settings import TaskEpisode
from lotbench.errors import EpisodeFailed
from lotbench.harness.episode import AskResult
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.reply import Form, YesNo, read_form


def _no_decision(value: object) -> object:
    """Return a mark unchanged, unless it is a boolean, which pydantic would take for 0 or 1.

    Raises:
        ValueError: The mark is a boolean.
    """
    if isinstance(value, bool):
        raise ValueError("a whole number, not a decision")
    return value


# The bounds come first, since the schema omits bounds that follow a validator.
Mark = Annotated[int, Field(ge=1, le=5, description="a whole number, 1 to 5"), BeforeValidator(_no_decision)]


class Verdict(Form):
    """A judge's verdict on one answer: three marks, and whether the answer hallucinates."""

    originality: Mark
    feasibility: Mark
    value: Mark
    hallucination: YesNo


Place = tuple[int, str, int]
"""The number of an answer from 0, the role that judges it, and the index of the judge in that role."""


async def judge(state: EpisodeState, runtime: Runtime[TaskEpisode]) -> Update:
    """Ask every judge about every answer.

    Then, if the settings say so, ask a model for the keywords of each answer, and update the examples for the next
    prompt (Sec. 4.3).

    Raises:
        EpisodeFailed: No verdict of any judge can be read.
    """
    episode = runtime.context
    places = list(_places(episode))
    verdicts = await episode.each(_verdict, places)
    roles = [role for _, role, _ in places]
    if not any(verdict.value for role, verdict in zip(roles, verdicts, strict=True) if role == "judge"):
        raise EpisodeFailed("judge", "no verdict of any judge could be read")
    if episode.settings.keywords:
        answers = enumerate(state["turn"]["answers"])
        await episode.each(_keywords, [number for number, text in answers if text is not None])
    if not episode.settings.dhp:
        return {}
    examples = rated(episode, episode.recorded)
    return {"memory": memory.after(state["memory"], episode.settings, episode.sample.id, examples)}


async def _verdict(episode: TaskEpisode, place: Place) -> AskResult[Verdict]:
    """Ask for one verdict; `place` is the number of the answer, and the role and index of the judge."""
    number, role, index = place
    return await episode.ask(
        role,
        role,
        episode.prompt("judge"),
        Verdict,
        {"question": episode.sample.question, "answer": episode.state["turn"]["answers"][number]},
        read=lambda answer: read_form(answer.reply, Verdict),
        value=lambda verdict: {"status": "ok", **verdict.model_dump(mode="json")},
        common=lambda answer: {"answer": number, "index": index},
        round=number + 1,
        index=index,
        # Two judges may be the same model; without the draw their calls would have the same key.
        draw=index,
    )


async def _keywords(episode: TaskEpisode, number: int) -> AskResult[keywords.NamedKeywords]:
    """Ask a model for the keywords of the answer with this number."""
    return await episode.ask(
        "keywords",
        "keywords",
        episode.prompt("keywords"),
        keywords.NamedKeywords,
        {"answer": episode.state["turn"]["answers"][number]},
        read=lambda answer: read_form(answer.reply, keywords.NamedKeywords),
        value=lambda names: {"status": "ok", **names.model_dump(mode="json")},
        common=lambda answer: {"answer": number},
        round=number + 1,
    )


def rated(episode: TaskEpisode, steps: Sequence[Any]) -> list[memory.Rated]:
    """Return the answers that may become examples in the next prompt, with the sum of their marks and their class.

    The judges' verdicts count as one verdict (`ratings.together`). The judges are those of the setting `dhp_judge`.

    Args:
        episode: The episode, for its settings.
        steps: All steps of its trace.
    """
    role = "judge" if episode.settings.dhp_judge == "panel" else "dhp_judge"
    examples = []
    for answer in ratings.read_answered(steps, role):
        if answer.status != "ok":
            continue
        table = np.array(answer.ratings, dtype=float).reshape(1, -1, 4)
        marks, hallucinated = ratings.together(table[..., :3], table[..., 3])
        ih, dh = ratings.classify(marks, hallucinated, episode.settings.classes)
        total = float(marks.sum())
        examples.append(memory.Rated(answer.text, total, bool(ih.any()), bool(dh.any())))
    return examples


def _places(episode: TaskEpisode) -> Iterator[Place]:
    """Yield (number of the answer, role, index of the judge) for each readable answer and each judge that is asked about it."""
    separate = episode.settings.dhp and episode.settings.dhp_judge == "separate"
    for number, text in enumerate(episode.state["turn"]["answers"]):
        if text is not None:
            yield from ((number, "judge", index) for index in range(episode.models["judge"]))
            if separate:
                yield number, "dhp_judge", 0
