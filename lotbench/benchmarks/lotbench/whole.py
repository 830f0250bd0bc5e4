"""Whole responses, the candidate's answers where no frame is shown: the targets that they are compared with.

The targets are the sample's own response and its `points`. This module also names the prompts of these games, and
gives the part of an earned frame that a reveal shows.
"""

from dataclasses import dataclass

from lotbench.benchmarks.lotbench.responses import half
from lotbench.benchmarks.lotbench.sample import Fixed, Item
from lotbench.benchmarks.lotbench.settings import LADDERS, Settings, usable_reveals


@dataclass(frozen=True, slots=True)
class Target:
    """A response that solves the game, and why it is creative; `key_text` is None except for the sample's own."""

    response: str
    explanation: str
    point: Fixed | None
    key_text: str | None = None


def targets(sample: Item) -> tuple[Target, ...]:
    """Return the responses that solve a game without a shown frame: the sample's own, then its points."""
    own = Target(sample.response, sample.explanation, sample.point, sample.key_text)
    return (own, *(Target(other.response, other.explanation, other.point) for other in sample.points))


def secrets(sample: Item, *, whole: bool) -> list[str]:
    """Return the texts that a question must not name: the key text, accepted guesses and, if `whole`, every target."""
    named = [sample.key_text, *sample.accept]
    return [*named, *(target.response for target in targets(sample))] if whole else named


def prompt(name: str, settings: Settings) -> str:
    """Return the name of the prompt for the step `name`: with `_whole` at its end if the candidate sees no frame (sentence)."""
    return f"{name}_whole" if settings.whole else name


def frame_at(sample: Item, settings: Settings, reveal: int) -> str | None:
    """Return the part of the frame that a reveal shows with `frame=earned`; None if it shows none.

    `reveal` is the number of the reveal, from 1.
    """
    ladder = LADDERS[settings.frame_ladder]
    if settings.frame != "earned" or not 0 < reveal <= min(len(ladder), usable_reveals(settings)):
        return None
    return half(sample.frame) if ladder[reveal - 1] == "half" else sample.frame
