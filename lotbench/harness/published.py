"""What others have published, as a benchmark reads it: rows with their places, whatever disk they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)
ANSWERS = {"Correct": "yes", "Incorrect": "no", "Unknown": "unknown", "T": "yes", "F": "no", "N": "unknown"}
"""What players of TurtleBench are told, in English and in Chinese."""


class Source(Protocol):
    """A file or a folder of others; what cannot be read raises DataError, by file, line and column."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    def has(self, name: str) -> bool:
        """Whether the folder has a file of that name."""
        ...

    def lines(self, name: str = "") -> list[tuple[int, str]]:
        """The lines of a text (of that name in a folder) that are not empty, each with its number."""
        ...

    def items(self, make: Callable[[str, Any], M]) -> list[M]:
        """What is made of each row of a JSON list, given a name for it (`test-0001`)."""
        ...

    def table(self, columns: set[str], name: str = "") -> list[tuple[int, dict[str, str]]]:
        """The rows of a CSV file (of that name in a folder) with the line that each ends on."""
        ...

    def vectors(self, texts: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        """The embedding of each text; UsageError where embeddings are not installed."""
        ...


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """What people judged, as a judge set that brings its own samples.

    Attributes:
        rows: By the file that they stand in.
        blank: The name of a picture that shows nothing, where samples must have one.
    """

    samples: Sequence[BaseModel]
    rows: Mapping[str, Sequence[BaseModel]]
    blank: str = ""
