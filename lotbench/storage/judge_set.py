"""A judge set on disk: a folder of labelled rows with which a benchmark's judges are checked.

`set.toml` has three fields. `benchmark` is the benchmark of the judges, `data` the data set that the rows refer to, and
`labels` the source of the labels (`author`, `people`, or `planted` into the texts). The benchmark names the files with
the rows. A set may have its own samples.jsonl.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from lotbench.config.experiment import digest, read_toml, validate
from lotbench.errors import UsageError, at, refuse_faults
from lotbench.storage import jsonl
from lotbench.storage.datasets import data_folder, shipped
from lotbench.types import FrozenModel


class SetDescription(FrozenModel):
    """The content of set.toml."""

    benchmark: str = "lotbench"
    data: str = "lotbench_easy"
    labels: Literal["author", "people", "planted"] = "author"


@dataclass(frozen=True, slots=True)
class JudgeSet:
    """The content of a judge set.

    Attributes:
        about: The content of set.toml.
        rows: The rows of each file, by file name; each row is a pair of line number and record.
        digest: The digest of all rows.
    """

    folder: Path
    about: SetDescription
    rows: Mapping[str, tuple[tuple[int, Any], ...]]
    digest: str

    def is_about(self, data: Path) -> bool:
        """Return whether the rows refer to the samples in this folder: set.toml names it, or it is the set's own folder."""
        return data.name == self.about.data or data.resolve() == self.folder.resolve()

    def places(self, file: str, faults: Sequence[str]) -> list[str]:
        """Return the faults of a file's rows as messages that begin with file and line.

        Args:
            file: The name of the file.
            faults: Messages of the form `ROW: reason`; the first row is 1.
        """
        messages = []
        for fault in faults:
            row, _, message = fault.partition(": ")
            messages.append(at(self.folder / file, self.rows[file][int(row) - 1][0]) + f": {message}")
        return messages


def find(name: str, benchmark: str) -> Path:
    """Return the folder of a judge set: the path `name`, or the benchmark's shipped set if `name` is empty.

    The set of LoTbench is the folder judge_sets itself; the other benchmarks have subfolders there.

    Raises:
        UsageError: The folder does not exist.
    """
    every = shipped("data", "judge_sets")
    folder = Path(name) if name else every / benchmark if (every / benchmark).is_dir() else every
    if not folder.is_dir():
        raise UsageError(f"{folder}: no judge set (a folder with labelled rows)")
    return folder


def about_of(folder: Path) -> SetDescription:
    """Return the content of set.toml; the defaults if there is no such file."""
    place = folder / "set.toml"
    return validate(SetDescription, read_toml(place), place) if place.is_file() else SetDescription()


def subject(folder: Path) -> Path:
    """Return the folder of the samples that a judge set refers to: its own, or the data set that it names.

    Raises:
        UsageError: There is no such data set.
    """
    return folder if (folder / "samples.jsonl").is_file() else data_folder(about_of(folder).data, "")


def load(folder: Path, files: Mapping[str, type[BaseModel]]) -> JudgeSet:
    """Read a judge set.

    Args:
        folder: The folder of the set.
        files: The class of the rows of each file that the set may have, by file name.

    Raises:
        DataError: Rows are not valid; the error lists every fault with file, line and field.
        UsageError: The folder has none of the files.
    """
    about = about_of(folder)
    there = {name: model for name, model in files.items() if (folder / name).is_file()}
    if not there:
        raise UsageError(f"{folder}: no judge set: none of {', '.join(files)} is there")
    rows: dict[str, tuple[tuple[int, Any], ...]] = {}
    faults: list[str] = []
    for name, model in there.items():
        rows[name] = tuple(jsonl.rows(folder / name, model.model_validate, faults))
    refuse_faults(faults)
    whole = {name: [row.model_dump(mode="json") for _, row in pairs] for name, pairs in rows.items()}
    return JudgeSet(folder, about, rows, digest(whole))
