"""Samples as the items of a test: how hard each is for the models that played it, and whether it shows differences between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

MODELS = 8
"""Models below which a correlation over models says nothing of a sample."""


@dataclass(frozen=True, slots=True)
class SampleQuality:
    """One sample.

    Attributes:
        mean: Of the models' scores: high for an easy one.
        discrimination: The correlation over models of their score here with their mean on all other samples (the
            corrected item-total correlation); None where all models, or their means, are alike.
    """

    sample: str
    mean: float
    discrimination: float | None


def qualities(scores: Sequence[Mapping[str, float]]) -> list[SampleQuality]:
    """The quality of each sample that all models have, in their order; scores by model and sample."""
    shared = [name for name in scores[0] if all(name in one for one in scores)] if scores else []
    table = np.array([[one[name] for name in shared] for one in scores]).reshape(len(scores), len(shared))
    rest = (table.sum(axis=1, keepdims=True) - table) / max(len(shared) - 1, 1)
    return [
        SampleQuality(name, float(table[:, at].mean()), _correlation(table[:, at], rest[:, at]))
        for at, name in enumerate(shared)
    ]


def _correlation(one: np.ndarray, other: np.ndarray) -> float | None:
    if np.ptp(one) < 1e-12 or np.ptp(other) < 1e-12:
        return None
    return float(np.corrcoef(one, other)[0, 1])
