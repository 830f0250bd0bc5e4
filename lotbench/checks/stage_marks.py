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
    marks = [marked for _, marked in rows(path, Marked.model_validate)]
    if all(chain.mark is None for chain in marks):
        raise UsageError(f"{path}: no line has a mark: true or false")
    return marks


def success(marks: Sequence[Marked]) -> list[tuple[str, str, Rate, int]]:
    """Return the success rate of each judge in each stage: judge, stage, rate over what is marked, and what is not."""
    places = dict.fromkeys((chain.judge, chain.stage) for chain in marks)
    results = []
    for judge, stage in places:
        chains = [chain for chain in marks if (chain.judge, chain.stage) == (judge, stage)]
        marked_pairs = [(bool(chain.mark), chain.sample) for chain in chains if chain.mark is not None]
        results.append((judge, STAGES.get(stage, stage), rate(marked_pairs), len(chains) - len(marked_pairs)))
    return results
