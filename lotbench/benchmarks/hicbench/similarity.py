"""Similarity of answers: mean cosines of their embeddings, without forming pairs (Sec. 3.2.1, App. D).

For unit vectors, the cosines of all ordered pairs add up to |sum of the vectors|^2 minus one for each vector, so one
pass over the vectors is enough.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics.intervals import Floats, divided, finite


def matrix(texts: Sequence[str], vectors: Mapping[str, NDArray[np.float32]]) -> Floats | None:
    """Return the embeddings of texts, [texts, dimensions]; None without texts, or if a text has no vector."""
    if not texts or any(text not in vectors for text in texts):
        return None
    return np.stack([vectors[text] for text in texts]).astype(np.float64)


def within(vectors: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    """Return the mean cosine of the pairs inside each group, [groups]; NaN for a group of fewer than two.

    Args:
        vectors: [n, dimensions] of unit length.
        group: [n] index of each vector's group.
        groups: The number of groups.
    """
    n = np.bincount(group, minlength=groups).astype(float)
    selves = np.bincount(group, weights=(vectors**2).sum(axis=1), minlength=groups)
    return divided(_squares(vectors, group, groups) - selves, n * (n - 1))


def across(vectors: Floats, group: NDArray[np.intp]) -> float | None:
    """Return the mean cosine of all pairs of vectors from different groups; None without such a pair. See `within`."""
    groups = int(group.max(initial=-1)) + 1
    n = np.bincount(group, minlength=groups)
    pairs = int(n.sum()) ** 2 - int((n**2).sum())
    if not pairs:
        return None
    total = vectors.sum(axis=0)
    return float((total @ total - _squares(vectors, group, groups).sum()) / pairs)


def every(vectors: Floats) -> float | None:
    """Return the mean cosine of all pairs; None for fewer than two vectors."""
    return finite(within(vectors, np.zeros(len(vectors), dtype=np.intp), 1)[0])


def _squares(vectors: Floats, group: NDArray[np.intp], groups: int) -> Floats:
    """Return the squared length of the sum of each group's vectors, [groups]."""
    sums = np.zeros((groups, vectors.shape[1]))
    np.add.at(sums, group, vectors)
    return np.asarray((sums**2).sum(axis=1))
