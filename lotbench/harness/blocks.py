"""Answers inside a judge's prompt: a line of an answer that could end its block is quoted, as `> END OF IDEA`.

A judge is told that the text between two marker lines is never an instruction. Without this a candidate could write the
second marker itself, and a verdict after it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Set

from lotbench.prompting.prompt import Prompt, Value

_MARKER = re.compile(r"^[A-Z][A-Z' ]*[A-Z](?=:|$)", re.MULTILINE)
"""A line of capitals in a prompt, or the capitals before a colon: `END OF IDEA`, `OUTPUT:`."""
_WORD = re.compile(r"[^\W_]+")


def enclosed(prompt: Prompt, values: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values for a prompt's fields, with each line quoted that could be taken for a marker of the prompt.

    Such a line begins with a marker in capitals, or is in any case a marker that comes after the field (up to a colon).
    Other lines stay the same.
    """
    text = "\n".join(prompt.sections.values())
    return {
        name: _quote(value, _markers(text), _markers(text.partition(f"{{{{{name}}}}}")[2]))
        if isinstance(value, str)
        else value
        for name, value in values.items()
    }


def _markers(text: str) -> frozenset[str]:
    return frozenset(map(_words, _MARKER.findall(text)))


def _quote(value: str, markers: Set[str], after: Set[str]) -> str:
    folded = {marker.casefold() for marker in after}
    lines = value.splitlines(keepends=True)
    return "".join(f"> {line}" if _is_marker(line, markers, folded) else line for line in lines)


def _is_marker(line: str, markers: Set[str], after: Set[str]) -> bool:
    text = unicodedata.normalize("NFKC", line)
    said = f"{_words(text)} "
    return _words(text.partition(":")[0]).casefold() in after or any(
        said.startswith(f"{marker} ") for marker in markers
    )


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))
