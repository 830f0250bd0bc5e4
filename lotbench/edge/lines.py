"""Records as lines of JSON.

A record is written field by field as it stands: `dataclasses.asdict` would first copy all that is inside
it, which costs more than the writing.
"""

from __future__ import annotations

import json
from typing import Any


def fields(record: Any) -> dict[str, Any]:
    """The fields of a frozen slotted record by name, in their order; what is inside them is not copied."""
    return {name: getattr(record, name) for name in record.__slots__}


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=fields).encode


def line(table: dict[str, Any]) -> str:
    """One line of JSON; records inside the table are tables of their fields."""
    return _encode(table) + "\n"
