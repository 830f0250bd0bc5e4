"""The rule for whole responses (one line, one joke, no instruction to a judge), and the first half of a frame.

Every model meets the same rule.
"""

import re

from lotbench.benchmarks.lotbench.words import (
    CHARACTERS,
    CJK,
    MASK,
    NUMBERING,
    one_line,
    orders,
    plain_letters,
    too_long,
)
from lotbench.errors import Unread

_LABEL = re.compile(r"^\W*(?:response|caption|配文)\s*[:：]\s*", re.IGNORECASE)
_PIECES = re.compile(rf"{MASK}|{CJK.pattern}|(?:(?!{CJK.pattern})[^\s<])+|\S")
"""The units in which the length of a frame is counted: the mask, words, Chinese characters and punctuation marks."""
_TWO_QUOTED = re.compile(r"[\"”」』]\s*+(?:[,;，；、/]|or\b|或者?)++\s*+[\"“「『]", re.IGNORECASE)
_FIRST = re.compile(r"(?:^|\s)\(?1[.)、]")
_SECOND = re.compile(r"\s\(?2[.)、]")


def response(text: str, max_words: int, max_cjk: int) -> str:
    """Return a candidate's whole response, without a label or quotes around it.

    Args:
        text: The response as the candidate wrote it.
        max_words: The largest number of words.
        max_cjk: The largest number of Chinese or Japanese characters.

    Raises:
        Unread: `not_a_response`, with the reason.
    """
    line = one_line(text, "not_a_response")
    # Of a much longer text the rules below would take seconds.
    if len(line) > 10 * CHARACTERS * max_words:
        raise Unread("not_a_response", f"longer than {max_words} words or {max_cjk} characters")
    body = _unquoted(re.sub(r"\s+", " ", _LABEL.sub("", line)).strip())
    plain = plain_letters(body, Unread("not_a_response", "no response in it"))
    if (
        NUMBERING.match(body)
        or ((first := _FIRST.search(body)) and _SECOND.search(body, first.end()))
        or _TWO_QUOTED.search(body)
        or re.search(r" / |\|", body)
    ):
        raise Unread("not_a_response", "a list, not one response")
    if re.search(r"[<>{}\[\]=\\`]", plain) or orders(body):
        raise Unread("not_a_response", "holds markup or an instruction, not only a response")
    if too_long(body, max_words, max_cjk):
        raise Unread("not_a_response", f"longer than {max_words} words or {max_cjk} characters")
    return body


def _unquoted(text: str) -> str:
    """Return a text without a pair of quotes or marks of emphasis around all of it."""
    for opens, closes in ('""', "“”", "「」", "『』", "**", "__"):
        if len(text) > 2 and text[0] == opens and text[-1] == closes and not {opens, closes} & {*text[1:-1]}:
            return text[1:-1].strip()
    return text


def half(framed: str) -> str:
    """Return the first half of a frame with an ellipsis; words (Chinese: characters), marks and the mask count one each."""
    pieces = list(_PIECES.finditer(framed))
    return f"{framed[: pieces[(len(pieces) + 1) // 2 - 1].end()]} …"
