"""The interface through which a benchmark reads published files: rows with their line numbers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)


class Source(Protocol):
    """A published file or folder; its methods raise DataError, with file, line and column, for unreadable content."""

    @property
    def path(self) -> Path:
        """The path."""
        ...

    def has(self, name: str) -> bool:
        """Return whether the folder has a file of that name."""
        ...

    def items(self, make: Callable[[str, Any], M]) -> list[M]:
        """Return `make(name, row)` for each row of a JSON list; names are like `test-0001`."""
        ...

    def table(self, columns: set[str], name: str = "") -> list[tuple[int, dict[str, str]]]:
        """Return the rows of a CSV file (in a folder: by name), each with the number of its last line."""
        ...
