"""Export of rows as CSV or as JSON lines."""

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from lotbench.errors import UsageError
from lotbench.regular_file import is_file
from lotbench.storage import atomic_write
from lotbench.storage.jsonl import tables
from lotbench.types import JSON

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula; texts of models may begin with one."""


def write(rows: Sequence[Mapping[str, JSON]], path: Path | None) -> int:
    """Write rows as CSV or JSON lines, and return their number.

    Args:
        rows: For each row the values by field name.
        path: A .csv file gets a table, any other file JSON lines; None writes JSON lines to standard output.

    Raises:
        OSError: The file cannot be written.
        UsageError, DataError: As `refuse_labelled`.
    """
    content = text(rows, path.suffix if path else "")
    if path:
        refuse_labelled(path, content)
        atomic_write.write(path, content)
    else:
        sys.stdout.write(_shown(content))
    return len(rows)


def refuse_labelled(path: Path, new: str = "") -> None:
    """Refuse to write another text than `new` over answers for people to label, or over causal chains that they have marked.

    Raises:
        UsageError: There is such a file.
        DataError: There is a file that is no JSON lines.
    """
    if is_file(path) and path.suffix != ".csv":
        for_people = any("who" in row or row.get("mark") is not None for _, row in tables(path))
        if for_people and path.read_text("utf-8") != new:
            raise UsageError(f"{path}: people label it: move it away, or name another file")


def _shown(lines: str) -> str:
    """Return JSON lines with control and direction characters escaped if standard output is a terminal, which obeys them."""
    if not sys.stdout.isatty():
        return lines
    unseen = {letter for letter in set(lines) - {"\n"} if unicodedata.category(letter) in ("Cc", "Cf")}
    return lines.translate({ord(letter): json.dumps(letter)[1:-1] for letter in unseen})


def text(rows: Sequence[Mapping[str, JSON]], ending: str) -> str:
    """Return rows as the text of a file with this suffix: a table for `.csv`, else one JSON object a line."""
    if ending == ".csv":
        return _csv(rows)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _csv(rows: Sequence[Mapping[str, JSON]]) -> str:
    """Return rows as CSV with a column for each field, in order of first occurrence; other values than texts are JSON."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(map(_cell, names))
    table.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return file.getvalue()


def _cell(value: JSON) -> str:
    """Return a value as a CSV cell; an apostrophe is put before a text that a spreadsheet would run as a formula."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if value.startswith(FORMULA) else value
