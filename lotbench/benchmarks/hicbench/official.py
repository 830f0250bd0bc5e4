"""Reader of the official tasks of HIC-Bench (CDID.csv)."""

from typing import Any

from pydantic import ValidationError

from lotbench.benchmarks.hicbench.sample import Item
from lotbench.errors import faults_of, refuse_faults
from lotbench.harness.published import Source

CDID = {
    "Field": "field",
    "Question": "question",
    "Principle": "principle",
    "Challenge": "challenge",
    "Knowledge Base": "knowledge",
    "Source": "source",
}
"""The columns of CDID.csv, with the fields of a sample that they fill."""


def published(source: Source) -> list[Item]:
    """Return the tasks of CDID.csv.

    Raises:
        DataError: The file lacks a column, or rows are not tasks; the error names line and column of each such row.
    """
    items, faults = [], []
    named = {field: column for column, field in CDID.items()} | {"id": "ID"}
    for line, row in source.table({"ID", *CDID}):
        number = row["ID"].strip()
        values: dict[str, Any] = {field: row[column] for column, field in CDID.items()}
        try:
            items.append(Item(id=f"cdid-{number.zfill(3)}", language="en", **values))
        except ValidationError as error:
            faults += faults_of(error, source.path, line, field=lambda name: named.get(name, name))
    refuse_faults(faults)
    return items
