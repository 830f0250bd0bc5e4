"""Where the standard error of a metric comes from: its samples, the repeats of a sample, and what judged them.

A walk's value is a mean, what its sample adds, what the repeat adds, and what the judges add to all of them (a random
effects model, Searle, Casella and McCulloch 1992). The mean of n samples of r repeats has then a variance of
sample / n + repeat / (n r) + judge / j. What is no mean is taken apart into pseudo-values, of which it is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lotbench.metrics.effects import severities
from lotbench.metrics.headline import Headline, Weighted, by_repeat
from lotbench.metrics.intervals import Floats
from lotbench.types import Trace

Cells: TypeAlias = Mapping[str, Sequence[float]]
"""The values of each sample's repeats."""
_WEIGHTS = 4_000_000
"""Weights that are given to a metric at once."""


@dataclass(frozen=True, slots=True)
class Components:
    """The variance of one value by its source, and what the run has of each.

    Attributes:
        sample: Between samples.
        repeat: Between the repeats of a sample, the judges' wavering on them included; 0 where `split` is False.
        samples: That the run has; `repeats` of a sample, their harmonic mean.
        judge: Of one judgement (a label, a judge); `judgements` are what the run has of them.
        split: Whether repeats could be told from samples; if no sample has two, `sample` holds both.
    """

    sample: float
    repeat: float
    samples: int
    repeats: float
    judge: float = 0.0
    judgements: int = 0
    split: bool = True

    def parts(
        self, samples: int | None = None, repeats: float | None = None, judgements: int | None = None
    ) -> tuple[float, float, float]:
        """What samples, repeats and judgements add to the squared standard error, with so many of each."""
        n = self.samples if samples is None else samples
        r = self.repeats if repeats is None else repeats
        j = self.judgements if judgements is None else judgements
        return self.sample / n, self.repeat / (n * r), self.judge / j if self.judge else 0.0

    def error(
        self, samples: int | None = None, repeats: float | None = None, judgements: int | None = None
    ) -> float:
        """The standard error with so many samples, repeats of each and judgements; by default the run's own."""
        return math.sqrt(sum(self.parts(samples, repeats, judgements)))


def components(cells: Cells) -> Components | None:
    """The components of the mean over samples; None for fewer than two samples.

    What repeats add is never put at more than all there is, so that `error()` is the standard error that the
    samples show.
    """
    found = _Within.of([values for values in cells.values() if values])
    return None if found is None else _apart(found.means, found.within, found.repeats)


def of_difference(one: Cells, other: Cells) -> Components | None:
    """The components of the difference of two means, paired by sample; None for fewer than two shared samples.

    Both have the same samples, so what is common to the two models on a sample is in none of the components.
    """
    shared = [name for name in one if name in other and one[name] and other[name]]
    mine, theirs = (_Within.of([run[name] for name in shared]) for run in (one, other))
    if mine is None or theirs is None:
        return None
    means = mine.means - theirs.means
    if mine.within is None or theirs.within is None:
        return _apart(means, None, mine.repeats)
    within, part = mine.within + theirs.within, mine.within / mine.repeats + theirs.within / theirs.repeats
    return _apart(means, within, round(within / part, 12) if part else mine.repeats)


def judge_variance(items: Sequence[int], raters: Sequence[int], scores: Sequence[float]) -> float | None:
    """The variance between judges who scored the same items, without what their errors let them differ by.

    Args:
        items: What each score is of.
        raters: Who gave each score, from 0 without gaps.
        scores: The scores.

    Returns:
        None where the judges cannot be told apart, or nothing is left to know their errors from.
    """
    effects = severities(items, raters, scores)
    names = np.unique(np.asarray(items), return_inverse=True)[1]
    if effects is None or (left := len(scores) - int(names.max()) - len(effects)) < 1:
        return None
    sizes, judge = np.bincount(names), np.asarray(raters)
    residual = np.asarray(scores, dtype=float) - effects[judge]
    residual -= (np.bincount(names, residual) / sizes)[names]
    design = np.eye(len(effects))[judge]
    centred = design - np.stack([np.bincount(names, column) / sizes for column in design.T], axis=1)[names]
    # One effect follows from the others, so that the inverse is a pseudo-inverse.
    inverse = np.linalg.pinv(centred.T @ centred, rcond=1e-9, hermitian=True)
    noise = float(residual @ residual) / left * float(np.trace(inverse))
    between = float(effects.var(ddof=1)) - noise / (len(effects) - 1)
    return max(0.0, between)


def of_walks(
    headline: Callable[[Sequence[Trace], Any], Headline], traces: Sequence[Trace], settings: Any
) -> dict[str, list[float]]:
    """What each walk adds to a run's headline metric, by sample: the values of which it is the mean.

    Of a metric that is no mean they are the jackknife's pseudo-values, walk by walk (Quenouille 1956). Empty where
    the metric rests on a single walk, so that there is nothing to take apart.
    """
    parts = [headline(walks, settings) for walks in by_repeat(traces)]
    names = [name for part in parts for name in part.records]
    records = [record for part in parts for record in part.records.values()]
    if not records:
        return {}
    weighted = parts[0].weighted
    values = (
        np.asarray(records, dtype=float)
        if weighted is None
        else pseudo_values(weighted(records), len(records))
    )
    if not np.isfinite(values).all():
        return {}
    found: dict[str, list[float]] = {}
    for name, value in zip(names, values, strict=True):
        found.setdefault(name, []).append(float(value))
    return found


def pseudo_values(metric: Weighted, n: int) -> Floats:
    """The jackknife's pseudo-values of a metric of n records, [n]; NaN where it does not exist without one."""
    value, step = float(metric(np.ones((1, n)))[0]), max(1, _WEIGHTS // n)
    without = []
    for at in range(0, n, step):
        weights = np.ones((min(step, n - at), n))
        weights[np.arange(len(weights)), at + np.arange(len(weights))] = 0.0
        # Of one record alone nothing is left, and 0 / 0 is no value.
        with np.errstate(invalid="ignore", divide="ignore"):
            without.append(metric(weights))
    return np.asarray(n * value - (n - 1) * np.concatenate(without))


@dataclass(frozen=True, slots=True)
class _Within:
    """Repeats of samples: the mean of each, their variance within samples (None: no sample has two), and how many."""

    means: Floats
    within: float | None
    repeats: float

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> _Within | None:
        """Of the values of each sample; None for fewer than two samples."""
        if len(rows) < 2:
            return None
        sizes, means = np.array([len(row) for row in rows]), np.array([float(np.mean(row)) for row in rows])
        squares = sum(
            float(((np.asarray(row) - mean) ** 2).sum()) for row, mean in zip(rows, means, strict=True)
        )
        free = int(sizes.sum()) - len(rows)
        return cls(means, squares / free if free else None, round(float(len(rows) / (1 / sizes).sum()), 12))


def _apart(means: Floats, within: float | None, repeats: float) -> Components:
    """Components from the means of samples, the variance within samples, and how many repeats these have."""
    whole, n = float(means.var(ddof=1)), len(means)
    if within is None:
        return Components(whole, 0.0, n, repeats, split=False)
    repeat = min(within, whole * repeats)
    return Components(whole - repeat / repeats, repeat, n, repeats)
