"""E1's questions: is a guess a different approach with an equally satisfactory outcome (match)?

The key text is replaced by the filling and the causal chain told again; then both criteria are judged: the
same creative point (Eq. 6) and the same function (Eq. 7). DAESO is both. The judge sees the sample as
`judge_mode` says and the one filling; no picture, no name, no round, no history.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Annotated, Any

from lotbench.benchmarks.lotbench import whole
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.harness.reask import asking
from lotbench.prompting.judge import JudgeQuestion
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose
from lotbench.types import Question

REASON = 240
CHAIN = 400
"""Characters that the schema allows for a reason and for a causal chain."""


class Chain(Form):
    """Step 1: the causal chains in text (Eq. 2), the creative point (Eq. 3) and the function (Eq. 4)."""

    scene_chain: Annotated[str, prose(CHAIN, "node -> node -> ... -> last effect")]
    caption_chain: Annotated[str, prose(CHAIN, "node -> node -> ... -> last effect")]
    creative_point: Annotated[str, prose(REASON, "which node maps to which, by what likeness")]
    function: Annotated[str, prose(REASON, "the effect in which both chains end")]

    def text(self) -> str:
        """The chain as it is stored, shown, and given to the judge."""
        return f"{self.scene_chain}\n{self.caption_chain}\n= {self.creative_point}\n=> {self.function}"


_STORED = re.compile(r"(?P<scene>[^\n]*)\n(?P<caption>.*?)\n= (?P<point>.*?)\n=> (?P<function>.*)", re.DOTALL)
"""A chain as `Chain.text` stores it."""


def labelled(walk: Walk, text: str) -> str:
    """A stored chain as the judge is shown it: each part under its name, in the language of the sample."""
    lines, parts = walk.prompt("lines"), _STORED.fullmatch(text)
    if parts is None or "told_chain" not in lines.sections:
        # A chain that no form made, or the pack of a run from before chains had labels.
        return text
    return lines.line("told_chain", **parts.groupdict())


class Explained(Form):
    """Step 3 without a chain: each criterion's reason before its decision."""

    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class Causal(Form):
    """Steps 2 and 3 in one: the intervened chain, then each criterion's reason before its decision."""

    intervened_chain: Annotated[str, prose(CHAIN, "the caption's chain with the candidate in it")]
    point_reason: Annotated[str, prose(REASON, "is the creative point the same, and why")]
    same_creative_point: YesNo
    function_reason: Annotated[str, prose(REASON, "is the function the same, and why")]
    same_function: YesNo


class VerdictFirst(Form):
    """The decision before its reasons, as the paper's output has it (App. D)."""

    same_creative_point: YesNo
    same_function: YesNo
    explanation: Annotated[str, prose(900, "entities, relations and chains, and why")]


class Confirmation(Form):
    """A second opinion of the same judge: what differs first, the criteria in the other order."""

    difference: Annotated[str, prose(REASON, "what is different with the candidate")]
    function_reason: Annotated[str, prose(REASON, "does the chain end in the same effect")]
    same_function: YesNo
    point_reason: Annotated[str, prose(REASON, "is the same part matched by the same likeness")]
    same_creative_point: YesNo


def judging(walk: Walk, step: str) -> JudgeQuestion[Any]:
    """The kind of question that E1 is put at a step: check, chain_check or confirm."""
    settings = walk.settings
    form: type[Form] = Causal if settings.judge_mode == "causal" else Explained
    if settings.verdict == "first":
        form = VerdictFirst
    if step == "confirm" and settings.confirm == "same_judge":
        form = Confirmation
    return JudgeQuestion("judge", step, form, _daeso)


def verdict_question(
    walk: Walk,
    step: str,
    filling: str,
    *,
    seat: int,
    chain: str | None,
    unread: str | None = None,
    target: int = 0,
) -> Question:
    """Ask for the verdict on one filling, or on a whole response where no frame is shown.

    Args:
        walk: Where the game stands; only its sample and settings are used.
        step: check, chain_check or confirm.
        filling: What takes the place of the key text.
        seat: Which judge.
        chain: The causal chain that this judge built, in causal mode.
        unread: Why its last answer could not be read, if it is asked again.
        target: Which of the responses that are looked for a whole response is compared with; see `whole.targets`.
    """
    wanted, lines, name = whole.targets(walk.sample)[target], walk.prompt("lines"), _prompt(walk, step)
    once = asking(walk, unread)
    values: dict[str, Value] = {
        "caption": walk.sample.caption,
        "response": wanted.response,
        "filling": quotable(filling) if walk.settings.whole else filling.replace('"', "'"),
        "again": once.again,
    }
    if walk.settings.whole:
        values["key"] = lines.line("key", text=wanted.key_text) if wanted.key_text else None
    else:
        values["key_text"] = walk.sample.key_text
    if name != "check_zero_shot":
        explained = walk.settings.judge_mode != "zero_shot"
        values["explanation"] = lines.line("explanation", text=wanted.explanation) if explained else None
    if name in ("check_causal", "confirm") or walk.settings.whole:
        values["chain"] = lines.line("chain", text=labelled(walk, chain)) if chain else None
    question = judging(walk, step).ask(
        walk.prompt(name), round=walk.round, seat=seat, attempt=once.number, **values
    )
    # Two seats may be one model, whose calls would otherwise have one key.
    return replace(question, draw=seat)


def quotable(text: str) -> str:
    """A text that cannot end its own quotation."""
    return text.replace('"', "'").replace("“", "‘").replace("”", "’")


def _prompt(walk: Walk, step: str) -> str:
    settings = walk.settings
    if settings.whole:
        return "confirm_whole" if step == "confirm" and settings.confirm == "same_judge" else "check_whole"
    if step == "confirm" and settings.confirm == "same_judge":
        return "confirm"
    if settings.judge_mode == "causal" and settings.chain == "per_call":
        return "check_per_call"
    return f"check_{settings.judge_mode}"


def _daeso(form: Any) -> bool:
    return bool(form.same_creative_point and form.same_function)
