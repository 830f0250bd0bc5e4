"""Scores of people in thirds (LoTbench, Fig. 10)."""

from collections.abc import Mapping

import numpy as np

from lotbench.types import Metric

_THIRDS = ("high", "medium", "low")


def thirds(scores: Mapping[str, float]) -> dict[str, Metric]:
    """Return the mean score of the best (`high`), middle (`medium`) and last (`low`) third of people; `scores` is by person.

    The middle third takes the remainder. For fewer than three people, the metrics have no value.
    """
    ranked = sorted(scores.values(), reverse=True)
    n, third = len(ranked), len(ranked) // 3
    if n < 3:
        return {name: Metric(None, n=n, why=f"thirds need 3 people, there are {n}") for name in _THIRDS}
    parts = (ranked[:third], ranked[third : n - third], ranked[n - third :])
    return {
        name: Metric(float(np.mean(part)), n=len(part)) for name, part in zip(_THIRDS, parts, strict=True)
    }
