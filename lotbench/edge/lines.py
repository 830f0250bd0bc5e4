"""Records as lines of JSON, field by field as they stand.

`dataclasses.asdict` would first copy all that is inside a record, and the standard encoder reads a text
letter by letter: each costs more than the rest of what happens to a call.
"""

from __future__ import annotations

import json
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
