"""The panel's part: three judges score each idea, and one judge compares the ideas of a keyword (v2, Methods).

Judges rotate over the data set's own order, so --limit, resume and the order of finishing do not change who judges
what. A verdict that cannot be read is asked for once more; after that it is missing and lowers n.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Strict

from lotbench.benchmarks.liveideabench.settings import KeywordEpisode
from lotbench.errors import EpisodeFailed
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.normal_form import normal
from lotbench.prompting.reply import Form, prose, read_form
from lotbench.types import JSON

Grade = Annotated[int, Strict(), Field(ge=1, le=10, description="1 to 10")]
_LETTER = re.compile(
    r"^\W*(?:(?:the )?(?:answer|grade|option|choice)(?: is)?\b\W*)?([A-D])\W*$", re.IGNORECASE
)


class Scores(Form):
    """A judge's reply about one idea in v1: scores from 1 to 10."""

    originality: Grade
    feasibility: Grade


class Review(Form):
    """A judge's reply about one idea in v2: an analysis, and scores from 1 to 10."""

    analysis: Annotated[str, prose(1000, "strengths and weaknesses, under 100 words")]
    originality: Grade
    feasibility: Grade
    clarity: Grade


def _letter(value: object) -> object:
    match = _LETTER.match(value) if isinstance(value, str) else None
    return match[1].upper() if match else value


class Likeness(Form):
    """A judge's reply about two ideas (fluency): a letter from A (completely different) to D (identical)."""

    grade: Annotated[Literal["A", "B", "C", "D"], BeforeValidator(_letter)]


SCORES: Mapping[str, type[Form]] = {"v1": Scores, "v2": Review}
"""The form of a judge's reply about one idea, by version."""
Pair = tuple[int, int]
Position = tuple[int, int, int]
"""The position of a question to the panel: the number of the idea or pair from 1, the draw (the place of the judge among the
idea's judges, or the order of the pair), and the judge's index."""
PanelQuestion = tuple[type[Form], str, Position, Mapping[str, str], Mapping[str, JSON]]
"""A question to the panel: form of the reply, name of the step, position, values of the prompt's fields, and more fields
that the trace records."""


async def judge(state: EpisodeState, runtime: Runtime[KeywordEpisode]) -> Update:
    """Ask the judges of each idea for scores, and one judge how alike the two ideas of each pair are, in each order."""
    episode = runtime.context
    form = SCORES[episode.settings.version]
    questions: list[PanelQuestion] = [
        (form, "judge", (number, place, index), {"idea": idea}, {})
        for number, idea in judged_ideas(episode).items()
        for place, index in enumerate(indexes(episode, number))
    ]
    questions += [(Likeness, "compare", *place) for place in _comparing(episode)]
    await episode.each(_verdict, questions)
    return {}


async def grade(state: EpisodeState, runtime: Runtime[KeywordEpisode]) -> Update:
    """Record letter D, without a call, for each pair of ideas with the same words, and end the episode.

    Raises:
        EpisodeFailed: No verdict of any judge can be read.
    """
    episode = runtime.context
    for number, pair in enumerate(pairs(episode), 1):
        if _identical(episode, pair):
            verdict: dict[str, JSON] = {"status": "ok", "grade": "D", "how": "identical", "ideas": list(pair)}
            episode.remark("compare", verdict, number)
    verdicts = [step["value"] for step in state["steps"] if step["step"] == "judge"]
    if verdicts and not any(value["status"] == "ok" for value in verdicts):
        raise EpisodeFailed("judge", f"no judge of any idea could be read: {verdicts[-1]['reason']}")
    return {"outcome": "scored"}


async def _verdict(episode: KeywordEpisode, question: PanelQuestion) -> None:
    """Ask one judge and record the verdict; of a reply that cannot be read, record the status and no scores."""
    form, step, (number, draw, index), values, about = question
    await episode.ask(
        "judge",
        step,
        episode.prompt(f"{step}_{episode.settings.version}"),
        form,
        values,
        read=lambda answer: read_form(answer.reply, form),
        value=lambda form: {"status": "ok", **form.model_dump(mode="json")},
        missing=lambda error: {"status": error.kind, "reason": error.reason},
        common=lambda answer: {"judge": index, "model": answer.reply.model, **about},
        round=number,
        draw=draw,
        index=index,
    )


def judged_ideas(episode: KeywordEpisode) -> dict[int, str]:
    """Return the texts of the ideas to judge, by number from 1; for a number asked for twice, the last reply."""
    values = {step["round"]: step["value"] for step in episode.state["steps"] if step["role"] == "candidate"}
    return {number: value["idea"] for number, value in sorted(values.items()) if value["status"] == "ok"}


def pairs(episode: KeywordEpisode) -> list[Pair]:
    """Return all pairs of ideas to judge, each as two numbers."""
    return list(combinations(judged_ideas(episode), 2))


def indexes(episode: KeywordEpisode, number: int) -> list[int]:
    """Return the indices of an idea's judges: neighbours in the panel's order, which move on by one with each idea.

    Once every judge has been the first, all have judged the same number of ideas.
    """
    first = _turn(episode) * episode.settings.ideas + number - 1
    return [(first + place) % episode.models["judge"] for place in range(episode.settings.judges)]


def _turn(episode: KeywordEpisode) -> int:
    """Return the number of episodes before this one, in the order of repeats and then of the data set."""
    place = next(index for index, item in enumerate(episode.data) if item.id == episode.sample.id)
    return (episode.repeat - 1) * len(episode.data) + place


def _comparing(episode: KeywordEpisode) -> Iterator[tuple[Position, Mapping[str, str], Mapping[str, JSON]]]:
    """Yield each question that asks a judge to compare two ideas, as position, prompt values and further step fields.

    The position is the number of the pair, the order of its ideas (0 or 1), and the index of the judge.
    """
    ideas, index = judged_ideas(episode), _turn(episode) % episode.models["judge"]
    for number, pair in enumerate(pairs(episode), 1):
        if _identical(episode, pair):
            continue
        for order in range(2 if episode.settings.fluency_orders == "both" else 1):
            first, second = _ordered(pair, order)
            values = {"keyword": episode.sample.keyword, "one": ideas[first], "other": ideas[second]}
            yield (number, order, index), values, {"ideas": [first, second]}


def _ordered(pair: Pair, order: int) -> Pair:
    return pair if order == 0 else (pair[1], pair[0])


def _identical(episode: KeywordEpisode, pair: Pair) -> bool:
    first, other = (_plain(judged_ideas(episode)[number]) for number in pair)
    return first == other


def _plain(text: str) -> str:
    """Return an idea in a normal form in which case, width, punctuation and spacing do not differ."""
    return " ".join(re.findall(r"\w+", normal("NFKC", text).casefold()))
