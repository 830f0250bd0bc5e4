"""Whole responses: the candidate's answer where no frame is shown, and the target responses it is compared with.

The targets are the sample's own response and its `points`. This module also names the prompts of these games, and gives
the part of an earned frame that is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lotbench.benchmarks.lotbench.responses import half
from lotbench.benchmarks.lotbench.sample import Fixed, Item
from lotbench.benchmarks.lotbench.settings import LADDERS, Settings, usable_reveals
from lotbench.prompting.reply import Form, prose

LONGEST = 300
"""The largest number of characters of a response in the schema."""


class Written(Form):
    """The candidate's whole response."""

    response: Annotated[str, prose(LONGEST)]


@dataclass(frozen=True, slots=True)
class Target:
    """A target response, and why it is creative; only the sample's own has a key text."""

    response: str
    explanation: str
    point: Fixed | None
    key_text: str | None = None


def targets(sample: Item) -> tuple[Target, ...]:
    """Return the responses that solve a game without a shown frame: the sample's own, then its points."""
    own = Target(sample.response, sample.explanation, sample.point, sample.key_text)
    return (own, *(Target(other.response, other.explanation, other.point) for other in sample.points))


def secrets(sample: Item, *, whole: bool) -> list[str]:
    """Return the texts that a question may not name: the key text, accepted guesses and, if `whole`, every target."""
    named = [sample.key_text, *sample.accept]
    return [*named, *(target.response for target in targets(sample))] if whole else named


def prompt(name: str, settings: Settings) -> str:
    """Return the name of a step's prompt."""
    return f"{name}_whole" if settings.whole else name


def frame_at(sample: Item, settings: Settings, reveal: int) -> str | None:
    """Return the part of an earned frame that a reveal shows, reveals counted from 1; None if it shows nothing."""
    ladder = LADDERS[settings.frame_ladder]
    if settings.frame != "earned" or not 0 < reveal <= min(len(ladder), usable_reveals(settings)):
        return None
    return half(sample.frame) if ladder[reveal - 1] == "half" else sample.frame
