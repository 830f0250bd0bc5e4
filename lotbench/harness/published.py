"""What others have published, as a benchmark reads it: rows with their places, whatever disk they come from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


class Source(Protocol):
    """A file or a folder of others; what cannot be read raises DataError, by file, line and column."""

    @property
    def path(self) -> Path:
        """Where it is."""
        ...

    def has(self, name: str) -> bool:
        """Return whether the folder has a file of that name."""
        ...

    def lines(self, name: str = "") -> list[tuple[int, str]]:
        """Return the lines of a text (of that name in a folder) that are not empty, each with its number."""
        ...

    def items(self, make: Callable[[str, Any], M]) -> list[M]:
        """Return what is made of each row of a JSON list, given a name for it (`test-0001`)."""
        ...

    def table(self, columns: set[str], name: str = "") -> list[tuple[int, dict[str, str]]]:
        """Return the rows of a CSV file (of that name in a folder) with the line that each ends on."""
        ...
