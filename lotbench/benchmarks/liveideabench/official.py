"""The official keyword list as a data set, with the categories of v2.

A keyword that has no category gets the one whose name is nearest to it, by embeddings that are handed in; how
near it is stays in the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.sample import Item

CATEGORIES = tuple(
    """Physics|Biology|Systems engineering|Earth science|Pharmacy|Finance|Accounting|Anthropology|Chemistry|Astronomy
|Political science|Data engineering|Systems science|Pedagogy|Medicine|Agricultural science|Data science|Statistics
|Psychology|Sociology|Mathematics and Logic|Economics""".replace("\n", "").split("|")
)
"""The categories of v2."""

Embed = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]


def items(words: Sequence[str], known: Mapping[str, tuple[str, float]], embed: Embed) -> list[Item]:
    """The samples of these keywords, in their order.

    Args:
        words: The keywords, each once.
        known: Categories that are known, each with how near the keyword is to it.
        embed: Vectors of unit length by text; called only if a keyword has no category.
    """
    of = {**known, **nearest([word for word in words if word not in known], embed)}
    return [
        Item(
            id=f"official-{number:04}",
            language="en",
            keyword=word,
            category=of[word][0],
            similarity=round(of[word][1], 6),
        )
        for number, word in enumerate(words, 1)
    ]


def nearest(words: Sequence[str], embed: Embed) -> dict[str, tuple[str, float]]:
    """The nearest category of each word, with the cosine of the two."""
    if not words:
        return {}
    vectors = embed([*words, *CATEGORIES])
    near = np.stack([vectors[word] for word in words]) @ np.stack([vectors[name] for name in CATEGORIES]).T
    best = near.argmax(axis=1)
    return {
        word: (CATEGORIES[one], float(row[one])) for word, one, row in zip(words, best, near, strict=True)
    }
