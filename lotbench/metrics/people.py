"""What people reach, and what a model reaches of it: thirds by score, and efficiency against the median person.

Few people say little of people, so below a number of them there is no efficiency at all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lotbench.metrics.intervals import Floats, bootstrap
from lotbench.types import Metric

FEWEST = 5
"""People below which no model is set in relation to them."""
_THIRDS = ("high", "medium", "low")


def thirds(scores: Mapping[str, float]) -> dict[str, Metric]:
    """The mean score of the best, the middle and the last third of people (high, medium, low).

    Thirds are as equal as can be, the middle one taking what is left over; none under three people.
    """
    ranked = sorted(scores.values(), reverse=True)
    n, third = len(ranked), len(ranked) // 3
    if n < 3:
        return {name: Metric(None, n=n, why=f"thirds need 3 people, there are {n}") for name in _THIRDS}
    parts = (ranked[:third], ranked[third : n - third], ranked[n - third :])
    return {
        name: Metric(float(np.mean(part)), n=len(part)) for name, part in zip(_THIRDS, parts, strict=True)
    }


def normalised(
    model: Mapping[str, float], people: Mapping[str, Mapping[str, float]], seed: int = 0
) -> Metric:
    """A model's mean score over that of the median person, on the samples that all of them have.

    The interval draws samples again; each draw has a median person of its own.

    Args:
        model: Its scores by sample.
        people: Each person's scores by sample.
        seed: Of the interval.
    """
    if len(people) < FEWEST:
        return Metric(None, why=f"needs {FEWEST} people, there are {len(people)}")
    shared = sorted(model.keys() & set.intersection(*(set(values) for values in people.values())))
    if not shared:
        return Metric(None, why="no sample was played by the model and everybody")
    everybody = [model, *people.values()]
    counts = np.array([[values[name] for values in everybody] for name in shared])
    value = float(_over_median(counts.sum(axis=0)))
    if math.isnan(value):
        return Metric(None, n=len(shared), why="the median person scores 0 on these samples")
    low, high = bootstrap(counts, _over_median, seed)
    return Metric(value, low, high, n=len(shared))


def _over_median(sums: Floats) -> Floats:
    """The first column over the median of the others; NaN where that is 0."""
    middle = np.median(sums[..., 1:], axis=-1)
    found: Floats = np.divide(sums[..., 0], middle, out=np.full(middle.shape, np.nan), where=middle != 0)
    return found
