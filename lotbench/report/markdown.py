"""Markdown tables and lists with escaped text, so that model output cannot add markup of its own.

Markup, list markers and line breaks in texts are escaped.
"""

import json
import re
from collections.abc import Iterable

from lotbench.report.sections import Table
from lotbench.types import JSON

_BREAKS = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Invisible characters that a terminal or browser may act on (control and direction characters), and halves of surrogate
pairs, which UTF-8 cannot encode."""
_MARKUP = re.compile(r"([\\`*\[\]<>|~$&#])|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a meaning anywhere in a line; an underscore has one only at the edge of a word."""
_MARKER = re.compile(r"^()([-+=])|^(\d+)([.)])(?=\s|$)")
"""Line starts that make a list item, or a heading of the line above."""
_NO_VALUE = "–"
FEW = 100
LONGEST = 20_000
"""The maximum length of a text in characters; longer texts are cut and marked. traces.jsonl and calls.jsonl are complete."""


def plain(text: str) -> str:
    """Return text as one line in which Markdown's markup is escaped."""
    return _MARKER.sub(r"\1\3\\\2\4", _inline(text))


def visible(text: str) -> str:
    """Return text with invisible characters replaced by U+FFFD; line breaks stay."""
    return "\n".join(_UNSEEN.sub("\ufffd", line) for line in _BREAKS.split(text.replace("\t", " ")))


def cut(text: str, longest: int) -> str:
    """Return a text cut to `longest` characters, with its length if it was cut."""
    return f"{text[:longest]} … ({len(text):,} characters)" if len(text) > longest else text


def number(value: float) -> str:
    """Return a number as text: integers in full, floats to four significant digits, from 1000 on to one decimal."""
    if isinstance(value, int):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def counted(count: int, noun: str) -> str:
    """Return a number of things, as in `1 sample` and `2 samples`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def places(n: int) -> int:
    """Return how many decimals of a metric over `n` samples to print: 2 for fewer than FEW samples, else 3."""
    return 2 if n < FEW else 3


def interval(value: float, low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a value with its interval, as in `0.70 (0.57 to 0.81)`; without it if an end is open."""
    ends = "" if low is None or high is None else f" ({low:.{digits}f} to {high:.{digits}f})"
    return f"{value:.{digits}f}{ends}"


def share(count: int, of: int) -> float | None:
    """Return `count` divided by `of`; None if `of` is 0."""
    return count / of if of else None


def cell(value: JSON) -> str:
    """Return a value as text, not yet escaped."""
    if value is None:
        return _NO_VALUE
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def table(grid: Table) -> str:
    """Return a table as Markdown; empty if it has no rows."""
    if not grid.rows:
        return ""
    numeric = [
        all(isinstance(row[at], int | float | None) for row in grid.rows) for at in range(len(grid.columns))
    ]
    lines = [_row(grid.columns), _row_of("---:" if right else "---" for right in numeric)]
    return "\n".join([*lines, *(_row(row) for row in grid.rows)])


def bullets(lines: Iterable[str]) -> str:
    """Return a list of one-line items; empty if there are none."""
    return "\n".join(f"- {plain(line)}" for line in lines)


def _inline(text: str) -> str:
    """Return escaped text without line breaks: a line break becomes ⏎, an invisible character U+FFFD."""
    line = _UNSEEN.sub("\ufffd", _BREAKS.sub(" ⏎ ", cut(text, LONGEST))).strip()
    return _MARKUP.sub(r"\\\g<0>", line)


def _row(cells: Iterable[JSON]) -> str:
    return _row_of(_inline(cell(value)) for value in cells)


def _row_of(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def duration(seconds: float) -> str:
    """Return seconds as a text in minutes and seconds (`2:30`), from an hour on with hours before them."""
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{left:02}" if minutes >= 60 else f"{minutes}:{left:02}"
