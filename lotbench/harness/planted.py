"""Rows of judge sets with planted truths.

A writer put a feature into a text, and a checker who did not know of it said which features the text has.
"""

from collections.abc import Sequence, Set
from typing import Literal

from lotbench.harness.sample_row import Id, Text
from lotbench.types import FrozenModel


class PlantedRow(FrozenModel):
    """The common fields of rows with planted truths; the checker fills in the fields whose names begin with `blind`."""

    id: Id
    """Unique in its file; by convention sample and writer, `hic-001-a-figure`."""
    sample: Text
    """The sample of the data set that the row is about."""
    split: Literal["tune", "test"]
    """All rows of a sample are in one split."""
    writer: Text
    """The writer who planted the truth: a model's name, or `people`."""
    checker: str = ""
    """The checker; empty until the row is checked."""
    canary: str = ""

    @property
    def contested(self) -> bool:
        """Whether the checker disagrees with the writer; each subclass decides it."""
        raise NotImplementedError


def faults_of_rows(rows: Sequence[PlantedRow], samples: Set[str]) -> list[str]:
    """Return the faults across the rows of a file, as `ROW: field: reason` with rows counted from 1."""
    faults: list[str] = []
    ids: dict[str, int] = {}
    splits: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if row.sample not in samples:
            faults.append(f"{number}: sample: no sample {row.sample!r} in the data set")
        if (first := ids.setdefault(row.id, number)) != number:
            faults.append(f"{number}: id: {row.id!r} stands in row {first} already")
        if splits.setdefault(row.sample, row.split) != row.split:
            faults.append(f"{number}: split: sample {row.sample} is in {splits[row.sample]} already")
        if row.checker == row.writer:
            faults.append(f"{number}: checker: {row.checker!r} wrote the row")
    return faults
