"""Weakly associated conditions (Sec. 5.2.2, Eq. 1): the selection among keywords drawn for a sample.

Bounds are computed in integers, since in floats 100 - 70 % of 100 is 29.999...
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
    """A keyword as the condition of a response, or the empty condition.

    Attributes:
        keyword: The index in the vocabulary; None for the empty condition.
        position: The rank by similarity among the drawn keywords, from 0; None without a ranking.
        similarity: The cosine of keyword and sample.
    """

    keyword: int | None
    position: int | None = None
    similarity: float | None = None


def kept_ranks(n: int, alpha: int, beta: int, bounds: Literal["sentence", "equation"]) -> range:
    """Return the kept ranks, from 0, of n keywords sorted by descending similarity.

    Args:
        n: The number of drawn keywords.
        alpha: The per cent to drop from the top.
        beta: The per cent to drop from the bottom.
        bounds: `sentence` drops floor(alpha n / 100) and floor(beta n / 100): 5 of 100 stay with the paper's 25 and 70.
            `equation` is Eq. 1 with indices from 1, both inclusive: 7 of 100 stay.
    """
    if bounds == "sentence":
        return range(n * alpha // 100, n - n * beta // 100)
    first, last = n * alpha // 100, n * (100 - beta) // 100 + 1
    return range(max(first, 1) - 1, min(last, n))


def draw_indices(size: int, n: int, rng: Random) -> list[int]:
    """Return the indices of at most n keywords, drawn uniformly without replacement."""
    return rng.sample(range(size), min(n, size))


def weak(keywords: Sequence[int], vectors: Vectors, sample: Vectors, settings: Explore) -> list[Condition]:
    """Return the weakly associated conditions of a sample by descending similarity, and the empty one.

    Args:
        keywords: The indices of the drawn keywords.
        vectors: The vectors of the vocabulary, [vocabulary, dimensions], of unit length.
        sample: The vector of the picture or question, [dimensions], of unit length.
        settings: alpha, beta and bounds.
    """
    similarities = vectors[np.asarray(keywords, dtype=np.intp)] @ sample
    order = np.argsort(-similarities, kind="stable")
    places = kept_ranks(len(keywords), settings.alpha, settings.beta, settings.bounds)
    ranked = ((place, order[place]) for place in places)
    return [
        *(Condition(keywords[at], place, float(similarities[at])) for place, at in ranked),
        Condition(None),
    ]


def random(keywords: Sequence[int], settings: Explore) -> list[Condition]:
    """Return as many random conditions as `weak` gives, and the empty one (CLoTv1)."""
    places = kept_ranks(len(keywords), settings.alpha, settings.beta, settings.bounds)
    return [*(Condition(keyword) for keyword in keywords[: len(places)]), Condition(None)]
