"""Whether one model is better than another on the samples that both have: differences, tests, ties.

Everything is paired by sample, since samples differ far more than models do. The test flips the signs of
the differences and assumes nothing of their shape.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from lotbench.metrics.headline import Headline, Weighted
from lotbench.metrics.intervals import Floats

ALPHA = 0.05
DRAWS = 10_000
"""Sign patterns that are drawn; up to 13 samples all 2**n of them are gone through instead."""
_WEIGHTS = 200_000
"""Weights that are given to a metric at once: it may make many numbers of each."""
EXCHANGES = 5_000
"""Exchanges that are drawn for a metric that is no mean; with fewer than 2**n, all of them are gone through."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one model is ahead of another, on the samples that both have a value for.

    Attributes:
        mean: Of the differences, or the difference of two metrics; None without a shared sample. `low` and
            `high` are its 95 % interval: the means that the test does not reject, so that it holds 0 just
            where p is above 5 %; None where no mean is rejected (below six samples) or all differences are one.
        p: Of the two-sided sign-flip or exchange test; None for fewer than two samples.
        sd: The standard deviation of the n differences, or of a metric's pseudo-values of them; None if they do not
            vary.
        noise: The variance of the difference that no number of samples would mend (few labels).
        judgements: Labels that each of the two has, on the average.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    p: float | None
    sd: float | None = None
    noise: float = 0.0
    judgements: int = 0


@dataclass(frozen=True, slots=True)
class Flipped:
    """What came of a sign-flip test.

    Attributes:
        mean: Of the differences; None for none.
        error: The standard error of the mean, from the differences' unbiased variance; None below two.
        p: Two-sided; None below two differences.
        n: The number of differences.
        low: The least mean that the same signs do not reject at 5 %, and `high` the largest; None where
            they reject none.
    """

    mean: float | None
    error: float | None
    p: float | None
    n: int
    low: float | None = None
    high: float | None = None


def difference(one: Mapping[str, float], other: Mapping[str, float], seed: int = 0) -> Difference:
    """How far `one` is ahead of `other`; both by sample."""
    shared = sorted(one.keys() & other.keys())
    found = np.array([one[name] - other[name] for name in shared])
    if not shared:
        return Difference(0, None, None, None, None)
    flipped = sign_flips(found, seed=seed)
    mean, sd = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else math.nan
    return Difference(
        n=len(found),
        mean=mean,
        low=flipped.low,
        high=flipped.high,
        p=flipped.p,
        sd=sd if math.isfinite(sd) and sd > 0 else None,
    )


def of_headlines(one: Headline, other: Headline, seed: int = 0) -> Difference:
    """How far the headline metric of one run is ahead of another's, on the samples that both have."""
    if one.weighted is None:
        return difference(one.records, other.records, seed)
    shared = [name for name in one.records if name in other.records]
    if not shared:
        return difference({}, {})
    records = [run.records[name] for run in (one, other) for name in shared]
    noise = _noise(one, other, shared, seed)
    found = exchanged(one.weighted(records), len(shared), seed, noise)
    if noise is None:
        return found
    return replace(found, noise=float(noise.var()), judgements=(one.judgements + other.judgements) // 2)


def _noise(one: Headline, other: Headline, shared: Sequence[str], seed: int) -> Floats | None:
    """Draws of how far a difference may be off for what is no sampling of samples; None if nothing is."""
    found = [
        None if run.noise is None else run.noise([run.records[name] for name in shared])
        for run in (one, other)
    ]
    if all(draws is None for draws in found):
        return None
    rng = np.random.default_rng([seed % 2**63, 1])
    # Both are drawn by one seed, so one's are put into another order; which of two equal runs is first is chance.
    mine, theirs = (np.zeros(1) if draws is None else rng.permutation(draws) for draws in found)
    return np.asarray((mine - theirs) * rng.choice((-1, 1), max(len(mine), len(theirs))))


def exchanged(metric: Weighted, n: int, seed: int = 0, noise: Floats | None = None) -> Difference:
    """How far a metric of n records is ahead of that of the n records paired with them, by exchanging pairs.

    If two runs are alike, whose record of a sample is whose is chance, so every exchange was as likely as what was
    seen (Fisher 1935): the test is exact for any metric. The interval reaches as far to both sides as 95 % of the
    exchanges lie from 0, so it holds 0 just where p is above 5 %; it is wide where runs are far apart, and no
    narrower than Student's where they are not told apart.

    Args:
        metric: Of 2 n records by their weights: one run's, then the other's in the same order.
        n: Pairs.
        seed: Of the exchanges.
        noise: Draws of what else makes the difference uncertain, as likely to either side; added to the exchanges.
    """
    seen = float(_ahead(metric, np.ones((1, n)), np.zeros((1, n)))[0])
    if not math.isfinite(seen):
        return Difference(n, None, None, None, None)
    # Leaving a pair out: for a mean, the pseudo-values are the pairs' very differences.
    pseudo = n * seen - (n - 1) * _one_left_out(metric, n)
    sd = float(pseudo.std(ddof=1)) if n > 1 else math.nan
    varies = math.isfinite(sd) and sd > 1e-12
    p, reach = _exchange_test(metric, n, seen, seed, np.zeros(1) if noise is None else noise)
    if p is not None and reach is not None and p >= ALPHA and varies:
        # Where few pairs differ at all, no exchange lies far from 0, and the truth may.
        error = math.hypot(sd / math.sqrt(n), 0.0 if noise is None else float(noise.std()))
        reach = max(reach, float(scipy.special.stdtrit(n - 1, 1 - ALPHA / 2)) * error)
    return Difference(
        n=n,
        mean=seen,
        low=None if reach is None else round(seen - reach, 12),
        high=None if reach is None else round(seen + reach, 12),
        p=p,
        sd=sd if varies else None,
    )


def _exchange_test(
    metric: Weighted, n: int, seen: float, seed: int, noise: Floats
) -> tuple[float | None, float | None]:
    """The two-sided p, and from which distance on a difference is rejected at 5 %; None where there is none."""
    if n < 2:
        return None, None
    # An exchange that leaves no value says nothing against equality: it counts as far from 0.
    moved = np.concatenate([_ahead(metric, kept, 1 - kept) for kept in _exchanges(n, seed)])
    far = np.abs(moved + np.resize(noise, len(moved)))
    # Rounded, since one value summed in two orders is not the same to the last bit.
    far = np.sort(np.append(np.nan_to_num(far, nan=np.inf), abs(seen)).round(12))[::-1]
    # However far what was seen is from 0, exchanging all pairs is as far.
    p = max(float((far >= round(abs(seen), 12)).sum()) / len(far), 2 / 2**n)
    rejected = math.ceil(ALPHA * len(far)) - 1
    # What is as far on one side is so on the other when all pairs are exchanged: distances come in twos.
    reach = float(far[rejected]) if rejected > 1 else math.inf
    return p, reach if 0 < reach < math.inf else None


def _exchanges(n: int, seed: int) -> Iterator[Floats]:
    """Which of n pairs stay in each exchange, as 0 and 1, [draws, n], a block at a time."""
    if 2**n <= EXCHANGES:
        yield ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)
        return
    rng = np.random.default_rng(seed % 2**63)
    # Four bytes are drawn at once: blocks of such sizes have the draws that the whole would have.
    step = max(4, _WEIGHTS // n // 4 * 4)
    for done in range(0, EXCHANGES, step):
        yield rng.integers(0, 2, size=(min(step, EXCHANGES - done), n), dtype=np.int8).astype(float)


def _one_left_out(metric: Weighted, n: int) -> Floats:
    """The difference of the metric without each of the n pairs, [n]; a block at a time, since all would be n x n."""
    step, parts = max(1, _WEIGHTS // n), []
    for at in range(0, n, step):
        kept = np.ones((min(step, n - at), n))
        np.fill_diagonal(kept[:, at:], 0)
        parts.append(_ahead(metric, kept, np.zeros_like(kept)))
    return np.concatenate(parts)


def _ahead(metric: Weighted, kept: Floats, given: Floats) -> Floats:
    """The difference of the metric where `kept` of the pairs, [draws, n], stay, and `given` change sides."""
    return metric(np.hstack([kept, given])) - metric(np.hstack([given, kept]))


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
    means = _kept_means(differences, flips, seed)
    mean, error = float(np.mean(differences)), float(np.std(differences, ddof=1)) / math.sqrt(n)
    # Flipping a set of differences less mu leaves the sum as large or larger where the set's mean is at most mu.
    close = 1e-12 * float(np.abs(differences).max())
    patterns = len(means) + 1
    tails = [1 + int((sign * means <= close).sum()) for sign in (1, -1)]
    rejected = int(ALPHA / 2 * patterns)
    ends: tuple[float | None, float | None] = (None, None)
    if rejected and error:
        ordered = np.sort(means)
        ends = float(ordered[rejected - 1]), float(ordered[-rejected])
    return Flipped(mean, error, min(1.0, 2 * min(tails) / patterns), n, *ends)


def _kept_means(differences: Floats, flips: int, seed: int) -> Floats:
    """The mean of the differences that each assignment of signs but the one that was seen would flip.

    The means of all sets of values are typical of their centre (Hartigan 1969): as many of them lie below
    the truth as above it, by chance alone.
    """
    n = len(differences)
    if 2**n <= flips:
        sets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        return np.asarray(sets @ differences / sets.sum(axis=1))
    rng, step = np.random.default_rng(seed % 2**63), max(1, 4_000_000 // n)
    blocks = []
    for done in range(0, flips, step):
        sets = rng.integers(0, 2, size=(min(step, flips - done), n), dtype=np.int8)
        # The empty set flips nothing: it is the pattern that was seen, and rejects no mean.
        sizes = sets.sum(axis=1, dtype=np.int64)
        blocks.append((sets @ differences)[sizes > 0] / sizes[sizes > 0])
    return np.concatenate(blocks)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values corrected for being several, after Holm (1979); in the order in which they came."""
    made, before = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        before = max(before, min(1.0, (len(ps) - rank) * ps[at]))
        made[at] = before
    return made


def levels(ps: Sequence[float]) -> list[float]:
    """The level at which each p is tested by Holm; for those that fail, the level of the next that is to pass."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    passed, made = sum(p < ALPHA for p in holm(ps)), [0.0] * len(ps)
    for rank, at in enumerate(order):
        made[at] = ALPHA / (len(ps) - min(rank, max(0, min(passed, len(ps) - 1))))
    return made


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


def _letter(at: int) -> str:
    return chr(ord("a") + at) if at < 26 else _letter(at // 26 - 1) + _letter(at % 26)
