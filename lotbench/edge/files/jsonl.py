"""Records as lines of JSON, field by field as they stand, and such lines read again.

`dataclasses.asdict` would first copy all that is inside a record, and the standard encoder reads a text
letter by letter: each costs more than the rest of what happens to a call.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson


def fields(record: Any) -> dict[str, Any]:
    """The fields of a frozen slotted record by name, in their order; what is inside them is not copied."""
    return {name: getattr(record, name) for name in record.__slots__}


def line(table: dict[str, Any]) -> bytes:
    """One line of JSON in UTF-8; records inside the table are tables of their fields."""
    try:
        return orjson.dumps(table, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # A whole number of more than 64 bits, which only the standard encoder takes.
        text = json.dumps(table, ensure_ascii=False, separators=(",", ":"), default=fields)
        return text.encode() + b"\n"


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers, from 1.

    A line ends at a line feed alone: a text inside JSON may hold other breaks (U+2028) as they are.

    Raises:
        OSError, UnicodeDecodeError: The file cannot be read.
    """
    every = enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
    return ((number, text) for number, text in every if text.strip())
