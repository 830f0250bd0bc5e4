"""The official keyword list as a data set: kws.csv, and keyword_classifications.csv for the categories.

A keyword that has no category gets the one whose name is nearest to it, by embeddings that are handed in; how
near it is stays in the sample.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lotbench.benchmarks.liveideabench.sample import Item
from lotbench.errors import DataError, at

KEYWORDS, CLASSES = "kws.csv", "keyword_classifications.csv"
CATEGORIES = tuple(
    """Physics|Biology|Systems engineering|Earth science|Pharmacy|Finance|Accounting|Anthropology|Chemistry|Astronomy
|Political science|Data engineering|Systems science|Pedagogy|Medicine|Agricultural science|Data science|Statistics
|Psychology|Sociology|Mathematics and Logic|Economics""".replace("\n", "").split("|")
)
"""The categories of v2."""

Embed = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]


def items(keywords: str, classes: str, embed: Embed, folder: Path) -> list[Item]:
    """The samples, in the order of kws.csv; `classes` is "" where there is no such file.

    Args:
        keywords: The text of kws.csv.
        classes: The text of keyword_classifications.csv.
        embed: Vectors of unit length by text; called only if a keyword has no category.
        folder: Where the files are, for what is said of their faults.

    Raises:
        DataError: A column is missing, or a keyword comes twice.
    """
    words = [row["Keyword"].strip() for row in _rows(keywords, folder / KEYWORDS, ("Keyword",))]
    words = [word for word in words if word]
    if twice := sorted({word for word in words if words.count(word) > 1}):
        raise DataError([at(folder / KEYWORDS) + f": {word!r} comes twice" for word in twice])
    columns = ("keyword", "category", "similarity_score")
    table = _rows(classes, folder / CLASSES, columns) if classes else []
    known = {
        row["keyword"].strip(): (row["category"].strip(), float(row["similarity_score"]))
        for row in table
        if row["category"].strip()
    }
    known |= nearest([word for word in words if word not in known], embed)
    return [
        Item(
            id=f"official-{number:04}",
            language="en",
            keyword=word,
            category=known[word][0],
            similarity=round(known[word][1], 6),
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


def _rows(text: str, path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    if missing := [name for name in columns if name not in (table.fieldnames or ())]:
        raise DataError([at(path, 1) + f": no column {', '.join(missing)}"])
    return [{name: row[name] or "" for name in columns} for row in table]
