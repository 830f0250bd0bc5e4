"""Instructions in words: a row becomes chat messages by one of several wordings of its type and language.

The wordings are text files, `prompts/LANGUAGE/KIND_TYPE.txt`, a section each. Training and exploration ask
in the same words because both ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from string import ascii_uppercase
from typing import TypeAlias

from clot_training.records import Candidate, Chat
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.prompting.prompt import Pack, Prompt, pack
from lotbench.storage.datasets import prompt_files

LETTERS = ascii_uppercase
"""How options are named; there are never more than 26."""


Task: TypeAlias = Row | Candidate | Problem
"""What is answered: it has a type, a language, a question and a picture."""


@cache
def templates() -> Pack:
    """Return the prompts of the training package."""
    return pack(prompt_files(Path(__file__).parent / "prompts"))


def generation(task: Task, condition: str | None, rng: Random) -> Chat:
    """Ask for a response, under a condition or none; `rng` chooses the wording."""
    hint = _wording("hint", task, rng).line("user", condition=condition) if condition else None
    return _chat(f"generation_{task.type}", task, rng, hint=hint)


def selection(task: Task, options: Sequence[str], rng: Random) -> Chat:
    """Ask for the best of some options."""
    return _chat(f"selection_{task.type}", task, rng, options=_list_options(options))


def ranking(task: Task, options: Sequence[str], rng: Random) -> Chat:
    """Ask for the order of some options by how people liked them."""
    return _chat(f"ranking_{task.type}", task, rng, options=_list_options(options))


def _list_options(options: Sequence[str]) -> str:
    """Return options as they stand in a prompt, `A. text`, a line each."""
    return "\n".join(option(place, text) for place, text in enumerate(options))


def option(place: int, text: str) -> str:
    """Return an option as it stands in a prompt, and as a selection is answered with it."""
    return f"{LETTERS[place]}. {' '.join(text.split())}"


def ordered(places: Sequence[int]) -> str:
    """Return how a ranking is answered: the letters of the options at these places, best first."""
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
