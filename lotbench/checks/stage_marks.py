"""Marks of people on causal chains: how often a judge builds a chain, and intervenes in it, rightly (Fig. 15, left).

`judge-check --stages DIR` writes each chain once, with an empty mark; this module reads the marked file.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import StrictBool

from lotbench.errors import UsageError
from lotbench.metrics.agreement import Rate, rate
from lotbench.storage.jsonl import rows
from lotbench.types import FrozenModel

STAGES = {"chain": "causal construction", "intervened chain": "causal intervention"}
"""The stages that people mark, as the paper calls them."""


class Marked(FrozenModel):
    """A causal chain that a judge wrote, and a person's mark.

    Attributes:
        stage: A name in `STAGES`.
        guess: The guess with which the judge intervened in the chain; None in the first stage.
        mark: Whether the chain states the causes rightly; None if nobody has marked it.
    """

    sample: str
    judge: str
    stage: str
    guess: str | None = None
    text: str
    mark: StrictBool | None = None


def read_marks(path: Path) -> list[Marked]:
    """Return the chains in a file, with or without a mark.

    Raises:
        DataError: A line is not a chain; with file, line and field.
        UsageError: No chain has a mark.
    """
    marks = [marked for _, marked in rows(path, Marked.model_validate)]
    if all(chain.mark is None for chain in marks):
        raise UsageError(f"{path}: no line has a mark: true or false")
    return marks


def success(marks: Sequence[Marked]) -> list[tuple[str, str, Rate, int]]:
    """Return how often each judge was right in each stage.

    Returns:
        Rows of judge, stage, the share of its marked chains that are right (clustered by sample), and the number of its chains
        without a mark.
    """
    places = dict.fromkeys((chain.judge, chain.stage) for chain in marks)
    results = []
    for judge, stage in places:
        chains = [chain for chain in marks if (chain.judge, chain.stage) == (judge, stage)]
        marked_pairs = [(bool(chain.mark), chain.sample) for chain in chains if chain.mark is not None]
        results.append((judge, STAGES.get(stage, stage), rate(marked_pairs), len(chains) - len(marked_pairs)))
    return results
