"""The arm (variant) of a run: settings that change the task, so that scores of different arms are never mixed.

A setting that changes what the candidate gets or is asked is declared with `SETS_ARM`:

    frame: Annotated[Literal["shown", "hidden"], SETS_ARM] = "shown"

Values other than the default then appear in the arm's name (`image+caption, frame=hidden`), in summary.json, tables of
scores and leaderboards. Tables never mix arms. A setting that changes only the score is declared with `SCORES_ONLY`:
reports give both scores.
"""

import json
from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class ScoresOnly:
    """Metadata of a setting that changes the score or report of a finished trace, and not the episode.

    Attributes:
        unless: The name of another setting; while that is true, this setting changes the episode too. "" for none.
    """

    unless: str = ""


SETS_ARM = "sets_arm"
"""Metadata of a setting (in `Annotated`): each value except the default is an arm of its own."""
SCORES_ONLY = ScoresOnly()


def arm(settings: BaseModel) -> str | None:
    """Return the name of the arm: the value of `arm`, then each `SETS_ARM` setting that is not at its default; None if empty."""
    head = getattr(settings, "arm", None)
    parts = [] if head is None else [str(head)]
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if SETS_ARM in field.metadata and value != field.get_default(call_default_factory=True):
            parts.append(f"{name}={value if isinstance(value, str) else json.dumps(value)}")
    return ", ".join(parts) or None


def arm_settings(settings: BaseModel) -> frozenset[str]:
    """Return the names of the settings that the arm names."""
    fields = type(settings).model_fields
    return frozenset(name for name, field in fields.items() if SETS_ARM in field.metadata or name == "arm")


def score_settings(settings: BaseModel, *, only: bool = False) -> frozenset[str]:
    """Return the names of the `SCORES_ONLY` settings; with `only`, without those that now change the episode too (`unless`)."""
    marks = (
        (name, mark)
        for name, field in type(settings).model_fields.items()
        for mark in field.metadata
        if isinstance(mark, ScoresOnly)
    )
    return frozenset(
        name for name, mark in marks if not (only and mark.unless and getattr(settings, mark.unless))
    )
