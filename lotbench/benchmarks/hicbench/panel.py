"""What the judges of a panel add to the variance of IFS: each puts every answer into the classes by its own marks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lotbench.benchmarks.hicbench.ratings import counts, ratings
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.metrics.judge_part import JudgePart, panel
from lotbench.types import Trace


def judge_part(
    traces: Sequence[Trace], settings: Settings, flips: tuple[int, int] | None = None
) -> JudgePart:
    """The judges' part, from the IFS of each answer by each judge alone, whatever rule puts them together."""
    table = counts(ratings(traces), "mean_of_rates", settings.classes)
    answers, judges = np.nonzero(table[..., 0])
    ih, dh = table[answers, judges, 1], table[answers, judges, 2]
    values = settings.w1 * ih + (1 - settings.w1) * (1 - dh - ih)
    return panel(answers.tolist(), judges.tolist(), values.tolist())
