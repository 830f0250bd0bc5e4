"""Reader of an episode's steps: the answer to an idea and what the judge found in it. All steps are read here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.rinobench.claims import Arguments

GROUNDING = ("ground", "ground_known", "ground_novelty")
"""The steps that check claims: both kinds together, or each by itself."""


@dataclass(frozen=True, slots=True)
class Check:
    """The judge's check of one claim: the gold arguments that it matches, and what grounds it."""

    gold: Sequence[str]
    grounded: bool
    works: Sequence[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer, with what the judge found in its justification so far.

    Attributes:
        status: ok, invalid, unparsed, refused or truncated.
        shortened: How many abstracts of its related works were cut.
        gold: The gold's arguments by kind and id. None if they were not extracted; `claims` likewise.
        checks: The check of each claim, by its id.
        alignments: The scores of the k calls, 0..1.
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
