"""Records as lines of JSON, field by field as they stand.

`dataclasses.asdict` would first copy all that is inside a record, and the standard encoder reads a text
letter by letter: each costs more than the rest of what happens to a call.
"""

from __future__ import annotations

from typing import Any

import orjson


def fields(record: Any) -> dict[str, Any]:
    """The fields of a frozen slotted record by name, in their order; what is inside them is not copied."""
    return {name: getattr(record, name) for name in record.__slots__}


def line(table: dict[str, Any]) -> bytes:
    """One line of JSON in UTF-8; records inside the table are tables of their fields."""
    return orjson.dumps(table, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)
