"""Normal forms of texts, and blocks of a prompt: a line that could end its block is quoted, as `> END OF IDEA`.

A judge is told that the text between two marker lines is never an instruction. Without this a candidate could write the
second marker itself, and a verdict after it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby, islice
from typing import Literal

from lotbench.prompting.prompt import Prompt, Value

_MARKER = re.compile(r"^[A-Z][A-Z' ]*[A-Z](?=:|$)", re.MULTILINE)
"""A line of capitals in a prompt, or the capitals before a colon: `END OF IDEA`, `OUTPUT:`."""
_BLOCK = re.compile(r"^[A-Z][A-Z' ]*[A-Z]\n\{\{\s*(\w+)\s*\}\}$", re.MULTILINE)
"""A field that stands alone in the line below a marker."""
_WORD = re.compile(r"[^\W_]+")
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝткмнвαεορνυικτɡɑցսօᎥıøАЕОРСУХІЈЅԀҺԚԜТКМНВΑΒΕΖΗΙΚΜΝΟΡΤΥΧØᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢː∶⁚։׃꞉\u2800",
    "aeopcyxijsdhqwtkmhbaeopvuiktgaguoiioAEOPCYXIJSDHQWTKMHBABEZHIKMNOPTYXOABCDEFGHIJKLMNOPQRSTUVWYZ:::::: ",
    "\u115f\u1160",
)
"""Letters of other alphabets, small capitals and colons that look like those of English; a blank; fillers, which are dropped."""
_ALSO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that decompose to combining marks, but are none: Tibetan vowels and halfwidth sound marks."""


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


def _quote(value: str, starts: tuple[str, ...], ends: frozenset[str]) -> str:
    lines = ((line, letters(line)) for line in value.splitlines(keepends=True))
    return "".join(
        f"> {line}"
        if f"{_words(plain)} ".startswith(starts) or _words(plain.partition(":")[0]).casefold() in ends
        else line
        for line, plain in lines
    )


def normal(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Return a text in a normal form of Unicode, with at most 30 combining marks in a row.

    Sorting a longer row of marks takes quadratic time.
    """
    if text.isascii():
        return text
    rows = groupby(text, _is_mark)
    return unicodedata.normalize(
        form, "".join("".join(islice(row, 30) if mark else row) for mark, row in rows)
    )


def _is_mark(character: str) -> bool:
    return unicodedata.combining(character) > 0 or character in _ALSO_MARKS


def same(text: str) -> str:
    """Return a text in a normal form in which case, width, spaces and punctuation do not differ."""
    plain = normal("NFKC", text).casefold()
    return "".join(letter for letter in plain if letter.isalnum()) or plain.strip()


def letters(text: str) -> str:
    """Return a text for a comparison: letters of one width and alphabet, without accents and invisible characters."""
    if text.isascii():
        return text
    plain = normal("NFKD", text).translate(_LOOKALIKES)
    return "".join(each for each in plain if unicodedata.category(each) not in ("Cf", "Mn", "Me"))


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text))
