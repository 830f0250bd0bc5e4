"""Marks of people on causal chains: how often a judge builds a chain, and intervenes in it, rightly (Fig. 15, left).

`judge-check --stages DIR` exports each chain once, with an empty mark; this reads them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, StrictBool

from lotbench.errors import UsageError
from lotbench.metrics.agreement import Rate, rate
from lotbench.storage.jsonl import rows

STAGES = {"chain": "causal construction", "intervened chain": "causal intervention"}
"""The stages that people mark, as the paper calls them."""


class Marked(BaseModel):
    """A chain of a judge with a person's mark: whether it tells the causes rightly; null if nobody has said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: str
    judge: str
    stage: str
    guess: str | None = None
    text: str
    mark: StrictBool | None = None


def read_marks(path: Path) -> list[Marked]:
    """Return the marks of a file.

    Raises:
        DataError: A line is none, with file, line and field.
        UsageError: Nobody has marked anything in it.
    """
    found = [marked for _, marked in rows(path, Marked.model_validate)]
    if all(one.mark is None for one in found):
        raise UsageError(f"{path}: no line has a mark: true or false")
    return found


def success(marks: Sequence[Marked]) -> list[tuple[str, str, Rate, int]]:
    """Return the success rate of each judge in each stage: judge, stage, rate over what is marked, and what is not."""
    places = dict.fromkeys((one.judge, one.stage) for one in marks)
    told = []
    for judge, stage in places:
        mine = [one for one in marks if (one.judge, one.stage) == (judge, stage)]
        said = [(bool(one.mark), one.sample) for one in mine if one.mark is not None]
        told.append((judge, STAGES.get(stage, stage), rate(said), len(mine) - len(said)))
    return told
