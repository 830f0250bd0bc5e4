"""Small data sets of others, read whole from the file in which they were published, written as a folder of ours.

A reader makes samples of a file; what the benchmark's own type refuses is named by file, line and field.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lotbench import benchmarks
from lotbench.benchmarks.liveideabench import official
from lotbench.benchmarks.rinobench import official as ideas_of
from lotbench.benchmarks.rinobench.construction.papers import Paper
from lotbench.edge.calls import embeddings
from lotbench.edge.files import atomic_write
from lotbench.errors import DataError, UsageError, at, faults_of

M = TypeVar("M", bound=BaseModel)
CDID = {
    "Field": "field",
    "Question": "question",
    "Principle": "principle",
    "Challenge": "challenge",
    "Knowledge Base": "knowledge",
    "Source": "source",
}
"""The columns of HIC-Bench's CDID.csv, and what they are here."""


def hicbench(source: Path) -> list[BaseModel]:
    """The tasks of CDID.csv.

    Raises:
        DataError: Each row that is no task, with its line and column.
    """
    model = benchmarks.get("hicbench").Item
    made, faults = [], []
    named = {ours: theirs for theirs, ours in CDID.items()} | {"id": "ID"}
    for line, row in _table(source, {"ID", *CDID}):
        number = row["ID"].strip()
        values: dict[str, Any] = {ours: row[theirs] for theirs, ours in CDID.items()}
        try:
            made.append(model(id=f"cdid-{number.zfill(3)}", language="en", **values))
        except ValidationError as error:
            faults += faults_of(error, source, line, field=lambda ours: named.get(ours, ours))
    if faults:
        raise DataError(faults)
    return made


def rinobench(source: Path) -> Sequence[BaseModel]:
    """The ideas of the official train.json or test.json, with ids for ideas (`test-0001`) and works (`w1`).

    Raises:
        DataError: The file is no list, or each row that is no idea, with its number and field.
    """
    return _listed(source, lambda name, row: ideas_of.item(row, name))


def papers(source: Path) -> list[Paper]:
    """The papers of an OpenReview-shaped JSON list; one without a venue has that of the file's name.

    Raises:
        DataError: The file is no list, or each row that is no paper, with its number and field.
    """

    def paper(name: str, row: Any) -> Paper:
        given = {"id": name, "venue": source.stem}
        return Paper.model_validate(given | row if isinstance(row, dict) else row)

    return _listed(source, paper)


def _listed(source: Path, make: Callable[[str, Any], M]) -> list[M]:
    """What is made of each row of a JSON list, given a name for it (`test-0001`)."""
    made: list[M] = []
    faults: list[str] = []
    for number, row in enumerate(_rows(source), 1):
        try:
            made.append(make(f"{source.stem}-{number:04}", row))
        except ValidationError as error:
            faults += faults_of(error, f"{source}: row {number}")
    if faults:
        raise DataError(faults)
    return made


def liveideabench(source: Path) -> Sequence[BaseModel]:
    """The official keywords, from the folder of kws.csv and keyword_classifications.csv.

    A keyword without a category is embedded, and gets the nearest.

    Raises:
        DataError: A file cannot be read or lacks a column, a keyword comes twice, a score is no number.
        UsageError: Embeddings are needed and not installed.
    """
    keywords, classes = source / "kws.csv", source / "keyword_classifications.csv"
    words = {row["Keyword"].strip(): line for line, row in reversed(_table(keywords, {"Keyword"}))}
    lines = [(line, row["Keyword"].strip()) for line, row in _table(keywords, {"Keyword"})]
    faults = [at(keywords, line) + f": {word!r} comes twice" for line, word in lines if words[word] != line]
    known = {}
    columns = {"keyword", "category", "similarity_score"}
    for line, row in _table(classes, columns) if classes.is_file() else ():
        try:
            known[row["keyword"].strip()] = (row["category"].strip(), float(row["similarity_score"]))
        except ValueError as error:
            faults.append(at(classes, line, "similarity_score") + f": {error}")
    if faults:
        raise DataError(faults)
    chosen = [word for _, word in lines if word]
    return official.items(chosen, known, lambda texts: embeddings.embedded(embeddings.PACKAGED, texts))


READERS: Mapping[str, Callable[[Path], Sequence[BaseModel]]] = {
    "hicbench": hicbench,
    "rinobench": rinobench,
    "liveideabench": liveideabench,
}


def write(samples: Sequence[BaseModel], folder: Path) -> int:
    """Write samples as a data set, and return how many.

    Raises:
        UsageError: There is a data set already, or the folder cannot be written to.
    """
    path = folder / "samples.jsonl"
    if path.exists():
        raise UsageError(f"{path} is there already")
    try:
        atomic_write.write(path, [one.model_dump_json(exclude_defaults=True) + "\n" for one in samples])
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    return len(samples)


def _rows(path: Path) -> list[Any]:
    """The rows of a JSON list.

    Raises:
        DataError: The file cannot be read, or is no list.
    """
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError([f"{path}: {error}"]) from None
    if not isinstance(found, list) or not found:
        raise DataError([f"{path}: not a list of rows"])
    return found


def _table(path: Path, columns: set[str]) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with the line that each ends on.

    Raises:
        DataError: It cannot be read, or lacks a column.
    """
    try:
        # A text that begins with a byte order mark is read without it.
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError([f"{path}: {error}"]) from None
    reader = csv.DictReader(io.StringIO(text, newline=""), restval="")
    if missing := columns - {*(reader.fieldnames or ())}:
        raise DataError([at(path, 1, name) + ": the column is missing" for name in sorted(missing)])
    return [(reader.line_num, row) for row in reader]
