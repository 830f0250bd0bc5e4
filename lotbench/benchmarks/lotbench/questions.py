"""The rule for questions, in English and in Chinese: one question that Yes or No answers and that was not asked before.

A question that asks what, or which of two, has a status of its own, so that the candidate learns the reason.
"""

import re

from lotbench.benchmarks.lotbench.words import CJK, EITHER_ZH, listed, same
from lotbench.errors import Unread

_LABEL = re.compile(r"^\W*(?:q|question|问|问题)\s*[:：]\s*", re.IGNORECASE)
_WH_WORD = r"(?:what|which|who|whom|whose|where|when|why|how)"
_AUX = (
    r"(?:(?:is|are|was|were|am|be|do|does|did|can|could|will|would|shall|should|has|have|had|may|might"
    r"|must)(?:n?['’]t)?|won['’]t)"
)
_WH_EN = re.compile(
    # At the beginning, after a preposition too; at the end ("made of what?"); as a second question; as a request.
    rf"^(?!(?:when|where)\b.*,\s*{_AUX}\b)(?:(?:so|and|but|or|then|well|okay)\b,?\s*)?"
    rf"(?:(?:in|at|on|of|for|to|from|with|by|about|during|under|into)\s+)?{_WH_WORD}\b"
    r"|\b(?:what|which|who|whom)\W*$"
    rf"|(?:[,;]|\b(?:and|or))\s+{_WH_WORD}\s+(?:\w+\s+)?{_AUX}\s+(?:it|they|he|she|you|we|that|this)\b"
    r"|^(?:can|could|would|will) you (?:please )?(?:tell|give|show) (?:me|us)\b"
    rf"|^(?:tell|(?:can|could|would|will) you (?:say|describe|explain))\b.*\b{_WH_WORD}\b",
    re.IGNORECASE,
)
_WH_ZH = re.compile(
    r"什么|甚么|啥|谁|哪|怎么|怎样|咋|为何|如何|何时|何处|何地|何种|多少|几(?![乎率何])|干[吗嘛]"
    r"|(?<![许很太差])多(?:大|小|长|高|重|远|久|快|慢|贵|厚|宽|深|老|硬)"
)
_TELL_ZH = re.compile("告诉我|跟我说|说说|描述一下|透露|你知道|请问")
_WHETHER_ZH = re.compile("是不是|是否|有没有")
_NO_MATTER_ZH = re.compile("不管|无论|不论")
_YES_NO_EN = re.compile(rf"(?:^|[,:]\s*){_AUX}\b", re.IGNORECASE)
_YES_NO_ZH = re.compile(
    r"吗|么[？?]?$|是不是|是否|能否|可否|有没有|会不会|能不能|可不可以|算不算|属不属于|[？?]$"
)
# Together with one of these, a question word is indefinite: "什么都没加的水，算不算它？" asks for yes or no.
_ASKED_ZH = re.compile(r"(?<!干)吗|是否|是不是|能否|可否|有没有|会不会|能不能|可不可以|算不算|属不属于")
_INCLUSIVE = re.compile(
    r"\b(?:either|both|any of|one of|more or less|sooner or later)\b"
    r"|\bor (?:not|so|similar|the like|others?|another|at least|even|maybe|more)\b|\bor (?:any|some)\w*\W*$"
    r"|\bor (?:any|some)\w+ (?:like|similar|else|of|close|related)\b",
    re.IGNORECASE,
)
"""Phrases whose "or" leaves a question that Yes or No answers ("either of ... or ...", "or not")."""
_OWN = r"(?:an?|the|its|some(?:thing|one|body)|in|on|at|for|made of|used)"
_OR = r",?\sor\s(?:rather\s)?"
_SIDES = re.compile(
    # Right after "is it": two things each with a word of its own, or two bare words; or a second "is it".
    rf"^(?:\w+,\s)?(?:is|are|was|were)(?:n['’]t)?\s(?:it|this|that|they|he|she|the\s\w+)\s"
    rf"(?:{_OWN}\s[^,?]*?{_OR}{_OWN}\s|[\w-]+{_OR}[\w-]+\W*$|more\s[^,?]*?{_OR}(?:more\s)?\w)"
    rf"|\bor\s+{_AUX}\s+(?:it|they|he|she|you|we|that|this|people)\b",
    re.IGNORECASE,
)
_OPPOSITE = re.compile(
    "|".join(
        rf"\b{first}s?{_OR}(?:an?\s+|the\s+)?(?:\w+\s+)?{second}s?\b"
        for pair in " ".join(listed("opposites.txt")).split()
        for first, second in (pair.split("/"), pair.split("/")[::-1])
    ),
    re.IGNORECASE,
)
"""Two words that exclude each other, joined by "or"; such a question asks which of them holds."""
_QUOTE, _END = "['\"‘’“”`]", r"['\"‘’“”`]?\W*$"
_LETTERS = re.compile(
    "|".join(listed("letters.txt")).replace("{QUOTE}", _QUOTE).replace("{END}", _END), re.IGNORECASE
)
"""Questions on which letters the hidden text has, or how many; "a letter a person writes" asks about a thing."""
_WHICH_ZH = re.compile(r"(?<![还不])是[^，,还]{1,12}[，,]?还是")


def question(text: str, earlier: list[str]) -> str:
    """Return a candidate's yes/no question without a label or quotes around it.

    Args:
        text: The question as the candidate wrote it.
        earlier: The questions that the candidate asked before in this game.

    Raises:
        Unread: `wh_question` (asks what, who or how), `either_or` (asks which of two), or `not_a_question`; with the
            reason.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    words = _LABEL.sub("", re.sub(r"\s+", " ", " ".join(lines))).strip("\"'`*“”「」 ")
    if len(lines) != 1 or words.count("?") + words.count("？") > 1:
        raise Unread("not_a_question", "not exactly one question")
    if len(words) > 300:
        raise Unread("not_a_question", "too long")
    chinese = CJK.search(words) is not None
    if _asks_what(words) if chinese else _WH_EN.search(words):
        raise Unread("wh_question", "it asks what, who or how: ask whether one thing is so")
    if _asks_which_zh(words) if chinese else _asks_which(words):
        raise Unread("either_or", "it asks which of two is so: ask about one of them")
    if not (_YES_NO_ZH if chinese else _YES_NO_EN).search(words):
        raise Unread("not_a_question", "not a question that Yes or No answers")
    if same(words) in {same(before) for before in earlier}:
        raise Unread("not_a_question", "asked before")
    return words


def asks_letters(question: str) -> bool:
    """Return whether a question is about the letters of the hidden text, and not about what it means."""
    return _LETTERS.search(question) is not None


def _asks_what(words: str) -> bool:
    """Return whether a Chinese question asks what, who or how much.

    Beside 吗 and its like a question word is indefinite (something, someone), but not after 告诉我 ("tell me").
    """
    if tells := _TELL_ZH.search(words):
        *_, last = (None, *_WH_ZH.finditer(words, tells.end()))
        if last and not _WHETHER_ZH.search(words, last.end()):
            return True
    return _WH_ZH.search(words) is not None and _ASKED_ZH.search(words) is None


def _asks_which(words: str) -> bool:
    """Return whether an English question asks which of two things holds, not whether either does."""
    if _INCLUSIVE.search(words):
        return False
    return _SIDES.search(words) is not None or _OPPOSITE.search(words) is not None


def _asks_which_zh(words: str) -> bool:
    """Return whether a Chinese question asks which of two things holds.

    还是 ("or") can also mean "still", and after 无论 ("no matter whether") it includes both things.
    """
    if (both := _NO_MATTER_ZH.search(words)) and "还是" in words[both.end() :]:
        return False
    if _ASKED_ZH.search(words) or re.search(r"么[？?]?$", words):
        return _WHICH_ZH.search(words) is not None
    return EITHER_ZH.search(words) is not None
