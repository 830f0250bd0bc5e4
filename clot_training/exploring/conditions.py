"""Weakly associated conditions (Sec. 5.2.2, Eq. 1): which of the keywords drawn for a sample become conditions.

Bounds are computed in integers, since in floats 100 - 70 % of 100 is 29.999...
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from clot_training.config import Explore
from lotbench.calls.embeddings import Vectors


@dataclass(frozen=True, slots=True)
class Condition:
    """A keyword as the condition of a response, or the empty condition.

    Attributes:
        keyword: The index of the keyword in the vocabulary; None for the empty condition.
        position: The rank of the keyword by similarity among those drawn, from 0 for the most similar; None if not ranked.
        similarity: The cosine of keyword and sample; None if not computed.
    """

    keyword: int | None
    position: int | None = None
    similarity: float | None = None


def kept_ranks(n: int, alpha: int, beta: int, bounds: Literal["sentence", "equation"]) -> range:
    """Return which ranks, from 0, are kept of n keywords sorted by descending similarity.

    Args:
        n: The number of drawn keywords.
        alpha: The percentage to drop from the most similar down.
        beta: The percentage to drop from the least similar up.
        bounds: `sentence` drops floor(alpha n / 100) keywords from the most similar down, and floor(beta n / 100) from
            the least similar up. `equation` (Eq. 1) keeps the ranks from floor(alpha n / 100) to
            floor((100 - beta) n / 100) + 1, counted from 1. For the paper's alpha = 25 and beta = 70, these keep 5 and 7
            of 100 keywords.
    """
    if bounds == "sentence":
        return range(n * alpha // 100, n - n * beta // 100)
    first, last = n * alpha // 100, n * (100 - beta) // 100 + 1
    return range(max(first, 1) - 1, min(last, n))


def weak(keywords: Sequence[int], vectors: Vectors, sample: Vectors, settings: Explore) -> list[Condition]:
    """Return the weakly associated conditions of a sample by descending similarity, then the empty condition.

    Args:
        keywords: The indices of the drawn keywords.
        vectors: The vectors of the vocabulary, [vocabulary, dimensions], of unit length.
        sample: The vector of the picture or question, [dimensions], of unit length.
        settings: The settings; `alpha`, `beta` and `bounds` are used.
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
    """Return the first of the drawn keywords as conditions, as many as `weak` keeps, then the empty condition (CLoTv1)."""
    places = kept_ranks(len(keywords), settings.alpha, settings.beta, settings.bounds)
    return [*(Condition(keyword) for keyword in keywords[: len(places)]), Condition(None)]
