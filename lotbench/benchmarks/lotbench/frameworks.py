"""The forms of the candidate's and the oracle's answers, and the ways in which the candidate is made to think (Sec. 7.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator

from lotbench.benchmarks.lotbench.whole import ReasonedWritten, Written
from lotbench.prompting.reply import Form, prose, yes_or_no

REASONING = prose(1200, "step by step")


class Filling(Form):
    """The answer of respond."""

    filling: Annotated[str, prose(120)]


class ReasonedFilling(Form):
    """The answer of respond when reasoning is asked for."""

    reasoning: Annotated[str, REASONING]
    filling: Annotated[str, prose(120)]


class Word(Form):
    """The answer of respond in the paper (App. A)."""

    WORD: Annotated[str, prose(120)]
    RESPONSE: Annotated[str, prose(600, "the whole sentence with <WORD> filled in")]


class ReasonedWord(Form):
    """The answer of respond in the paper when reasoning is asked for."""

    reasoning: Annotated[str, REASONING]
    WORD: Annotated[str, prose(120)]
    RESPONSE: Annotated[str, prose(600, "the whole sentence with <WORD> filled in")]


class Asking(Form):
    """The answer of ask."""

    question: Annotated[str, prose(240)]


class ReasonedAsking(Form):
    """The answer of ask when reasoning is asked for."""

    reasoning: Annotated[str, REASONING]
    question: Annotated[str, prose(240)]


class Notes(Form):
    """Small questions with their answers (DDCoT)."""

    notes: Annotated[str, prose(1200, "the small questions, each with its answer, and the best direction")]


_UNCLEAR = ("unclear", "不清楚")


def in_words(said: object) -> object:
    """An answer in any of its words (`yes.`, 否, 不清楚) as the form has it."""
    if isinstance(said, str) and said.strip(" .!。！").casefold() in _UNCLEAR:
        return "Unclear"
    truth = yes_or_no(said)
    return ("Yes" if truth else "No") if isinstance(truth, bool) else said


class Told(Form):
    """The answer of the oracle, as in the paper."""

    answer: Annotated[Literal["Yes", "No"], BeforeValidator(in_words)]


class ToldIfClear(Form):
    """The answer of an oracle that need not decide."""

    answer: Annotated[Literal["Yes", "No", "Unclear"], BeforeValidator(in_words)]


ANSWERS: Mapping[str, type[Told] | type[ToldIfClear]] = {"yes_no": Told, "yes_no_unclear": ToldIfClear}
"""The form of the oracle's answer, by `oracle_says`."""


@dataclass(frozen=True, slots=True)
class Framework:
    """How the candidate is made to think: a line of the prompt, a form, and how often it is asked."""

    method: str
    filling: type[Filling] | type[ReasonedFilling] = Filling
    written: type[Written] | type[ReasonedWritten] = Written
    word: type[Word] | type[ReasonedWord] = Word
    asking: type[Asking] | type[ReasonedAsking] = Asking
    votes: bool = False
    notes: bool = False


FRAMEWORKS = {
    "direct": Framework("method_direct"),
    "cot": Framework("method_cot", ReasonedFilling, ReasonedWritten, ReasonedWord, ReasonedAsking),
    "cot_sc": Framework(
        "method_cot", ReasonedFilling, ReasonedWritten, ReasonedWord, ReasonedAsking, votes=True
    ),
    "ddcot": Framework("method_ddcot", notes=True),
    "plot": Framework("method_plot"),
}
