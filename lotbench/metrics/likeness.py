"""Likeness of the answers of several models to the same samples, with different samples as the baseline.

The unit is the sample. The likeness of two models on a sample is the mean over all pairs of their answers; that of a model
with itself is the mean over pairs of its different answers. The baseline shows how alike any two answers are (in length,
manner and favourite phrases).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics.intervals import Ends, Floats, bounded, estimated, ratio, studentised
from lotbench.types import Metric

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")

Answers: TypeAlias = Mapping[str, Sequence[str]]
"""A model's answers by sample."""
Measure: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]
"""Maps m texts and n other texts to likenesses [m, n]; 1 for equal texts."""


def words(text: str) -> list[str]:
    """Return the case-folded words of a text; each CJK character is a word."""
    return [match[0] for match in _WORD.finditer(text.casefold())]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Likeness of the answers of two models, or of one model with itself.

    Attributes:
        first: The name of the first model; `another` that of the second, which may be the same.
        same: The mean likeness of answers to the same sample, with its interval; its `n` is the number of samples.
        other: The mean likeness of answers to different samples, the baseline; None for fewer than two samples.
    """

    first: str
    second: str
    same: Metric
    other: float | None


def equal(texts: Sequence[str], others: Sequence[str]) -> Floats:
    """Return a matrix [texts, others]: 1.0 for equal texts, else 0.0."""
    return np.array([[float(text == another) for another in others] for text in texts])


def overlap(texts: Sequence[str], others: Sequence[str]) -> Floats:
    """Return a matrix [texts, others]: the Jaccard index of the two texts' sets of words (Jaccard 1912); 0 if both are empty."""
    bags, other_bags = ([_bag(text) for text in each] for each in (texts, others))
    return np.array([[len(a & b) / max(len(a | b), 1) for b in other_bags] for a in bags])


def meaning(vectors: Mapping[str, NDArray[np.float32]]) -> Measure:
    """Return the measure by cosines of embeddings; `vectors` has the embedding of each text, of unit length."""

    def cosine(texts: Sequence[str], others: Sequence[str]) -> Floats:
        rows, columns = (np.array([vectors[text] for text in each], dtype=float) for each in (texts, others))
        return np.asarray(rows @ columns.T)

    return cosine


def alike(runs: Mapping[str, Answers], measure: Measure, ends: Ends = (0.0, 1.0)) -> list[Likeness]:
    """Return the likeness of each pair of models and of each model with itself.

    Args:
        runs: The answers of each model, by its name.
        measure: The measure of likeness.
        ends: The smallest and largest possible value of the measure.
    """
    return [_between(*pair, runs, measure, ends) for pair in combinations_with_replacement(runs, 2)]


def _between(first: str, another: str, runs: Mapping[str, Answers], measure: Measure, ends: Ends) -> Likeness:
    own, others = runs[first], runs[another]
    shared = [name for name in own if name in others and own[name] and others[name]]
    inside = partial(_off_diagonal, measure) if first == another else partial(_mean, measure)
    values = [value for name in shared if (value := inside(own[name], others[name])) is not None]
    # The baseline compares each sample with the next one.
    turned = [_mean(measure, own[a], others[b]) for a, b in zip(shared, shared[1:] + shared[:1], strict=True)]
    return Likeness(first, another, _over(values, ends), float(np.mean(turned)) if len(shared) > 1 else None)


def _over(values: Sequence[float], ends: Ends) -> Metric:
    if not values:
        return Metric(None, why="no sample has two answers to compare")
    counts = np.array([[value, 1.0] for value in values])
    # Shares have Wilson's interval; cosines use a small part of their scale, as marks do.
    return estimated(counts, ratio, ends, "", interval=bounded if ends == (0.0, 1.0) else studentised)


@lru_cache(maxsize=16384)
def _bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _mean(measure: Measure, texts: Sequence[str], others: Sequence[str]) -> float:
    return float(measure(texts, others).mean())


def _off_diagonal(measure: Measure, texts: Sequence[str], _: Sequence[str]) -> float | None:
    """Return the mean likeness over pairs of answers at different places of `texts`; None for fewer than two answers."""
    n = len(texts)
    values = measure(texts, texts)
    return float((values.sum() - np.trace(values)) / (n * (n - 1))) if n > 1 else None
