"""The forms of the candidate's and the oracle's answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from lotbench.prompting.reply import Form, prose, yes_or_no


class Guess(Form):
    """The candidate's guess."""

    guess: Annotated[str, prose(120)]


class Word(Form):
    """The candidate's guess under the paper's names (App. A)."""

    WORD: Annotated[str, prose(120)]
    RESPONSE: Annotated[str, prose(600, "the whole sentence with <WORD> filled in")]


class Asking(Form):
    """The candidate's question."""

    question: Annotated[str, prose(240)]


class Notes(Form):
    """Small questions with their answers (DDCoT)."""

    notes: Annotated[str, prose(1200, "the small questions, each with its answer, and the best direction")]


_UNCLEAR = ("unclear", "不清楚")


def in_words(value: object) -> object:
    """Return Yes, No or Unclear for an answer in any of its spellings (`yes.`, 否, 不清楚); anything else as it is."""
    if isinstance(value, str) and value.strip(" .!。！").casefold() in _UNCLEAR:
        return "Unclear"
    truth = yes_or_no(value)
    return ("Yes" if truth else "No") if isinstance(truth, bool) else value


class Told(Form):
    """The oracle's answer, as in the paper."""

    answer: Annotated[Literal["Yes", "No"], BeforeValidator(in_words)]


class ToldIfClear(Form):
    """The oracle's answer, with Unclear allowed."""

    answer: Annotated[Literal["Yes", "No", "Unclear"], BeforeValidator(in_words)]


ANSWERS: Mapping[str, type[Told] | type[ToldIfClear]] = {"yes_no": Told, "yes_no_unclear": ToldIfClear}
"""The form of the oracle's answer, by `oracle_says`."""
