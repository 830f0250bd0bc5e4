"""The variant of a run: what of its settings makes another test of it, so that scores are never mixed.

A setting that changes what the candidate is given or asked for says so where it is declared:

    frame: Annotated[Literal["shown", "hidden"], SETS_ARM] = "shown"

Its other values are then part of the arm's name (`image+caption, frame=hidden`): in summary.json, in every table of
scores, on leaderboards. A score is trusted within its arm and stands in no table with another's. A setting that changes the score
alone says that in the same way (`SCORES_ONLY`): reports give both values of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class SetsArm:
    """Metadata of a setting (in `Annotated`): every value but the default is an arm of its own."""


@dataclass(frozen=True, slots=True)
class ScoresOnly:
    """Metadata of a setting: it changes the score of a finished trace, or what is said of it, and not the episode.

    Attributes:
        unless: The setting under which it changes the episode too; none if empty.
    """

    unless: str = ""


SETS_ARM = SetsArm()
SCORES_ONLY = ScoresOnly()


def arm(settings: BaseModel) -> str | None:
    """Return the name of the arm: what the setting or property `arm` says, then what else sets it apart; None for neither."""
    head = getattr(settings, "arm", None)
    parts = [] if head is None else [str(head)]
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if SETS_ARM in field.metadata and value != field.get_default(call_default_factory=True):
            parts.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return ", ".join(parts) or None


def score_settings(settings: BaseModel, *, only: bool = False) -> frozenset[str]:
    """Return the settings that change the score of a finished trace; those that change nothing else, with these values, if `only`."""
    marks = (
        (name, mark)
        for name, field in type(settings).model_fields.items()
        for mark in field.metadata
        if isinstance(mark, ScoresOnly)
    )
    return frozenset(
        name for name, mark in marks if not (only and mark.unless and getattr(settings, mark.unless))
    )
