"""Prompts of instructions: chat messages for a row, in one of several wordings for its type and language.

The wordings are the sections of `prompts/LANGUAGE/KIND_TYPE.txt`. Training and exploration use the same wordings.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import Literal, TypeAlias

from clot_training.records import Candidate, Chat
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.prompting.prompt import Pack, Prompt, pack
from lotbench.storage.datasets import prompt_files

LETTERS = ascii_uppercase
"""The letters that name options in a prompt; a prompt has at most 26 options."""


Task: TypeAlias = Row | Candidate | Problem
"""A record with a type, a language, a question and a picture, from which a prompt is made."""


@cache
def templates() -> Pack:
    """Return all prompts of the training package."""
    return pack(prompt_files(Path(__file__).parent / "prompts"))


def generation(task: Task, condition: str | None, rng: Random) -> Chat:
    """Return the chat that asks for a response, under a condition unless that is None; `rng` draws the wording."""
    hint = _wording("hint", task, rng).line("user", condition=condition) if condition else None
    return _chat(f"generation_{task.type}", task, rng, hint=hint)


def choice(kind: Literal["selection", "ranking"], task: Task, options: Sequence[str], rng: Random) -> Chat:
    """Return the chat that asks for the best of the options, or for their order by people's preference.

    `rng` draws the wording.
    """
    lines = "\n".join(option(place, text) for place, text in enumerate(options))
    return _chat(f"{kind}_{task.type}", task, rng, options=lines)


def option(place: int, text: str) -> str:
    """Return the option at a place, from 0, as `A. text`: its line in a prompt, and the answer of a selection."""
    return f"{LETTERS[place]}. {' '.join(text.split())}"


def ordered(places: Sequence[int]) -> str:
    """Return the answer of a ranking, `C > A > B`: the letters of the options at these places, best first."""
    return " > ".join(LETTERS[place] for place in places)


def _chat(name: str, task: Task, rng: Random, **fields: str | None) -> Chat:
    prompt = _wording(name, task, rng)
    if task.question is not None:
        fields["question"] = task.question
    (message,) = prompt.messages(**fields)
    text = "".join(part for part in message.parts if isinstance(part, str))
    if task.image is None:
        return ({"role": "user", "content": text},)
    picture = {"type": "image", "image": task.image}
    return ({"role": "user", "content": [picture, {"type": "text", "text": text}]},)


def _wording(name: str, task: Task, rng: Random) -> Prompt:
    wordings = templates().get(task.language, name).sections
    number = rng.choice(list(wordings))
    return Prompt(f"{task.language}/{name}[{number}]", {"user": wordings[number]})
