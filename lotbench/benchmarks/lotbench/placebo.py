"""What the placebo of the game says: key texts (or responses) of other samples, and questions from a list.

A filling of another sample is what judge checks call an easy negative: nobody has a reason to accept it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from lotbench.benchmarks.lotbench import responses, whole, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.errors import Unread, UsageError
from lotbench.harness.judge_validation import PlaceboLines

SILENT = {"en": "none", "zh": "无"}
"""What it has to say where reasons or notes are asked for."""


@cache
def questions() -> Mapping[str, Sequence[str]]:
    """What it asks, by language."""
    listed: dict[str, list[str]] = json.loads(
        Path(__file__).with_name("placebo_questions.json").read_text(encoding="utf-8")
    )
    return listed


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
    asked, silent = questions()[sample.language], [SILENT[sample.language]]
    return {
        "response" if settings.whole else "WORD" if settings.wording == "paper" else "filling": fillings,
        # In the paper's words the sentence around the guess, which nobody reads.
        "RESPONSE": silent,
        "question": draw.sample(asked, len(asked)),
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
