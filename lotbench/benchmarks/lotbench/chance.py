"""The chance line: the scores that wrong guesses alone would get through the judge's errors.

It is computed from the judge's false positive rate (FPR) on the easy negatives of the judge set. It is unknown for a
judge that was never checked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from lotbench.benchmarks.lotbench.score import constant, creativity, expected
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.metrics.intervals import Floats
from lotbench.report.markdown import interval

Record = Mapping[str, Any]
CHANCE = (
    "Chance line (the score of a player who only guesses wrong, since the judge accepts some wrong guesses)"
)
"""What the chance line is."""


def chance_line(
    settings: Settings, check: Record | None, alone: Record | None
) -> tuple[Mapping[str, float | None], str]:
    """Return the expected value of each metric if all guesses are wrong, and a sentence on how it was computed.

    All values are None if the FPR of the deciding judges is unknown.

    Args:
        settings: The settings of the run.
        check: The stored check of the judges who decide together; None if they were not checked.
        alone: The stored check of the first judge alone; None if it was not checked.
    """
    fpr, first = _easy(check), _easy(alone)
    if fpr is None:
        return dict.fromkeys(expected(0.0, None, settings)), f"{CHANCE}: not known before a judge-check."
    values = expected(fpr["value"], first["value"] if first else None, settings)
    low, high = (
        None if fpr[end] is None else expected(fpr[end], None, settings)["creativity_score"]
        for end in ("low", "high")
    )
    sentence = (
        f"{CHANCE}: expected from the judge's checked FPR on easy negatives, "
        f"{interval(fpr['value'], fpr['low'], fpr['high'])} (n = {fpr['n']}): "
        f"{interval(values['creativity_score'] or 0.0, low, high)}."
    )
    return values, sentence


def chains_sd(
    accepted: Sequence[Sequence[Sequence[float]]], score: float, n: int, settings: Settings
) -> float:
    """Return the standard deviation of the score of n samples that comes from the choice of the causal chains.

    The model assumes a player who guesses right with the same probability in every round. The probability is set so
    that the expected score is `score`.

    Args:
        accepted: [samples, chains, 2]; the shares of right and of wrong guesses that the judge accepts with a chain.
        score: S_c of the run.
        n: The number of samples of the run.
        settings: The settings of the run.
    """
    right, wrong = np.moveaxis(np.array(accepted, dtype=float), -1, 0)

    def scores(knows: float) -> Floats:
        return creativity(settings)(constant(knows * right + (1 - knows) * wrong, settings.max_rounds))

    least, most = (float(scores(end).mean()) for end in (0.0, 1.0))
    knows = float(score >= most)
    if least < score < most:
        knows = float(scipy.optimize.brentq(lambda at: float(scores(at).mean()) - score, 0.0, 1.0))
    return float(np.sqrt(scores(knows).var(axis=1, ddof=1).mean() / n))


def _easy(check: Record | None) -> Mapping[str, Any] | None:
    rate = (check or {}).get("groups", {}).get("easy", {}).get("fpr")
    return rate if rate and rate["value"] is not None else None
