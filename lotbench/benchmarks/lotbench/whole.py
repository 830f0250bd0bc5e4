"""Whole responses: what a candidate writes where no frame is shown, and the responses that it is judged by.

A sample's own response is one that is looked for; its `points` are further ones. Which prompt a step has then,
and how much of an earned frame is known, is said here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lotbench.benchmarks.lotbench.responses import half
from lotbench.benchmarks.lotbench.sample import Fixed, Item
from lotbench.benchmarks.lotbench.settings import LADDERS, Settings, usable_reveals
from lotbench.prompting.reply import Form, prose

LONGEST = 300
"""Characters that the schema allows for a response."""


class Written(Form):
    """The answer of respond where a whole response is wanted."""

    response: Annotated[str, prose(LONGEST)]


@dataclass(frozen=True, slots=True)
class Target:
    """A response that is looked for, and why it is creative; a point of others has no key text marked."""

    response: str
    explanation: str
    point: Fixed | None
    key_text: str | None = None


def targets(sample: Item) -> tuple[Target, ...]:
    """Return the responses that solve a game without a shown frame: the sample's own, then its points."""
    own = Target(sample.response, sample.explanation, sample.point, sample.key_text)
    return (own, *(Target(other.response, other.explanation, other.point) for other in sample.points))


def secrets(sample: Item, *, whole: bool) -> list[str]:
    """Return what a question may not name: the key text, what counts in its place, and every response that is looked for."""
    named = [sample.key_text, *sample.accept]
    return [*named, *(target.response for target in targets(sample))] if whole else named


def prompt(name: str, settings: Settings) -> str:
    """Return the name of a step's prompt."""
    return f"{name}_whole" if settings.whole else name


def frame_at(sample: Item, settings: Settings, reveal: int) -> str | None:
    """Return what of an earned frame a reveal shows, the first being 1; None where it shows nothing of it."""
    ladder = LADDERS[settings.frame_ladder]
    if settings.frame != "earned" or not 0 < reveal <= min(len(ladder), usable_reveals(settings)):
        return None
    return half(sample.frame) if ladder[reveal - 1] == "half" else sample.frame
