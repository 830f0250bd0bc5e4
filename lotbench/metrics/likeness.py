"""How alike the answers of several models to the same samples are, beside how alike answers are that share no sample.

The unit is the sample: the likeness of two models on it is the mean over all pairs of an answer of one and an answer
of the other, that of a model with itself the mean over pairs of its own. Answers to different samples tell what is
common to all answers whatever was asked (length, manner, a favourite phrase).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics.intervals import Floats, bounded, studentised
from lotbench.types import Metric

_WORD = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’-][^\W_]+)*")

Answers: TypeAlias = Mapping[str, Sequence[str]]
"""The answers of a model, by sample."""
Measure: TypeAlias = Callable[[Sequence[str], Sequence[str]], Floats]
"""Maps m texts and n others to likenesses [m, n], 1 for the same."""


def words(text: str) -> list[str]:
    """Return the words of a text without case; a CJK character is a word."""
    return [match[0] for match in _WORD.finditer(text.casefold())]


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike the answers of two models are, or of one with itself.

    Attributes:
        same: On the same sample, with its interval over samples; n counts samples.
        other: On different samples; None for fewer than two.
    """

    one: str
    another: str
    same: Metric
    other: float | None


def equal(texts: Sequence[str], others: Sequence[str]) -> Floats:
    """Return 1 where two texts are the same."""
    return np.array([[float(text == another) for another in others] for text in texts])


def overlap(texts: Sequence[str], others: Sequence[str]) -> Floats:
    """Return the share of two texts' different words that both have (Jaccard 1912); 0 where neither has any."""
    bags, other_bags = ([_bag(text) for text in each] for each in (texts, others))
    return np.array([[len(a & b) / max(len(a | b), 1) for b in other_bags] for a in bags])


def meaning(vectors: Mapping[str, NDArray[np.float32]]) -> Measure:
    """Return the cosine of two texts' embeddings, by their vectors of unit length."""

    def cosine(texts: Sequence[str], others: Sequence[str]) -> Floats:
        rows, columns = (np.array([vectors[text] for text in each], dtype=float) for each in (texts, others))
        return np.asarray(rows @ columns.T)

    return cosine


def alike(
    runs: Mapping[str, Answers], measure: Measure, ends: tuple[float, float] = (0.0, 1.0)
) -> list[Likeness]:
    """Return every pair of models, and each with itself, in their order; `ends` bound the measure."""
    return [
        _between(first, another, runs, measure, ends)
        for first, another in combinations_with_replacement(runs, 2)
    ]


def _between(
    first: str, another: str, runs: Mapping[str, Answers], measure: Measure, ends: tuple[float, float]
) -> Likeness:
    answers, other_answers = runs[first], runs[another]
    shared = [name for name in answers if name in other_answers and answers[name] and other_answers[name]]
    inside = partial(_off_diagonal, measure) if first == another else partial(_mean, measure)
    values = [value for name in shared if (value := inside(answers[name], other_answers[name])) is not None]
    # Each sample's answers beside those to the next: as many pairs of samples as there are samples.
    turned = [
        _mean(measure, answers[a], other_answers[b])
        for a, b in zip(shared, shared[1:] + shared[:1], strict=True)
    ]
    return Likeness(first, another, _over(values, ends), float(np.mean(turned)) if len(shared) > 1 else None)


def _over(values: Sequence[float], ends: tuple[float, float]) -> Metric:
    if not values:
        return Metric(None, why="no sample has two answers to compare")
    counts = np.array([[value, 1.0] for value in values])
    # A share is Wilson's; cosines use a small part of their scale, as marks do.
    interval = bounded if ends == (0.0, 1.0) else studentised
    low, high = interval(counts, lambda sums: np.asarray(sums[..., 0] / sums[..., 1]), ends)
    return Metric(float(counts[:, 0].mean()), low, high, n=len(values))


@lru_cache(maxsize=16384)
def _bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _mean(measure: Measure, texts: Sequence[str], others: Sequence[str]) -> float:
    return float(measure(texts, others).mean())


def _off_diagonal(measure: Measure, texts: Sequence[str], _: Sequence[str]) -> float | None:
    """Return the mean over pairs of different answers; None for fewer than two."""
    n = len(texts)
    values = measure(texts, texts)
    return float((values.sum() - np.trace(values)) / (n * (n - 1))) if n > 1 else None


def common(runs: Mapping[str, Answers]) -> list[tuple[str, str, int, int]]:
    """Return sample, answer, models that gave it and models that answered, for each answer of more than one model.

    The answers that the most models gave come first.
    """
    rows = []
    for sample in dict.fromkeys(name for answers in runs.values() for name in answers):
        answer_sets = [set(answers[sample]) for answers in runs.values() if answers.get(sample)]
        counts = Counter(text for texts in answer_sets for text in texts)
        rows += [(sample, text, count, len(answer_sets)) for text, count in counts.items() if count > 1]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def stock(answers: Answers) -> list[tuple[str, int]]:
    """Return the answers that were given to more than one sample, with the number of samples; the most frequent first."""
    counts = Counter(text for texts in answers.values() for text in set(texts))
    return sorted(((text, n) for text, n in counts.items() if n > 1), key=lambda row: (-row[1], row[0]))
