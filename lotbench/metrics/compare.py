"""Whether one model is better than another on the samples that both have: differences, tests, ties, plans.

Everything is paired by sample, since samples differ far more than models do. The test flips the signs of
the differences and assumes nothing of their shape; power, which must be known before there are data, takes
them for normal.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize, stats

from lotbench.metrics.intervals import Floats, bootstrap
from lotbench.section import Metric

ALPHA, POWER = 0.05, 0.8
DRAWS = 10_000
"""Sign patterns that are drawn; up to 13 samples all 2**n of them are gone through instead."""
FEWEST_PEOPLE = 5
"""People below which no model is set in relation to them."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one model is ahead of another, on the samples that both have a value for.

    Attributes:
        mean: Of the differences; None without a shared sample. `low` and `high` are its 95 % interval.
        p: Of the two-sided sign-flip test.
        detectable: The mean difference that n samples would show with a power of 80 % at the 5 % level.
        needed: Samples with which the difference that was seen would be shown so; None if it is 0.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    detectable: float | None
    needed: int | None


@dataclass(frozen=True, slots=True)
class Flipped:
    """What came of a sign-flip test.

    Attributes:
        mean: Of the differences; None for none.
        error: The standard error of the mean, from the differences' unbiased variance; None below two.
        p: Two-sided; None below two differences.
        n: The number of differences.
    """

    mean: float | None
    error: float | None
    p: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation coefficient over n pairs with its 95 % interval; None where n is too small for it."""

    kind: Literal["Pearson", "Spearman"]
    n: int
    value: float | None
    low: float | None
    high: float | None
    p: float | None


def difference(one: Mapping[str, float], other: Mapping[str, float], seed: int = 0) -> Difference:
    """How far `one` is ahead of `other`; both by sample."""
    shared = sorted(one.keys() & other.keys())
    found = np.array([one[name] - other[name] for name in shared])
    if not shared:
        return Difference(0, None, None, None, None, None, None)
    counts = np.column_stack([found, np.ones(len(found))])
    low, high = bootstrap(counts, lambda sums: sums[..., 0] / sums[..., 1], seed)
    mean, sd = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else math.nan
    varies = math.isfinite(sd) and sd > 0
    return Difference(
        n=len(found),
        mean=mean,
        low=low,
        high=high,
        p=sign_flip(found, seed),
        detectable=sd * detectable(len(found)) if varies else None,
        needed=needed(mean / sd) if varies and mean else None,
    )


def sign_flip(differences: Floats, seed: int = 0) -> float:
    """The two-sided p of `sign_flips`, which is 1 where there is nothing to flip.

    Raises:
        ValueError: There are no differences.
    """
    if not len(differences):
        raise ValueError("no differences to test")
    p = sign_flips(differences, DRAWS, seed).p if differences.any() else None
    return 1.0 if p is None else p


def sign_flips(differences: Floats, flips: int = DRAWS, seed: int = 0) -> Flipped:
    """Whether paired differences have a mean other than 0: the sign-flip test on their mean (Fisher 1935).

    Args:
        differences: [n], one a pair.
        flips: Random assignments of signs, the one that was seen among them, so that p is never 0; where
            there are no more than so many, all 2^n are taken.
        seed: Of the random ones.
    """
    n = len(differences)
    if n < 2:
        return Flipped(float(differences[0]) if n else None, None, None, n)
    found = stats.permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=flips,
        batch=max(1, 4_000_000 // n),
        rng=np.random.default_rng(seed % 2**63),
    )
    error = float(np.std(differences, ddof=1)) / math.sqrt(n)
    return Flipped(float(np.mean(differences)), error, float(found.pvalue), n)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values corrected for being several, after Holm (1979); in the order in which they came."""
    made, before = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[at]))
        made[at] = before
    return made


def power(n: int, effect: float) -> float:
    """The chance that a paired t test on n samples finds an effect, in standard deviations of the differences."""
    if n < 2:
        return 0.0
    limit, shift = stats.t.ppf(1 - ALPHA / 2, n - 1), abs(effect) * math.sqrt(n)
    right, wrong = stats.nct.sf(limit, n - 1, shift), stats.nct.cdf(-limit, n - 1, shift)
    # Far from it, the tail on the wrong side is too small to be had.
    return float(right) + (float(wrong) if math.isfinite(wrong) else 0.0)


def detectable(n: int) -> float:
    """The smallest effect, in standard deviations of the differences, that n samples show.

    Raises:
        ValueError: Fewer than two samples show nothing.
    """
    if n < 2:
        raise ValueError(f"nothing can be shown with {n} samples")
    least = _normal() / math.sqrt(n)
    most = least
    while power(n, most) < POWER:
        most *= 2
    return float(optimize.brentq(lambda effect: power(n, effect) - POWER, least / 2, most))


def needed(effect: float) -> int:
    """Samples that show an effect, in standard deviations of the differences.

    Raises:
        ValueError: No number of samples shows an effect of 0.
    """
    if not effect:
        raise ValueError("an effect of 0 cannot be shown")
    # The normal's answer is short of the t distribution's by two or three.
    n = max(2, math.ceil((_normal() / effect) ** 2))
    while power(n, effect) < POWER:
        n += 1
    return n


def ties(order: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """Letters of a ranking: two that share a letter were not told apart.

    Args:
        order: Names, best first.
        apart: The pairs that were told apart, in either order.

    Returns:
        The letters of each name. A letter stands for neighbours in the order none of whom are told apart.
    """

    def alike(first: int, last: int) -> bool:
        pairs = ((order[i], order[j]) for i in range(first, last + 1) for j in range(i + 1, last + 1))
        return not any(pair in apart or pair[::-1] in apart for pair in pairs)

    letters, reach = {name: "" for name in order}, -1
    group = 0
    for first in range(len(order)):
        last = max(at for at in range(first, len(order)) if alike(first, at))
        if last > reach:
            for name in order[first : last + 1]:
                letters[name] += _letter(group)
            reach, group = last, group + 1
    return letters


def pearson(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Pearson's r with Fisher's interval (n > 3)."""
    if not _varied(x, y):
        return Correlation("Pearson", len(x), None, None, None, None)
    found = stats.pearsonr(x, y)
    ends = found.confidence_interval(0.95) if len(x) > 3 else (None, None)
    low, high = (None if end is None or math.isnan(end) else float(end) for end in ends)
    return Correlation("Pearson", len(x), float(found.statistic), low, high, float(found.pvalue))


def spearman(x: Sequence[float], y: Sequence[float]) -> Correlation:
    """Spearman's rho with the interval of Bonett and Wright (2000), (1 + rho^2 / 2) / (n - 3) after Fisher's z."""
    if not _varied(x, y):
        return Correlation("Spearman", len(x), None, None, None, None)
    found = stats.spearmanr(x, y)
    rho = float(found.statistic)
    low = high = None
    if len(x) > 3 and abs(rho) < 1:
        half = float(stats.norm.ppf(0.975)) * math.sqrt((1 + rho**2 / 2) / (len(x) - 3))
        low, high = math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)
    return Correlation("Spearman", len(x), rho, low, high, float(found.pvalue))


def thirds(scores: Mapping[str, float]) -> dict[str, Metric]:
    """The mean score of the best, the middle and the last third of people (high, medium, low).

    Thirds are as equal as can be, the middle one taking what is left over; none under three people.
    """
    ranked = sorted(scores.values(), reverse=True)
    n, third = len(ranked), len(ranked) // 3
    if n < 3:
        return {name: Metric(None, n=n, why=f"thirds need 3 people, there are {n}") for name in _THIRDS}
    parts = (ranked[:third], ranked[third : n - third], ranked[n - third :])
    return {
        name: Metric(float(np.mean(part)), n=len(part)) for name, part in zip(_THIRDS, parts, strict=True)
    }


def normalised(
    model: Mapping[str, float], people: Mapping[str, Mapping[str, float]], seed: int = 0
) -> Metric:
    """A model's mean score over that of the median person, on the samples that all of them have.

    The interval draws samples again; each draw has a median person of its own.

    Args:
        model: Its scores by sample.
        people: Each person's scores by sample.
        seed: Of the interval.
    """
    if len(people) < FEWEST_PEOPLE:
        return Metric(None, why=f"needs {FEWEST_PEOPLE} people, there are {len(people)}")
    shared = sorted(model.keys() & set.intersection(*(set(values) for values in people.values())))
    if not shared:
        return Metric(None, why="no sample was played by the model and everybody")
    everybody = [model, *people.values()]
    counts = np.array([[values[name] for values in everybody] for name in shared])
    value = float(_over_median(counts.sum(axis=0)))
    if math.isnan(value):
        return Metric(None, n=len(shared), why="the median person scores 0 on these samples")
    low, high = bootstrap(counts, _over_median, seed)
    return Metric(value, low, high, n=len(shared))


_THIRDS = ("high", "medium", "low")


def _over_median(sums: Floats) -> Floats:
    """The first column over the median of the others; NaN where that is 0."""
    middle = np.median(sums[..., 1:], axis=-1)
    found: Floats = np.divide(sums[..., 0], middle, out=np.full(middle.shape, np.nan), where=middle != 0)
    return found


def _varied(x: Sequence[float], y: Sequence[float]) -> bool:
    """Whether there is anything to correlate.

    Raises:
        ValueError: The two are not of one length.
    """
    if len(x) != len(y):
        raise ValueError(f"{len(x)} values cannot be paired with {len(y)}")
    return len(x) > 2 and len(set(x)) > 1 and len(set(y)) > 1


def _normal() -> float:
    """Standard errors between nothing and an effect that is shown, for a normal mean."""
    return float(stats.norm.ppf(1 - ALPHA / 2) + stats.norm.ppf(POWER))


def _letter(at: int) -> str:
    return chr(ord("a") + at) if at < 26 else _letter(at // 26 - 1) + _letter(at % 26)
