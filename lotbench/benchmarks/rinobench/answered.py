"""Reader of the steps of a trace: the answer to an idea, and what the judge found in it. No other module reads them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.rinobench.claims import Arguments

GROUNDING = ("ground_known", "ground_novelty")
"""The names of the steps that check claims, by kind."""


@dataclass(frozen=True, slots=True)
class Check:
    """The judge's check of one claim.

    Attributes:
        gold: The ids of the gold arguments that make the same point.
        grounded: Whether a related work supports the claim or, for a claim of novelty, the idea contains it.
        works: The ids of the related works that support it.
        reason: The judge's reason.
    """

    gold: Sequence[str]
    grounded: bool
    works: Sequence[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The candidate's answer to an idea, with what the judge found in its justification so far.

    Attributes:
        status: ok, invalid, unparsed, refused or truncated.
        novelty_score: The predicted score, 1 to 5; None if there is none.
        reasoning: The justification; may be empty.
        shortened: The number of abstracts that were cut in the prompt.
        works: The number of related works.
        gold: The arguments of the gold justification; None if they were not extracted.
        claims: The arguments of the candidate's justification; None if they were not extracted.
        checks: The check of each claim, by its id.
        alignments: The scores of the alignment calls, 0..1.
    """

    status: str
    novelty_score: int | None
    reasoning: str
    shortened: int
    works: int
    gold: Arguments | None
    claims: Arguments | None
    checks: Mapping[str, Check]
    alignments: tuple[float, ...]


def read_answered(steps: Sequence[Mapping[str, Any]]) -> Answered | None:
    """Return the last answer of an episode; None if the candidate never replied."""
    last: dict[str, Any] = {}
    alignments = []
    for step in steps:
        name, value = step["step"], step["value"]
        if name == "respond" or value.get("status") == "ok":
            last[name] = value
            alignments += [float(value["alignment"])] if name == "alignment" else []
    if "respond" not in last:
        return None
    checked = [last[name]["claims"] for name in GROUNDING if name in last]
    return Answered(
        **last["respond"],
        gold=last.get("gold_arguments"),
        claims=last.get("claims"),
        checks={claim: Check(**check) for claims in checked for claim, check in claims.items()},
        alignments=tuple(alignments),
    )
