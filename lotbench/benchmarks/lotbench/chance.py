"""The chance line: the scores of wrong guesses, which come from the judge's errors.

It is computed from the judge's checked FPR on easy negatives; it is unknown for a judge that was never checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench import leaps
from lotbench.benchmarks.lotbench.score import expected
from lotbench.benchmarks.lotbench.settings import Settings

Record = Mapping[str, Any]
NAMES = (
    "creativity_score",
    "creativity_score_cap",
    "creativity_score_unconfirmed",
    "solve_rate",
    "mean_rounds",
)


def chance_line(
    settings: Settings, check: Record | None, alone: Record | None
) -> tuple[Mapping[str, float | None], str]:
    """Return the expected value of each metric for wrong guesses, None where unknown, and a sentence on its source.

    Args:
        settings: The settings of the run.
        check: The check of the judges who decide.
        alone: The check of the first judge alone.
    """
    fpr, first = _easy(check), _easy(alone)
    if fpr is None:
        names = (*NAMES, *(leaps.NAMES if settings.encore else ()))
        return dict.fromkeys(names), "Chance line: not known; check the judge with lotbench judge-check."
    values = expected(fpr["value"], first["value"] if first else None, settings)
    low, high = (
        None if fpr[end] is None else expected(fpr[end], None, settings)["creativity_score"]
        for end in ("low", "high")
    )
    sentence = (
        "Chance line: expected from the judge's checked FPR on easy negatives, "
        f"{_with_interval(fpr['value'], fpr['low'], fpr['high'])} (n = {fpr['n']}): "
        f"{_with_interval(values['creativity_score'], low, high)}."
    )
    return values, sentence


def _easy(check: Record | None) -> Mapping[str, Any] | None:
    rate = (check or {}).get("groups", {}).get("easy", {}).get("fpr")
    return rate if rate and rate["value"] is not None else None


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    ends = "no interval" if low is None or high is None else f"95 %: {low:.3f} to {high:.3f}"
    return f"{value:.3f} ({ends})"
