"""What the placebo of the game says: key texts (or responses) of other samples, and questions from a list.

A filling of another sample is what judge checks call an easy negative: nobody has a reason to accept it.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from lotbench.benchmarks.lotbench import responses, whole, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.errors import Unread, UsageError
from lotbench.harness.judge_validation import PlaceboLines

QUESTIONS = {
    "en": (
        "Is it alive?",
        "Is it bigger than a table?",
        "Is it made by people?",
        "Can it be held in one hand?",
        "Is it found indoors?",
        "Does it move by itself?",
        "Is it loud?",
        "Is it older than a hundred years?",
        "Does it cost much?",
        "Is it soft?",
        "Do most people own one?",
        "Is it used every day?",
        "Can it be eaten?",
        "Is it dangerous?",
        "Does it have a colour of its own?",
        "Is it heavier than a chair?",
        "Does it belong to somebody?",
        "Is it seen in winter only?",
        "Does it need electricity?",
        "Is it more than one?",
    ),
    "zh": (
        "它是活的吗？",
        "它比桌子大吗？",
        "它是人造的吗？",
        "它能拿在一只手里吗？",
        "它在室内吗？",
        "它会自己动吗？",
        "它的声音大吗？",
        "它有一百多年的历史吗？",
        "它很贵吗？",
        "它是软的吗？",
        "大多数人都有它吗？",
        "它每天都会用到吗？",
        "它可以吃吗？",
        "它危险吗？",
        "它有自己的颜色吗？",
        "它比椅子重吗？",
        "它属于某个人吗？",
        "它只在冬天出现吗？",
        "它需要用电吗？",
        "它不止一个吗？",
    ),
}
SILENT = {"en": "none", "zh": "无"}
"""What it has to say where reasons or notes are asked for."""


def lines(sample: Item, data: Sequence[Any], settings: Settings, draw: Random) -> PlaceboLines:
    """The lines of one game, in drawn order.

    Raises:
        UsageError: No other sample of the language has a key text (or response) that could be said here.
    """
    others: dict[str, str] = {}
    for other in data:
        if other.id != sample.id and other.language == sample.language:
            text = other.response if settings.whole else other.key_text
            others.setdefault(words.same(text), text)
    shuffled = draw.sample([*others.values()], len(others))
    # Drawn before the sample's own answers are looked at, which only leave out what would be right.
    right = {words.same(text) for text in whole.secrets(sample, whole=settings.whole)}
    fillings = [text for text in shuffled if words.same(text) not in right and _fits(text, sample, settings)]
    if not fillings:
        raise UsageError(
            f"--model placebo: no other sample in {sample.language!r} lends a guess to {sample.id}"
        )
    questions = QUESTIONS[sample.language]
    silent = [SILENT[sample.language]]
    return {
        "response" if settings.whole else "WORD" if settings.wording == "paper" else "filling": fillings,
        # In the paper's words the sentence around the guess, which nobody reads.
        "RESPONSE": silent,
        "question": draw.sample(questions, len(questions)),
        "reasoning": silent,
        "notes": silent,
    }


def _fits(text: str, sample: Item, settings: Settings) -> bool:
    try:
        if settings.whole:
            responses.response(text, settings.max_response_words, settings.max_response_characters)
        else:
            words.filling(text, sample.frame, settings.max_words, settings.max_characters)
    except Unread:
        return False
    return True
