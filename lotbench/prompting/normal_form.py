"""Normal forms in which texts are compared; each takes linear time. No text is sent or stored in one of them."""

import unicodedata
from itertools import groupby, islice
from typing import Literal

_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝткмнвαεορνυικτɡɑցսօᎥıøАЕОРСУХІЈЅԀҺԚԜТКМНВΑΒΕΖΗΙΚΜΝΟΡΤΥΧØᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢː∶⁚։׃꞉\u2800",
    "aeopcyxijsdhqwtkmhbaeopvuiktgaguoiioAEOPCYXIJSDHQWTKMHBABEZHIKMNOPTYXOABCDEFGHIJKLMNOPQRSTUVWYZ:::::: ",
    "\u115f\u1160",
)
"""Letters of other alphabets, small capitals and colons that look like those of English; a blank; fillers, which are dropped."""
_ALSO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""Characters that decompose to combining marks, but are none: Tibetan vowels and halfwidth sound marks."""

INVISIBLE = ("Cf", "Mn", "Me")
"""The categories of characters that `letters` drops: formats and marks."""


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
    return "".join(each for each in plain if unicodedata.category(each) not in INVISIBLE)
