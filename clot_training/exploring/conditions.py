"""Weakly associated conditions (Sec. 5.2.2, Eq. 1): which of the keywords drawn for a sample are kept.

Pure: vectors in, places out. Bounds are in whole numbers, for in floats 100 - 70 % of 100 is 29.999...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from clot_training.config import Explore

Vectors: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Condition:
    """A keyword that a response is asked for with, or the empty condition.

    Attributes:
        keyword: Its number in the vocabulary; None is the empty condition.
        position: Its place among those drawn, the most similar at 0; None where nothing was ranked.
        similarity: Cosine of the keyword and the sample.
    """

    keyword: int | None
    position: int | None = None
    similarity: float | None = None


def kept(n: int, alpha: int, beta: int, bounds: Literal["sentence", "equation"]) -> range:
    """Return the places, from 0, that stay when n keywords are sorted from the most similar down.

    Args:
        n: Keywords drawn.
        alpha: Per cent dropped from the top.
        beta: Per cent dropped from the bottom.
        bounds: `sentence` drops floor(alpha n / 100) and floor(beta n / 100): 5 of 100 stay with the paper's
            25 and 70. `equation` is Eq. 1 with its indices, from 1 and both inclusive: 7 of 100.
    """
    if bounds == "sentence":
        return range(n * alpha // 100, n - n * beta // 100)
    first, last = n * alpha // 100, n * (100 - beta) // 100 + 1
    return range(max(first, 1) - 1, min(last, n))


def drawn(size: int, n: int, rng: Random) -> list[int]:
    """Return numbers of n keywords, each as likely as any other and none twice; of all, if there are no more."""
    return rng.sample(range(size), min(n, size))


def weak(keywords: Sequence[int], vectors: Vectors, sample: Vectors, settings: Explore) -> list[Condition]:
    """Return the weakly associated conditions of a sample, the most similar first, and the empty one.

    Args:
        keywords: The numbers of the keywords drawn.
        vectors: The vocabulary's vectors, (vocabulary, dimensions), of unit length.
        sample: The vector of the picture or the question, (dimensions,), of unit length.
        settings: alpha, beta and bounds.
    """
    similarities = vectors[np.asarray(keywords, dtype=np.intp)] @ sample
    order = np.argsort(-similarities, kind="stable")
    places = kept(len(keywords), settings.alpha, settings.beta, settings.bounds)
    weak_conditions = [
        Condition(keywords[order[place]], place, float(similarities[order[place]])) for place in places
    ]
    return [*weak_conditions, Condition(None)]


def random(keywords: Sequence[int], settings: Explore) -> list[Condition]:
    """Draw as many conditions as `weak` gives, related to the sample or not: CLoTv1."""
    places = kept(len(keywords), settings.alpha, settings.beta, settings.bounds)
    return [*(Condition(keyword) for keyword in keywords[: len(places)]), Condition(None)]
