"""What judging adds to the variance of a score: a judge that wavers, judges who differ, labels that are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lotbench.metrics.variance import judge_variance


@dataclass(frozen=True, slots=True)
class JudgePart:
    """The part of judging in the variance of a metric, as far as it is known.

    Attributes:
        about: Where this is from, or why it is not known.
        wavers: The variance of a walk's value that comes of verdicts that would change if they were asked for again: a
            part of what repeats add. None if it is not known.
        differ: The variance of one judgement, which adds to all walks that it bears on. None if it is not known.
        count: How many judgements there are, `of` judges or labels; 0 where `differ` is no part.
    """

    about: str
    wavers: float | None = None
    differ: float | None = None
    count: int = 0
    of: Literal["judges", "labels"] = "judges"


NO_JUDGE = JudgePart("No judge is in this metric.", 0.0)


def panel(
    items: Sequence[int], judges: Sequence[int], scores: Sequence[float], weight: float = 1.0
) -> JudgePart:
    """The part of a panel, from what its judges say about the same items.

    Args:
        items: What each score is of.
        judges: Who gave each score.
        scores: The scores.
        weight: How much the metric moves if every score moves by 1.
    """
    seats = {seat: place for place, seat in enumerate(sorted(set(judges)))}
    if len(seats) < 2:
        return JudgePart("What another judge would say is not known: one judge alone scored the answers.")
    found = judge_variance(items, [seats[seat] for seat in judges], scores)
    if found is None:
        return JudgePart(
            "How much the judges differ is not known: they did not meet on enough answers to be told from each other."
        )
    about = (
        f"The {len(seats)} judges are taken for a draw of all there could be: how much they differ on the same answers is a "
        "source of its own, which the interval of the score leaves out, since it takes the judges as given."
    )
    return JudgePart(about, None, weight**2 * found, len(seats))
