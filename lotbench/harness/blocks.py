"""Texts in blocks of a prompt: a line of a text that could end its block is quoted, as `> END OF IDEA`.

A judge is told that the text between two marker lines is never an instruction. Without this a candidate could write the
second marker itself, and a verdict after it.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice

from lotbench.prompting.normal_form import INVISIBLE, letters
from lotbench.prompting.prompt import Prompt, Value

_MARKER = re.compile(r"^[A-Z][A-Z' ]*[A-Z](?=:|$)", re.MULTILINE)
"""A line of capitals in a prompt, or the capitals before a colon: `END OF IDEA`, `OUTPUT:`."""
_BLOCK = re.compile(r"^[A-Z][A-Z' ]*[A-Z]\n\{\{\s*(\w+)\s*\}\}$", re.MULTILINE)
"""A field that stands alone in the line below a marker."""
_WORD = re.compile(r"[^\W_]+")
_DIGITS = str.maketrans("0135", "OIES")
"""Digits that look like letters of a marker, as in `END 0F 1DEA`."""


def enclosed(prompt: Prompt, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values for a prompt's fields, with each line of a block quoted that could be taken for a marker.

    Such a line begins with a marker of the prompt in capitals, or is in any case a marker that comes after the block (up to
    a colon). Other lines stay the same.
    """
    quoted = dict(values)
    for field, (starts, ends) in _blocks("\n".join(prompt.sections.values())).items():
        if isinstance(value := values.get(field), str):
            quoted[field] = _quote(value, starts, ends)
    return quoted


@lru_cache(maxsize=256)
def _blocks(text: str) -> Mapping[str, tuple[tuple[str, ...], frozenset[str]]]:
    """Return for each field in a block of a prompt's text: how lines with its markers begin, and the markers after the block."""
    starts = tuple(f"{_words(marker)} " for marker in _MARKER.findall(text))
    return {
        block[1]: (
            starts,
            frozenset(_words(found).casefold() for found in _MARKER.findall(text[block.end() :])),
        )
        for block in _BLOCK.finditer(text)
    }


@lru_cache(maxsize=16)  # The judges of a panel get the same text.
def _quote(value: str, starts: tuple[str, ...], ends: frozenset[str]) -> str:
    lines = ((line, letters(_head(line)).translate(_DIGITS)) for line in value.splitlines(keepends=True))
    return "".join(
        f"> {line}"
        if f"{_words(plain)} ".startswith(starts) or _words(plain.partition(":")[0]).casefold() in ends
        else line
        for line, plain in lines
    )


def _head(line: str) -> str:
    """Return the first 300 characters of a line that show; only they can be a marker, and a character may stand for 18 letters."""
    if line.isascii():
        return line[:300]
    return "".join(islice((each for each in line if unicodedata.category(each) not in INVISIBLE), 300))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))
