"""The schemas (JSON fields) of all replies in a game: of the candidate, the oracle, and the judge (Sec. 5.5.3, App. A-D)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator

from lotbench.prompting.reply import Form, Quoted, YesNo, prose, yes_or_no

REASON = 240
CHAIN = 400
LONGEST = 300
"""The largest numbers of characters in the schema: of a reason, of a causal chain, and of a whole response."""


class Guess(Form):
    """The candidate's guess of the masked text."""

    guess: Annotated[str, prose(120)]


class Word(Form):
    """The candidate's guess of the masked text, with the field names of the paper's prompt (App. A)."""

    WORD: Annotated[str, prose(120)]
    RESPONSE: Annotated[str, prose(600, "the whole sentence with <WORD> filled in")]


class Written(Form):
    """The candidate's whole response."""

    response: Annotated[str, prose(LONGEST)]


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


class Chain(Quoted):
    """Step 1: the causal chains of scene and response (Eq. 2), the creative point (Eq. 3) and the function (Eq. 4).

    `caption_chain` is the chain of the response, which the prompt calls a caption.
    """

    scene_chain: Annotated[str, prose(CHAIN, "node -> node -> ... -> last effect")]
    caption_chain: Annotated[str, prose(CHAIN, "node -> node -> ... -> last effect")]
    creative_point: Annotated[str, prose(REASON, "which node maps to which, by what likeness")]
    function: Annotated[str, prose(REASON, "the effect in which both chains end")]

    def text(self) -> str:
        """Return the chain as it is stored: four lines, of which `= ` begins the creative point and `=> ` the function."""
        return f"{self.scene_chain}\n{self.caption_chain}\n= {self.creative_point}\n=> {self.function}"


class Explained(Form):
    """A judge's verdict without an intervened chain: for each criterion the reason, then the decision."""

    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class Causal(Form):
    """A causal judge's verdict: the intervened chain (Eq. 5), then for each criterion (Eq. 6, 7) a reason and an answer."""

    intervened_chain: Annotated[str, prose(CHAIN, "the caption's chain with the candidate in it")]
    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class VerdictFirst(Form):
    """A judge's verdict whose decisions come before the reasons, as in the paper's output (App. D)."""

    same_creative_point: YesNo
    same_function: YesNo
    explanation: Annotated[str, prose(900, "entities, relations and chains, and why")]


class Summary(Form):
    """A verdict with one decision for both criteria, then the reasons; the paper's field names (App. D)."""

    SUMMARY: Annotated[Literal["Yes", "No"], BeforeValidator(in_words)]
    EXPLANATION: Annotated[str, prose(900, "entities, relations and causal chains, and why")]


class Different(Form):
    """A judge's decision whether an answer is another idea than the known ones, after the nearest of them and the reason."""

    closest: Annotated[str, prose(120, "the known one that is nearest")]
    difference_reason: Annotated[str, prose(REASON, "what picture each of the two brings to mind")]
    different_approach: YesNo
