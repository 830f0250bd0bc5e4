"""The rules about words: what a filling and a question may be, when two are the same, what the frame shows.

Pure text in, text or a reason out. A candidate's words are never repaired beyond what stands here, so
that every model meets the same rule.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from lotbench.errors import Unread

MASK = "<MASK>"
_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff]")
_ARTICLE = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_NUMBERING = re.compile(r"^\s*(?:\(?\d+[.)、]|[-*•])\s*")
_LIST = re.compile(r"[/;；、|]|\s(?:or|and/or)\s|或者|或是|还是", re.IGNORECASE)
_EDGES = " \t\"'`*_“”‘’「」『』《》.,!。，！:："
_WH = re.compile(
    r"^(?:what|which|who|whom|whose|where|when|why|how)\b|(?:什么|为什么|怎么|怎样|哪|谁|几个|多少)",
    re.IGNORECASE,
)
_YES_NO_EN = re.compile(
    r"(?:^|[,:]\s*)(?:is|are|was|were|am|be|do|does|did|can|could|will|would|shall|should|has|have|had|may|might|must|"
    r"isn['’]t|aren['’]t|doesn['’]t|don['’]t|can['’]t|could(?:n['’]t)?)\b",
    re.IGNORECASE,
)
_YES_NO_ZH = re.compile(
    r"吗|么[？?]?$|是不是|是否|能否|可否|有没有|会不会|能不能|可不可以|算不算|属不属于|[？?]$"
)
_AGREEMENT = {
    "a": "a(n)", "an": "a(n)",
    "is": "is/are", "are": "is/are", "was": "was/were", "were": "was/were",
    "has": "has/have", "have": "has/have", "does": "does/do", "do": "does/do",
    "this": "this/these", "these": "this/these", "that": "that/those", "those": "that/those",
}  # fmt: skip


def frame(response: str, span: tuple[int, int], language: str) -> str:
    """The response with the key text masked; the words beside the mask give no article or number away."""
    before, after = response[: span[0]], response[span[1] :]
    if language == "en":
        before = re.sub(r"(\w+)(\s*)$", lambda m: _neutral(m[1], "before") + m[2], before)
        after = re.sub(r"^(\s*)(\w+)", lambda m: m[1] + _neutral(m[2], "after"), after)
    return f"{before}{MASK}{after}"


def _neutral(word: str, side: str) -> str:
    determiners = {"a", "an", "this", "these", "that", "those"}
    if (word.lower() in determiners) != (side == "before"):
        return word
    neutral = _AGREEMENT.get(word.lower(), word)
    return neutral.capitalize() if word[0].isupper() else neutral


def filling(text: str, framed: str, max_words: int, max_cjk: int) -> str:
    """A candidate's filling, cut out of the frame if it repeats the frame.

    Raises:
        Unread: `not_a_phrase`, with the reason.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    if len(lines) > 1:
        raise Unread("not_a_phrase", "more than one line")
    words = _inside(lines[0] if lines else "", framed).strip(_EDGES)
    words = re.sub(r"\s+", " ", words)
    if not re.search(r"\w", words) or "MASK" in words:
        raise Unread("not_a_phrase", "no word in it")
    if _NUMBERING.match(words) or _LIST.search(words):
        raise Unread("not_a_phrase", "a list, not one filling")
    if "?" in words or "？" in words:
        raise Unread("not_a_phrase", "a question, not a filling")
    if len(words.split()) > max_words or len(_CJK.findall(words)) > max_cjk:
        raise Unread("not_a_phrase", f"longer than {max_words} words or {max_cjk} characters")
    return words


def _inside(text: str, framed: str) -> str:
    """What stands in the mask if the text repeats the frame, else the text."""
    before, _, after = framed.partition(MASK)
    loose = [
        r"\W*".join(re.escape(word) for word in re.findall(r"\w+", _any_article(part)))
        for part in (before, after)
    ]
    loose = [part.replace("ARTICLE", "(?:an?)") for part in loose]
    if not any(loose):
        return text
    pattern = rf"^\W*{loose[0]}\W*(.*?)\W*{loose[1]}\W*$"
    found = re.match(pattern, text.strip(), re.IGNORECASE)
    return found[1] if found and found[1] else text


def _any_article(part: str) -> str:
    return re.sub(r"\ba\(n\)", "ARTICLE", part, flags=re.IGNORECASE)


def question(text: str, asked: list[str]) -> str:
    """A candidate's yes/no question.

    Raises:
        Unread: `not_a_question`, with the reason.
    """
    lines = [line for line in text.strip().splitlines() if line.strip()]
    words = re.sub(r"\s+", " ", " ".join(lines)).strip("\"'`*“”「」 ")
    if len(lines) != 1 or len(re.findall(r"[?？]", words)) > 1:
        raise Unread("not_a_question", "not exactly one question")
    if len(words) > 300:
        raise Unread("not_a_question", "too long")
    pattern = _YES_NO_ZH if _CJK.search(words) else _YES_NO_EN
    if not pattern.search(words) or (_WH.search(words) and "吗" not in words and "是否" not in words):
        raise Unread("not_a_question", "not a question that Yes or No answers")
    if same(words) in {same(before) for before in asked}:
        raise Unread("not_a_question", "asked before")
    return words


@lru_cache(maxsize=8192)
def same(text: str) -> str:
    """The normal form by which two fillings or questions are the same.

    NFKC, case, quotes, punctuation, a leading article, and simplified for traditional Chinese.
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    if _CJK.search(text):
        text = _simplifier().convert(text)
    text = re.sub(r"[^\w\s]", "", text)
    return re.sub(r"\s+", " ", _ARTICLE.sub("", text.strip())).strip()


def leaks(question: str, secrets: list[str]) -> bool:
    """Whether a question, normalised, contains one of the secrets as whole words."""
    asked = same(question)
    for secret in map(same, secrets):
        if not secret:
            continue
        found = secret in asked if _CJK.search(secret) else re.search(rf"\b{re.escape(secret)}\b", asked)
        if found:
            return True
    return False


def other_language(text: str, language: str) -> bool:
    """Whether a filling is written in another language than the sample's, as far as its script shows."""
    return bool(_CJK.search(text)) != (language == "zh") and bool(re.search(r"[^\W\d_]", text))


@cache
def _simplifier() -> OpenCC:  # type: ignore[name-defined]  # noqa: F821
    from opencc import OpenCC  # noqa: PLC0415 - 2 MB of tables that an English run never needs

    return OpenCC("t2s")
