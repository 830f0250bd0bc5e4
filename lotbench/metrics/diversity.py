"""How unlike texts are one another: distinct-n of their words, mean distance of their embeddings."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")


def words(text: str) -> list[str]:
    """The words of a text without case; a CJK character is a word."""
    return [found[0] for found in _WORD.finditer(text.casefold())]


def distinct(texts: Sequence[str], n: int) -> float | None:
    """The share of different n-grams among all n-grams of the texts; None if there are none (Li et al. 2016)."""
    grams: list[tuple[str, ...]] = []
    for text in texts:
        found = words(text)
        grams += [tuple(found[at : at + n]) for at in range(len(found) - n + 1)]
    return len(set(grams)) / len(grams) if grams else None


def spread(vectors: Sequence[NDArray[np.float32]]) -> float | None:
    """The mean cosine distance of all pairs of vectors of unit length, 0 to 2; None for fewer than two."""
    n = len(vectors)
    if n < 2:
        return None
    # The squared length of the sum holds every pair twice, and each vector with itself once.
    total = float(np.square(np.sum(np.asarray(vectors, dtype=np.float64), axis=0)).sum())
    return 1 - (total - n) / (n * (n - 1))
