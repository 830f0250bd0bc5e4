"""An answer to an idea as the steps of its task tell of it; the one place where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.rinobench.claims import Arguments

GROUNDING = ("ground", "ground_known", "ground_novelty")
"""The steps in which claims are checked: both kinds together, or each by itself."""


@dataclass(frozen=True, slots=True)
class Check:
    """What the judge found of one claim: the gold arguments that it matches, and what grounds it."""

    gold: Sequence[str]
    grounded: bool
    works: Sequence[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer with what the judge found in its justification, as far as it came.

    Attributes:
        status: ok, invalid, unparsed, refused or truncated.
        shortened: How many abstracts of its related works were cut.
        gold: The gold's arguments by kind and id; None if they were not found out, as with `claims`.
        checks: By the id of the claim.
        alignments: Those of the k calls, 0..1.
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
