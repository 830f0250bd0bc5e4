"""The forms of the judge's replies: the causal chain, and a verdict in each mode (Sec. 5.5.3, App. D)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from lotbench.benchmarks.lotbench.answer_forms import in_words
from lotbench.prompting.reply import Form, YesNo, prose

REASON = 240
CHAIN = 400
"""The largest number of characters of a causal chain in the schema; REASON is the same for a reason."""


class Chain(Form):
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
    """A verdict without a chain (step 3): for each criterion the reason, then the decision."""

    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class Causal(Form):
    """A verdict with a chain (steps 2, 3): the intervened chain (Eq. 5), then each criterion (Eq. 6, 7), reason first."""

    intervened_chain: Annotated[str, prose(CHAIN, "the caption's chain with the candidate in it")]
    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class VerdictFirst(Form):
    """A verdict whose decisions come before the reasons, as in the paper's output (App. D)."""

    same_creative_point: YesNo
    same_function: YesNo
    explanation: Annotated[str, prose(900, "entities, relations and chains, and why")]


class Summary(Form):
    """A verdict with one decision for both criteria, then the reasons; the paper's field names (App. D)."""

    SUMMARY: Annotated[Literal["Yes", "No"], BeforeValidator(in_words)]
    EXPLANATION: Annotated[str, prose(900, "entities, relations and causal chains, and why")]
