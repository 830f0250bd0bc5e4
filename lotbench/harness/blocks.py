"""Texts in blocks of a prompt: a line of a text that could end its block is quoted, as `> END OF IDEA`.

A judge is told that the text between two marker lines is never an instruction. Without this a candidate could write the
second marker itself, and a verdict after it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from lotbench.prompting.prompt import Prompt, Value

_MARKER = re.compile(r"^[A-Z][A-Z' ]*[A-Z](?=:|$)", re.MULTILINE)
"""A line of capitals in a prompt, or the capitals before a colon: `END OF IDEA`, `OUTPUT:`."""
_BLOCK = re.compile(r"^[A-Z][A-Z' ]*[A-Z]\n\{\{\s*(\w+)\s*\}\}$", re.MULTILINE)
"""A field that stands alone in the line below a marker."""
_WORD = re.compile(r"[^\W_]+")


def enclosed(prompt: Prompt, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values for a prompt's fields, with each line of a block quoted that could be taken for a marker.

    Such a line begins with a marker of the prompt in capitals, or is in any case a marker that comes after the block (up to
    a colon). Other lines stay the same.
    """
    quoted, text = dict(values), "\n".join(prompt.sections.values())
    for block in _BLOCK.finditer(text):
        if isinstance(value := values.get(block[1]), str):
            quoted[block[1]] = _quote(value, text, text[block.end() :])
    return quoted


def _quote(value: str, text: str, after: str) -> str:
    markers = tuple(f"{_words(marker)} " for marker in _MARKER.findall(text))
    ends = {_words(marker).casefold() for marker in _MARKER.findall(after)}
    lines = ((line, unicodedata.normalize("NFKC", line)) for line in value.splitlines(keepends=True))
    return "".join(
        f"> {line}"
        if f"{_words(plain)} ".startswith(markers) or _words(plain.partition(":")[0]).casefold() in ends
        else line
        for line, plain in lines
    )


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))
