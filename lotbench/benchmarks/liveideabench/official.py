"""The official keyword list as a data set, with the categories of v2.

A keyword that has no category gets the one whose name is nearest to it, by embeddings that are handed in; how
near it is stays in the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.errors import DataError, at
from lotbench.harness.published import Source

CATEGORIES = tuple(
    """Physics|Biology|Systems engineering|Earth science|Pharmacy|Finance|Accounting|Anthropology|Chemistry|Astronomy
|Political science|Data engineering|Systems science|Pedagogy|Medicine|Agricultural science|Data science|Statistics
|Psychology|Sociology|Mathematics and Logic|Economics""".replace("\n", "").split("|")
)
"""The categories of v2."""

Embed = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]


def published(source: Source) -> list[Item]:
    """The official keywords, from the folder of kws.csv and keyword_classifications.csv.

    A keyword without a category is embedded, and gets the nearest.

    Raises:
        DataError: A file cannot be read or lacks a column, a keyword comes twice, a score is no number.
        UsageError: Embeddings are needed and not installed.
    """
    keywords = "kws.csv"
    lines = [(line, row["Keyword"].strip()) for line, row in source.table({"Keyword"}, keywords)]
    words = {word: line for line, word in reversed(lines)}
    faults = [
        at(source.path / keywords, line) + f": {word!r} comes twice"
        for line, word in lines
        if words[word] != line
    ]
    try:
        known = categories(source)
    except DataError as error:
        raise DataError([*faults, *error.faults]) from None
    if faults:
        raise DataError(faults)
    chosen = [word for _, word in lines if word]
    return items(chosen, known, source.vectors)


def categories(source: Source) -> dict[str, tuple[str, float]]:
    """The category of each keyword in keyword_classifications.csv with how near it is; none without the file.

    Raises:
        DataError: The file cannot be read or lacks a column, or a score is no number.
    """
    name = "keyword_classifications.csv"
    known: dict[str, tuple[str, float]] = {}
    faults = []
    columns = {"keyword", "category", "similarity_score"}
    for line, row in source.table(columns, name) if source.has(name) else ():
        try:
            known[row["keyword"].strip()] = (row["category"].strip(), float(row["similarity_score"]))
        except ValueError as error:
            faults.append(at(source.path / name, line, "similarity_score") + f": {error}")
    if faults:
        raise DataError(faults)
    return known


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
