"""Import of small published data sets, read from their original file and written as a data set folder.

Each benchmark converts the rows of its own published data; rows that its sample type refuses are reported with file,
line and field.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lotbench import benchmarks
from lotbench.errors import DataError, UsageError, at, faults_of, refuse_faults
from lotbench.harness.published import Source
from lotbench.regular_file import read_bytes
from lotbench.storage import atomic_write
from lotbench.storage.jsonl import document

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Files:
    """A published file or folder; implements `harness.published.Source`. A `name` is that of a file in the folder."""

    path: Path

    def has(self, name: str) -> bool:
        """Return whether the folder has a file of that name."""
        return (self.path / name).is_file()

    def items(self, make: Callable[[str, Any], M]) -> list[M]:
        """Return the records of a JSON list.

        Args:
            make: Makes a record from an id (file stem and row number, such as `test-0001`) and a row.

        Raises:
            DataError: The file cannot be read, is not a list, or has rows that `make` refuses; each is named by its number.
        """
        try:
            table = document(read_bytes(self.path))
        except (OSError, ValueError) as error:
            raise DataError([f"{self.path}: {error}"]) from None
        if not isinstance(table, list) or not table:
            raise DataError([f"{self.path}: not a list of rows"])
        samples: list[M] = []
        faults: list[str] = []
        for number, row in enumerate(table, 1):
            try:
                samples.append(make(f"{self.path.stem}-{number:04}", row))
            except ValidationError as error:
                faults += faults_of(error, f"{self.path}: row {number}")
        refuse_faults(faults)
        return samples

    def table(self, columns: set[str], name: str = "") -> list[tuple[int, dict[str, str]]]:
        """Return the rows of a CSV file, each with the number of its last line; a byte order mark is left out.

        Raises:
            DataError: The file cannot be read, or lacks one of the `columns`.
        """
        path = self.path / name if name else self.path
        try:
            text = read_bytes(path).decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError([f"{path}: {error}"]) from None
        reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
        try:
            if missing := columns - {*(reader.fieldnames or ())}:
                raise DataError(
                    [at(path, 1, column) + ": the column is missing" for column in sorted(missing)]
                )
            return [(reader.line_num, row) for row in reader]
        except csv.Error as error:
            raise DataError([f"{at(path, reader.line_num + 1)}: {error}"]) from None


def readers() -> Mapping[str, Callable[[Source], Sequence[BaseModel]]]:
    """Return the function that reads each benchmark's published data, by the benchmark's name, for those that have one."""
    by_name = {name: benchmarks.get(name).published for name in benchmarks.names()}
    return {name: read for name, read in by_name.items() if read is not None}


def write(samples: Sequence[BaseModel], folder: Path) -> int:
    """Write samples as a data set, and return their number.

    Raises:
        UsageError: The folder holds a data set already.
        OSError: It cannot be written to.
    """
    path = folder / "samples.jsonl"
    if path.exists():
        raise UsageError(f"{path} is there already")
    atomic_write.write(path, [sample.model_dump_json(exclude_defaults=True) + "\n" for sample in samples])
    return len(samples)
