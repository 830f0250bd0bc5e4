"""Markdown in which text is only text: tables and lists that no model output can break out of.

Every string that comes in is shown as it is, its markup, markers and line breaks made harmless; markup is
added here and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from lotbench.report.sections import Table
from lotbench.types import JSON

_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""What a reader cannot see and a terminal or browser may obey: control and direction characters, and halves
of characters, which no file can hold."""
_MARKUP = re.compile(r"([\\`*\[\]<>|~$&#])|(?<![^\W_])_|_(?![^\W_])")
"""Characters that mean something anywhere in a line; an underscore does only at the edge of a word."""
_MARKER = re.compile(r"^()([-+=])|^(\d+)([.)])(?=\s|$)")
"""What makes the start of a line an item of a list, or the line above it a heading."""
_NO_VALUE = "–"
LONGEST = 20_000
"""Characters of one text; what is longer is cut, and says so. traces.jsonl and calls.jsonl have the whole."""


def plain(text: str) -> str:
    """Return text as a line of its own, without a meaning in Markdown."""
    return _MARKER.sub(r"\1\3\\\2\4", _inline(text))


def visible(text: str) -> str:
    """Return text with its line breaks, in which every other character that cannot be seen is U+FFFD."""
    return "\n".join(_UNSEEN.sub("\ufffd", line) for line in _BREAKS.split(text.replace("\t", " ")))


def cut(text: str, longest: int) -> str:
    """Return a text of at most so many characters, and how many it had."""
    return f"{text[:longest]} … ({len(text):,} characters)" if len(text) > longest else text


def number(value: float) -> str:
    """Return a number for people: four significant digits, but integers in full and 1000 and more to a tenth."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(count: int, of: int) -> float | None:
    """Return the share of so many; None of none."""
    return count / of if of else None


def out_of(count: int, of: int) -> str:
    """Return a count of so many, with its share in per cent."""
    return f"{count} of {of}" + (f" ({100 * count / of:.1f} %)" if of else "")


def cell(value: JSON) -> str:
    """Return a value as text, before it is made harmless."""
    if value is None:
        return _NO_VALUE
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def table(grid: Table) -> str:
    """Return a table; "" if it has no rows."""
    if not grid.rows:
        return ""
    numeric = [
        all(isinstance(row[at], int | float | None) for row in grid.rows) for at in range(len(grid.columns))
    ]
    lines = [_row(grid.columns), _row_of("---:" if right else "---" for right in numeric)]
    return "\n".join([*lines, *(_row(row) for row in grid.rows)])


def bullets(lines: Iterable[str]) -> str:
    """Return a list of one-line items; "" if there are none."""
    return "\n".join(f"- {plain(line)}" for line in lines)


def _inline(text: str) -> str:
    """Return text inside a line; a line break becomes ⏎, what cannot be seen becomes U+FFFD."""
    line = _UNSEEN.sub("\ufffd", _BREAKS.sub(" ⏎ ", cut(text, LONGEST))).strip()
    return _MARKUP.sub(r"\\\g<0>", line)


def _row(cells: Iterable[JSON]) -> str:
    return _row_of(_inline(cell(value)) for value in cells)


def _row_of(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def duration(seconds: float) -> str:
    """Return seconds as people say them."""
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )
