"""Oogiri-shaped data on disk: rows read one at a time, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import DataError, at


def rows(folder: Path) -> Iterator[Row]:
    """The rows of a data set, one at a time.

    Raises:
        DataError: The first line that is no row, with file, line and field.
    """
    path = folder / "samples.jsonl"
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _row(path, number, line)
    except OSError as error:
        raise DataError([f"{path}: {error.strerror}"]) from None


def _row(path: Path, number: int, line: bytes) -> Row:
    try:
        return Row.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or None
        raise DataError(
            [f"{at(path, number, field)}: {first['msg'].removeprefix('Value error, ')}"]
        ) from None
