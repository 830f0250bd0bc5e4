"""The forms (JSON fields) of the replies of candidate and oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from lotbench.prompting.reply import Form, prose, yes_or_no


class Guess(Form):
    """The candidate's guess of the masked text."""

    guess: Annotated[str, prose(120)]


class Word(Form):
    """The candidate's guess of the masked text, with the field names of the paper's prompt (App. A)."""

    WORD: Annotated[str, prose(120)]
    RESPONSE: Annotated[str, prose(600, "the whole sentence with <WORD> filled in")]


class Asking(Form):
    """The candidate's yes/no question to the oracle."""

    question: Annotated[str, prose(240)]


class Notes(Form):
    """The candidate's notes before a guess or a question: sub-questions with answers (framework `ddcot`)."""

    notes: Annotated[str, prose(1200, "the small questions, each with its answer, and the best direction")]


_UNCLEAR = ("unclear", "不清楚")


def in_words(value: object) -> object:
    """Return Yes, No or Unclear for any spelling of it (`yes.`, 否, 不清楚); return another value unchanged."""
    if isinstance(value, str) and value.strip(" .!。！").casefold() in _UNCLEAR:
        return "Unclear"
    truth = yes_or_no(value)
    return ("Yes" if truth else "No") if isinstance(truth, bool) else value


class Told(Form):
    """The oracle's answer, Yes or No, as in the paper (Sec. 5.6)."""

    answer: Annotated[Literal["Yes", "No"], BeforeValidator(in_words)]


class ToldIfClear(Form):
    """The oracle's answer: Yes, No or, unlike in the paper, Unclear."""

    answer: Annotated[Literal["Yes", "No", "Unclear"], BeforeValidator(in_words)]


ANSWERS: Mapping[str, type[Told] | type[ToldIfClear]] = {"yes_no": Told, "yes_no_unclear": ToldIfClear}
"""The form of the oracle's answer, by the setting `oracle_says`."""
