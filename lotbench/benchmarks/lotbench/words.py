"""The rules for words: which texts are guesses, when two texts are the same, and how the frame masks the key text.

A candidate's words are changed only by these functions, so that every model meets the same rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from lotbench.errors import Unread
from lotbench.prompting.normal_form import letters, normal

MASK = "<MASK>"


def listed(name: str) -> list[str]:
    """Return the lines of a text file beside this one."""
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA = r"\u3040-\u30ff"
CJK = re.compile(f"[{_HAN}{_KANA}]")
_BETWEEN_CJK = re.compile(rf"(?<=[{_HAN}{_KANA}])\s+(?=[{_HAN}{_KANA}])")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
NUMBERING = re.compile(r"^\s*(?:\(?\d+[.)、](?!\d)|[-*•])\s*")
_LIST = re.compile(
    # A slash separates options only between longer words; AC/DC, 24/7 and km/h are single things.
    rf"[;；、|]|\s/|/\s|[A-Za-z]{{3}}/[A-Za-z]{{3}}|[{_HAN}{_KANA}]/|//|\balternatively\b"
    rf"|\s(?:or|nor|and/or|a\.?k\.?a\.?|versus|vs\.?)\s|(?<!不可)或(?!许|然|多或少)",
    re.IGNORECASE,
)
_MANY = re.compile(r"(?:[,，][^,，\w]*+\w[^,，]*+){3}|\band\b.*\band\b", re.IGNORECASE)
"""Four things with commas between them, or three with "and"; "tall, dark and handsome" counts as one thing."""
_OPTIONS = re.compile(
    r"\w (?:oder|ODER|ou|OU|eller|ELLER|или|ИЛИ) \w|または|\([^()]*+\)[^()]*+\([^()]*+\)|\w [^\w\s'’.&,\ufffd-] \w"
)
"""An "or" of another language or a sign, with spaces on both sides; or two parts in brackets."""
_ITEM, _JOINER = (
    rf"(?!and\b)(?:(?:(?:an? |the )(?=[A-Za-z]))?+[A-Za-z]\w*+(?: \w+)?+|[{_HAN}]{{1,3}}+)",
    r"(?:[&+~•]|(?<=\s)[-–·]\s|(?<=[A-Za-z])·(?=[A-Za-z]))",
)
_THREE = re.compile(
    rf"^(?:{_ITEM}(?:[,，]\s*+{_ITEM}){{2,}}+$|(?>.*?\w\s*+{_JOINER})(?>.*?\w).*{_JOINER}\s*+\w)",
    re.IGNORECASE,
)
"""Three short things with commas or signs between them; "R&B" and "rock & roll" count as one thing."""
_PAIRED = re.compile(
    rf"\b(?:(\w+)(?:, \1\b)+|{'|'.join(listed('set_phrases.txt'))})\b|或多或少", re.IGNORECASE
)
"""Phrases with an "or" that name one thing."""
EITHER_ZH = re.compile(
    r"(?<![我你您他她它们这那谁也都就])(?<!^)(?<!现在)(?<!今天)(?<!至今)(?<!到底)(?<!最后)(?<!终究)(?<!毕竟)(?<!果然)"
    r"(?<!终归)(?<!总归)还是"
)
"""An "or" between two options; at the beginning, after a pronoun or an adverb it means "still"."""
_MARKUP = re.compile(r"[<>{}\[\]=\\`]|[:：](?!\d)")
"""Characters of forms, pages and scripts that no phrase has; a time of day keeps its colon."""
_ORDER = re.compile("|".join(listed("orders.txt")), re.IGNORECASE)
"""Phrases that address a judge and do not belong to the scene."""
_HYPHENS = str.maketrans("-‐‑‒–—−·", " " * 8)
"""Hyphens, which stand for a space where a judge is addressed."""
_BETWEEN = re.compile(r"[\s\-‐‑‒–—―.…·•/\\|+,;:\u115f\u1160\u2800\u3164\uffa0]+")
"""What separates words in a count: spaces, characters that join words, and invisible letters."""
CHARACTERS = 15
"""The largest mean number of characters of a word: 120 for a guess of eight words."""
_SENTENCE = re.compile(r"(?<=\w{3})[.!]\s+\w|[。！]")
"""The end of a sentence within a guess; a dot after a word of up to two letters is allowed ("Dr. No", "St. Nicholas")."""
_EDGES = " \t\"'`*_“”‘’「」『』《》.,!。，！:："
_DETERMINERS = {
    "a": "a(n)", "an": "a(n)",
    "this": "this/these", "these": "this/these", "that": "that/those", "those": "that/those",
}  # fmt: skip
_VERBS = {
    form: f"{singular}/{plural}"
    for singular, plural in (("is", "are"), ("was", "were"), ("has", "have"), ("does", "do"))
    for singular, plural in ((singular, plural), (f"{singular}n't", f"{plural}n't"))
    for form in (singular, plural)
}
_WORD = r"\w+(?:['’]t)?"
EITHER = re.compile(rf"\b({_WORD})/({_WORD})")
"""Two forms of a word in a frame, of which one agrees with the key text."""
_TOKEN = re.compile(rf"a\(n\)|{_WORD}/{_WORD}|{_WORD}", re.IGNORECASE)
_BESIDE_BEFORE = re.compile(r"\b(\w++(?:['’]t)?)(\s++[\"'“‘(]*+)$")
_BESIDE_AFTER = re.compile(rf"^([\"'”’)]*\s+)({_WORD})")
# A verb before the mask agrees with the mask if it comes first or follows a word that is not a subject.
_VERB_FIRST = re.compile(
    rf"(?:^|[.!?:;]\s+|\b(?:there|here|where|what|who|which|how)\s+){_WORD}\s+[\"'“‘(]*$", re.IGNORECASE
)


def frame(response: str, span: tuple[int, int], language: str) -> str:
    """Return the response with the mask in place of the key text.

    English words beside the mask that would reveal the article or the number of the key text get all their forms
    (`a(n)`).

    Args:
        response: The response.
        span: Start and end (exclusive) of the key text, in characters.
        language: The language of the response.
    """
    before, after = response[: span[0]], response[span[1] :]
    if language == "en":
        table = _DETERMINERS | _VERBS if _VERB_FIRST.search(before) else _DETERMINERS
        before = _BESIDE_BEFORE.sub(lambda match: _neutral(match[1], table) + match[2], before)
        after = _BESIDE_AFTER.sub(lambda match: match[1] + _neutral(match[2], _VERBS), after)
    return f"{before}{MASK}{after}"


def _neutral(word: str, table: Mapping[str, str]) -> str:
    """Return all forms of a word that would agree with the key text, by `table` (`is/are`); else the word itself."""
    neutral = table.get(word.lower().replace("’", "'"), word)
    return neutral[0].upper() + neutral[1:] if word[0].isupper() else neutral


def guess(text: str, framed: str, max_words: int, max_cjk: int) -> str:
    """Return a candidate's guess; of a reply that repeats the frame, the text in place of the mask.

    Args:
        text: The guess as the candidate wrote it.
        framed: The frame.
        max_words: The largest number of words.
        max_cjk: The largest number of Chinese or Japanese characters.

    Raises:
        Unread: `not_a_phrase`, with the reason.
    """
    line = one_line(text, "not_a_phrase")
    # A reply may repeat the frame; of a longer text every rule below would take seconds.
    if len(text) > 10 * (len(framed) + CHARACTERS * max_words):
        raise Unread("not_a_phrase", f"longer than {max_words} words or {max_cjk} characters")
    words = re.sub(r"\s+", " ", _inside(line, framed).strip(_EDGES))
    plain = plain_letters(words, Unread("not_a_phrase", "no word in it"))
    if NUMBERING.match(words) or _lists(words):
        raise Unread("not_a_phrase", "a list, not one guess")
    if _MARKUP.search(plain) or orders(words):
        raise Unread("not_a_phrase", "holds markup or an instruction, not only a phrase")
    if _SENTENCE.search(words):
        raise Unread("not_a_phrase", "more than one sentence")
    if "?" in words or "？" in words:
        raise Unread("not_a_phrase", "a question, not a guess")
    if too_long(words, max_words, max_cjk):
        raise Unread("not_a_phrase", f"longer than {max_words} words or {max_cjk} characters")
    return words


def one_line(text: str, kind: str) -> str:
    """Return the only line of a text that is not blank; empty if all are. A second one raises `Unread` of this kind."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        raise Unread(kind, "more than one line")
    return lines[0] if lines else ""


def plain_letters(text: str, wordless: Unread) -> str:
    """Return a text with plain letters, see `letters`.

    Raises:
        Unread: The text has no word but the mask (`wordless`), or it has control characters (of the same kind).
    """
    if any(unicodedata.category(character) in ("Cc", "Cf") for character in text):
        raise Unread(wordless.kind, "holds characters that steer a terminal or a page")
    plain = letters(text)
    if not re.search(r"\w", text) or re.search(r"\bMASK\b", plain):
        raise wordless
    return plain


def orders(text: str) -> bool:
    """Return whether a text addresses a judge.

    Widths and accents of letters, letters of other alphabets that look alike, and hyphens make no difference.
    """
    return _ORDER.search(letters(text).casefold().translate(_HYPHENS)) is not None


def too_long(text: str, max_words: int, max_cjk: int) -> bool:
    """Return whether a text has too many words, CJK characters, or characters in all (more than 15 for each allowed word)."""
    words = [word for word in _BETWEEN.split(text) if word]
    return len(words) > max_words or len(CJK.findall(text)) > max_cjk or len(text) > CHARACTERS * max_words


def _lists(words: str) -> bool:
    """Return whether a guess offers several options instead of one."""
    rest = _PAIRED.sub(" ", normal("NFKC", words))
    return any(sign.search(rest) for sign in (_LIST, _MANY, _OPTIONS, _THREE, EITHER_ZH))


def _inside(text: str, framed: str) -> str:
    """Return the text that a reply has in place of the mask if it repeats the frame, else the reply."""
    around = _around(framed)
    match = around.match(text.strip()) if around else None
    within = re.match(r".*\w", match[1]) if match else None
    return within[0] if within else text


@lru_cache(maxsize=8192)
def _around(framed: str) -> re.Pattern[str] | None:
    """Return a pattern for texts that repeat the frame; its group is the text in place of the mask.

    None if the frame has no words beside the mask.
    """
    before, _, after = framed.partition(MASK)
    first, last = _TOKEN.findall(before), _TOKEN.findall(after)
    # Only words beside the mask have several forms; a pattern of many such words would take exponential time.
    far = [re.findall(_WORD, " ".join(tokens)) for tokens in (first[:-1], last[1:])]
    loose = [r"\W*+".join(map(_any_form, tokens)) for tokens in (far[0] + first[-1:], last[:1] + far[1])]
    if not any(loose):
        return None
    # If the frame has a space at the mask, a guess cannot begin or end within a word.
    opens = r"(?![A-Za-z0-9])" if loose[0] and before[-1:].isspace() else ""
    closes = r"(?<![A-Za-z0-9])" if loose[1] and after[:1].isspace() else ""
    return re.compile(rf"^\W*+{loose[0]}{opens}\W*+(.*?){closes}{loose[1]}\W*+$", re.IGNORECASE)


def _any_form(token: str) -> str:
    """Return a pattern for a word of the frame: as the frame has it (`is/are`), or any of its forms."""
    forms = ("an", "a") if token.lower() == "a(n)" else token.split("/")
    once = dict.fromkeys((token, *forms))
    either = (re.escape(form).replace("’", "'").replace("'", "['’]") for form in once)
    return f"(?:{'|'.join(either)})"


@lru_cache(maxsize=8192)
def same(text: str) -> str:
    """Return the normal form of a guess or question; two texts with the same normal form are taken for the same.

    It applies NFKC, drops case, quotes, punctuation and a leading article, and simplifies traditional Chinese.
    """
    text = normal("NFKC", text).casefold()
    if CJK.search(text):
        text = _BETWEEN_CJK.sub("", _simplifier().convert(text))
    text = re.sub(r"[^\w\s]", "", re.sub(r"[-‐‑–—_]", " ", text))
    return re.sub(r"\s+", " ", _ARTICLE.sub("", text.strip())).strip()


def overlap(guess: str, key: str) -> Literal["contains", "shortens"] | None:
    """Return whether a guess `contains` the whole key text or `shortens` it to a part, in whole words; None for neither.

    Such a guess is not an exact match, so a judge decides on it.
    """
    guess_text, key_text = same(guess), same(key)
    if not guess_text or guess_text == key_text:
        return None
    if _within(key_text, guess_text):
        return "contains"
    return "shortens" if _within(guess_text, key_text) else None


def _within(part: str, whole: str) -> bool:
    return part in whole if CJK.search(whole) else f" {part} " in f" {whole} "


def leaks(question: str, secrets: list[str]) -> bool:
    """Return whether a question contains a secret as whole words (in Chinese: anywhere), after normalisation."""
    text = same(question)
    # Chinese has no spaces: "它是wifi吗" has the word wifi in it.
    letter = rf"[^\W{_HAN}{_KANA}]"
    # The pattern is built only for secrets that occur in the question, which most do not.
    for secret in (phrase for phrase in map(same, secrets) if phrase and phrase in text):
        whole = rf"(?<!{letter}){re.escape(secret)}(?!{letter})"
        if CJK.search(secret) or re.search(whole, text):
            return True
    return False


def other_language(text: str, language: str) -> bool:
    """Return whether a guess is in another language than `language`, as far as its script shows."""
    if not re.search(r"[^\W\d_]", text):
        return False
    if language == "zh":
        return re.search(f"[{_HAN}]", text) is None or re.search(f"[{_KANA}]", text) is not None
    return CJK.search(text) is not None or _LATIN.search(text) is None


@cache
def _simplifier() -> OpenCC:  # type: ignore[name-defined]  # noqa: F821
    from opencc import OpenCC  # noqa: PLC0415 - 2 MB of tables that an English run never needs

    return OpenCC("t2s")


@cache
def stem(word: str) -> str:
    """Return the stem of an English word."""
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import snowballstemmer  # type: ignore[import-untyped]  # noqa: PLC0415 - few commands need it

    return snowballstemmer.stemmer("english")
