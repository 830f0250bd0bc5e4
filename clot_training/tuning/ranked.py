"""Pairs under a tuned model and its reference: loss, margin, and the share that is ranked right (Rafailov et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lotbench.metrics.proportion import proportion
from lotbench.metrics.proportion import told as share


@dataclass(frozen=True, slots=True)
class Ranked:
    """The log-probabilities of a pair's answers before tuning and after it.

    `sample` is what pairs have in common that go right or wrong together: the cluster of intervals.
    """

    sample: str
    chosen_before: float
    rejected_before: float
    chosen_after: float
    rejected_after: float

    def margin(self, beta: float) -> float:
        """By how much the implicit reward of the chosen answer is above that of the rejected one (Eq. 5)."""
        gained = self.chosen_after - self.chosen_before
        return beta * (gained - (self.rejected_after - self.rejected_before))


def told(pairs: Sequence[Ranked], beta: float) -> dict[str, Any]:
    """The figures of some pairs; nothing of none.

    `margin` and `loss` are means. A model that has learnt nothing has a margin of 0, a loss of log 2 and nothing ranked
    by reward. `likelier` is another question: whether the chosen answer is the likelier one as it stands, the
    reference being asked, too; a shorter answer has an easy game there.
    """
    if not pairs:
        return {}
    margins = [one.margin(beta) for one in pairs]
    likelier = {
        "before": proportion((one.chosen_before > one.rejected_before, one.sample) for one in pairs),
        "after": proportion((one.chosen_after > one.rejected_after, one.sample) for one in pairs),
    }
    right = proportion((margin > 0, one.sample) for margin, one in zip(margins, pairs, strict=True))
    return {
        "pairs": len(pairs),
        "loss": {"before": math.log(2), "after": fmean(map(loss, margins))},
        "margin": {"before": 0.0, "after": fmean(margins)},
        "ranked_right": share(right),
        "likelier": {name: share(one) for name, one in likelier.items()},
        "log_probability": {
            "chosen": {"before": _mean(pairs, "chosen_before"), "after": _mean(pairs, "chosen_after")},
            "rejected": {"before": _mean(pairs, "rejected_before"), "after": _mean(pairs, "rejected_after")},
        },
    }


def loss(margin: float) -> float:
    """-log sigmoid(margin) (Eq. 7), also where exp would overflow."""
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


def _mean(pairs: Sequence[Ranked], name: str) -> float:
    return fmean(getattr(one, name) for one in pairs)
