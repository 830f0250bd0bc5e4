"""The chance line: what a player gets who knows nothing, because the judge errs.

Where the placebo has played with the same judges, data and settings it is what that run came to; else what is to be
expected from the judge's checked FPR on easy negatives, which is what a placebo says; else it is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.lotbench import leaps
from lotbench.benchmarks.lotbench.score import expected, metrics
from lotbench.harness.judge_validation import JudgeContext
from lotbench.types import JSON

Record = Mapping[str, Any]
UNSEEN = frozenset({
    "arm", "ask", "clues", "clue_interval", "clue_reveal", "framework", "votes", "oracle_sees", "oracle_says",
    "conversation", "frame_ladder",
})  # fmt: skip
"""Settings that change nothing for a candidate that reads nothing."""
NAMES = (
    "creativity_score",
    "creativity_score_cap",
    "creativity_score_unconfirmed",
    "solve_rate",
    "mean_rounds",
)


@dataclass(frozen=True, slots=True)
class ChanceLine:
    """What the placebo gets in each metric (None: not known), where that comes from, and the records behind it.

    `played` is the record of this run, if it is the placebo's own and has ended.
    """

    values: Mapping[str, float | None]
    said: str
    used: tuple[Record, ...] = ()
    played: Record | None = None


def chance_line(
    inquiry: JudgeContext, judge: Mapping[str, JSON] | None, check: Record | None, alone: Record | None
) -> ChanceLine:
    """The chance line of a run.

    Args:
        inquiry: What is known of the run.
        judge: What names the check of its judges; None if it is not known who judged.
        check: That check.
        alone: The check of the first judge alone.
    """
    if judge is not None:
        shape = {k: v for k, v in inquiry.settings.model_dump(mode="json").items() if k not in UNSEEN}
        key: dict[str, JSON] = {**judge, "role": "placebo", "game": shape}
        mine = _own(inquiry, key)
        known = [*([mine] if mine else []), *(one for one in inquiry.records if one["key"] == key)]
        if known:
            # Of several, the one of most samples.
            best = max(known, key=lambda one: int(one["n"]))
            return _played(best, best if best is mine else None)
    if check is not None and (found := _expected(inquiry, check, alone)) is not None:
        return found
    names = (*NAMES, *(leaps.NAMES if inquiry.settings.encore else ()))
    return ChanceLine(
        dict.fromkeys(names), "Chance line (placebo): unknown: check the judge, or play --model placebo."
    )


def _own(inquiry: JudgeContext, key: Mapping[str, JSON]) -> dict[str, Any] | None:
    """The record of a placebo's own run that has come to its end."""
    if not inquiry.placebo or not inquiry.ended:
        return None
    found = metrics(inquiry.traces, inquiry.settings)
    headline = found["creativity_score"]
    if headline.value is None:
        return None
    scores = {name: [one.value, one.low, one.high] for name, one in found.items()}
    return {"schema": 1, "key": key, "run": inquiry.run, "n": headline.n, "scores": scores}


def _played(record: Record, mine: Record | None) -> ChanceLine:
    scores = record["scores"]
    said = (
        f"Chance line (placebo): played, {record['run']}, {record['n']} samples, same judges, data and settings: "
        f"{_shown(*scores['creativity_score'])}."
    )
    return ChanceLine({name: values[0] for name, values in scores.items()}, said, (record,), mine)


def _expected(inquiry: JudgeContext, check: Record, alone: Record | None) -> ChanceLine | None:
    """What follows from the FPR on easy negatives; None if the check has none."""
    fpr, first = _easy(check), _easy(alone)
    if fpr is None:
        return None
    made = {
        end: None if fpr[end] is None else expected(fpr[end], first[end] if first else None, inquiry.settings)
        for end in ("value", "low", "high")
    }
    values = made["value"]
    if values is None:
        return None
    low, high = (ends["creativity_score"] if (ends := made[end]) else None for end in ("low", "high"))
    said = (
        "Chance line (placebo): expected, not played, from the judge's checked FPR on easy negatives, "
        f"{_shown(fpr['value'], fpr['low'], fpr['high'])} (n = {fpr['n']}): "
        f"{_shown(values['creativity_score'], low, high)}."
    )
    return ChanceLine(values, said, (check, *([alone] if alone else [])))


def _easy(check: Record | None) -> Mapping[str, Any] | None:
    rate = (check or {}).get("groups", {}).get("easy", {}).get("fpr")
    return rate if rate and rate["value"] is not None else None


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "none"
    ends = "no interval" if low is None or high is None else f"95 %: {low:.3f} to {high:.3f}"
    return f"{value:.3f} ({ends})"
