"""A judge set on disk: a folder of labelled rows, and what people have labelled of a run.

`set.toml` names the data set that the rows are about (`data`) and who labelled them (`labels`: `author`, or
`people` once they have reviewed them); the rows stand in the files that the benchmark names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from lotbench.config.experiment import digest, read_toml, validate
from lotbench.edge.files import jsonl
from lotbench.edge.files.datasets import shipped
from lotbench.errors import DataError, UsageError


class About(BaseModel):
    """The content of set.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str = "lotbench"
    labels: Literal["author", "people"] = "author"


@dataclass(frozen=True, slots=True)
class JudgeSet:
    """A judge set, read.

    Attributes:
        rows: The rows of each file that is there, by file name, with the line of each.
        digest: Of all rows.
    """

    folder: Path
    about: About
    rows: Mapping[str, tuple[tuple[int, Any], ...]]
    digest: str


def find(name: str, default: str) -> Path:
    """The folder of a judge set: a path, or the one that is shipped.

    Raises:
        UsageError: There is none.
    """
    folder = Path(name) if name else shipped("data", default)
    if not folder.is_dir():
        raise UsageError(f"{folder}: no judge set (a folder with labelled rows)")
    return folder


def load(folder: Path, files: Mapping[str, type[BaseModel]]) -> JudgeSet:
    """Read the files of a judge set that are there.

    Raises:
        DataError: Every fault, with file, line and field.
        UsageError: None of the files is there.
    """
    place = folder / "set.toml"
    about = validate(About, read_toml(place), place) if place.is_file() else About()
    there = {name: model for name, model in files.items() if (folder / name).is_file()}
    if not there:
        raise UsageError(f"{folder}: no judge set: none of {', '.join(files)} is there")
    rows: dict[str, tuple[tuple[int, Any], ...]] = {}
    faults: list[str] = []
    for name, model in there.items():
        rows[name] = tuple(jsonl.rows(folder / name, model.model_validate, faults))
    if faults:
        raise DataError(faults)
    whole = {name: [row.model_dump(mode="json") for _, row in found] for name, found in rows.items()}
    return JudgeSet(folder, about, rows, digest(whole))
