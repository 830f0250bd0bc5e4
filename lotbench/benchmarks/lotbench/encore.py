"""Encore: what already counts in a game that goes on after its solve, and whether another answer is a different idea.

The first leap is the solve. A later answer counts if it is a DAESO and differs from every answer that counted and
from the key text of what these met: a question of its own to the judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.judge import REASON, quotable
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.harness.reask import asking
from lotbench.prompting.judge import JudgeQuestion
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, YesNo, prose
from lotbench.types import Question


class Different(Form):
    """Whether an answer is another idea than those that are known: the nearest of them and the reason first."""

    closest: Annotated[str, prose(120, "the known one that is nearest")]
    difference_reason: Annotated[str, prose(REASON, "what picture each of the two brings to mind")]
    different_approach: YesNo


JUDGING: JudgeQuestion[Different] = JudgeQuestion(
    "judge", "different", Different, lambda form: form.different_approach
)


def leaps(walk: Walk) -> list[Mapping[str, Any]]:
    """The finished rounds whose answer counted."""
    return [past for past in walk.state["history"] if past.get("verdict")]


def known(walk: Walk) -> list[str]:
    """What a further answer must differ from: each answer that counted, with the key text of what it met."""
    found: list[str] = [*walk.state["turn"].get("known", ())]
    for past in leaps(walk):
        met = whole.targets(walk.sample)[past.get("target", 0)].response
        found += [met if walk.settings.whole else walk.sample.key_text, past["filling"]]
    firsts: dict[str, str] = {}
    for text in found:
        firsts.setdefault(words.same(text), text)
    return list(firsts.values())


def question(walk: Walk, *, seat: int, unread: str | None = None) -> Question:
    """Ask whether the answer of this round is a different idea."""
    once, sample, filled = asking(walk, unread), walk.sample, walk.state["turn"]["filling"]
    marks = ("“", "”", "；") if sample.language == "zh" else ('"', '"', "; ")
    values: dict[str, Value] = {
        "caption": sample.caption,
        "known": marks[2].join(f"{marks[0]}{quotable(text)}{marks[1]}" for text in known(walk)),
        "filling": quotable(filled),
        "again": once.again,
    }
    if not walk.settings.whole:
        values["response"] = sample.frame
    asked = JUDGING.ask(
        walk.prompt(whole.prompt("different", walk.settings)),
        round=walk.round,
        seat=seat,
        attempt=once.number,
        **values,
    )
    return replace(asked, draw=seat)


def failed(walk: Walk) -> int:
    """How many attempts failed before this round (t of a leap in it)."""
    return len(walk.state["history"]) - len(leaps(walk))


def wanted(walk: Walk, accepted: bool) -> bool:
    """Whether it is still to be asked if an accepted answer is a different idea."""
    return accepted and walk.settings.encore and bool(known(walk))
