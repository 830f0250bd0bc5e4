"""The candidate's part: ten answers to a task, under one of four prompts (Sec. 4; App. A.1, D).

Answers are plain text. An answer that is refused, empty or cut off is counted, but never scored and never asked
for again.
"""

import re
from functools import partial
from itertools import islice
from typing import Any

from lotbench.benchmarks.hicbench import memory
from lotbench.benchmarks.hicbench.settings import Settings, TaskEpisode
from lotbench.errors import EpisodeFailed
from lotbench.harness.episode import AskResult
from lotbench.harness.state import EpisodeState, Runtime, Update
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import plain
from lotbench.types import Answer

PIECE = re.compile(r"\w+|[^\w\s]")


async def respond(state: EpisodeState, runtime: Runtime[TaskEpisode]) -> Update:
    """Ask the candidate for all its answers to a task concurrently, one call for each answer.

    Raises:
        EpisodeFailed: Every reply is refused, empty or cut off.
    """
    episode = runtime.context
    answers = await episode.each(_answer, range(episode.settings.answers))
    if not any(answer.value for answer in answers):
        raise EpisodeFailed("candidate", f"none of {len(answers)} answers could be read")
    return {"turn": {"answers": [answer.value and answer.value["answer"] for answer in answers]}}


async def _answer(episode: TaskEpisode, draw: int) -> AskResult[dict[str, Any]]:
    """Ask once for answer number `draw`; of a reply that cannot be read, record the status and no answer."""
    settings = episode.settings
    return await episode.ask(
        "candidate",
        "respond",
        episode.prompt(settings.strategy),
        None,
        _values(episode),
        read=partial(_parse_answer, settings),
        value=dict,
        missing=lambda error: {"status": error.kind, "answer": None, "over_length": False},
        once=True,
        round=episode.round,
        draw=draw,
    )


def tokens(text: str) -> int:
    """Return the approximate length of an answer in tokens: its words and punctuation marks.

    Tokenizers hardly ever need fewer tokens than that.
    """
    return len(PIECE.findall(text))


def first(text: str, most: int) -> str:
    """Return the first `most` tokens of a text, counted as in `tokens`."""
    ends = [piece.end() for piece in islice(PIECE.finditer(text), most)]
    return text[: ends[-1]] if len(ends) == most else text


def _values(episode: TaskEpisode) -> dict[str, Value]:
    """Return the values for the prompt that `settings.strategy` names, by field; a field with the value None is left out."""
    settings, sample = episode.settings, episode.sample
    values: dict[str, Value] = {
        "field": sample.field,
        "question": sample.question,
        "tokens": str(settings.answer_tokens),
        **{name: None for name in ("good", "bad")},
    }
    if settings.strategy == "rag":
        values["knowledge"] = getattr(sample, settings.rag_source)
    if settings.dhp:
        examples = memory.example_texts(episode.state["memory"], settings)
        values |= {name: episode.prompt("dhp").line(name, text=text) for name, text in examples.items()}
    return values


def _parse_answer(settings: Settings, answer: Answer) -> dict[str, Any]:
    """Return what the trace records of a reply: status, answer, and whether the answer is too long.

    Raises:
        Unread: The reply is refused, empty or cut off.
    """
    cut = settings.answer_cap == "cut"
    text = plain(answer.reply, cut=cut)
    over = answer.reply.finish == "length" or tokens(text) > settings.answer_tokens
    return {
        "status": "ok",
        "answer": first(text, settings.answer_tokens) if cut else text,
        "over_length": over,
    }
