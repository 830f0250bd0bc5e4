"""kwPrec: the share of an answer's keywords that occur in its task's knowledge text (Sec. 3.2.2, after UHGEval).

UHGEval has a model name the keywords; the role `keywords` does that here. Without it, a keyword is the stem of any
word of three letters or more that is not a function word. Each keyword counts once.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from snowballstemmer import stemmer  # type: ignore[import-untyped]

from lotbench.prompting.reply import Form, prose

WORD = re.compile(r"[^\W\d_]{3,}")
FUNCTION_WORDS = frozenset(Path(__file__).with_name("function_words.txt").read_text("utf-8").split())
_STEMMER = stemmer("english")


@lru_cache(maxsize=256)
def keywords(text: str) -> frozenset[str]:
    """Return the stems of a text's words of three letters or more that are not function words."""
    words = {word for word in WORD.findall(text.lower()) if word not in FUNCTION_WORDS}
    return frozenset(_STEMMER.stemWords(sorted(words)))


class NamedKeywords(Form):
    """A model's reply that names the keywords of an answer."""

    keywords: Annotated[list[Annotated[str, prose(80)]], Field(json_schema_extra={"maxItems": 20})]


def named_keywords(steps: Sequence[Mapping[str, Any]]) -> dict[int, list[str]]:
    """Return the keywords that a model named for each answer, by its number, from the steps of an episode's trace.

    The last reply about an answer counts; an answer whose last reply could not be read is left out.
    """
    values = {step["value"]["answer"]: step["value"] for step in steps if step["step"] == "keywords"}
    return {number: value["keywords"] for number, value in values.items() if value["status"] == "ok"}


def precision(phrases: Iterable[str], knowledge: str) -> float | None:
    """Return the share of keywords that are in the knowledge text with all their stems; None without keywords.

    Two of the `phrases` with the same stems are one keyword; a phrase without stems is none.
    """
    stems, text_stems = {keywords(phrase) for phrase in phrases} - {frozenset()}, keywords(knowledge)
    return sum(phrase <= text_stems for phrase in stems) / len(stems) if stems else None
