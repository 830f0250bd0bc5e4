"""Rows on their way out: a CSV file, or a JSON line each."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lotbench.errors import UsageError
from lotbench.storage import atomic_write
from lotbench.types import JSON

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that spreadsheets take for more than a text: what a model says may end on one."""


def write(rows: Sequence[Mapping[str, JSON]], path: Path | None) -> int:
    """Write rows and return how many; a path that ends in .csv gets a table, None is standard output.

    Raises:
        UsageError: The file cannot be written.
    """
    content = text(rows, path.suffix if path else "")
    if path is None:
        sys.stdout.write(content)
        return len(rows)
    try:
        atomic_write.write(path, content)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    return len(rows)


def text(rows: Sequence[Mapping[str, JSON]], ending: str) -> str:
    """Return rows as a file that ends so has them: .csv is a table, anything else a JSON line each."""
    if ending == ".csv":
        return _csv(rows)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: Sequence[Mapping[str, JSON]]) -> str:
    """Return a table of all fields in the order in which they first come; what is no text stands as JSON."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(map(_cell, names))
    table.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return file.getvalue()


def _cell(value: JSON) -> str:
    """Return a value as a cell; a text that a spreadsheet would carry out as a formula has an apostrophe before it."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(FORMULA) else value
