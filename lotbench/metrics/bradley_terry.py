"""Ratings from votes on pairs (Bradley and Terry 1952): the log-odds by which one is chosen before another.

A win and a loss of half a vote each are counted for every player, spread over those it met, so that who never lost has
a finite rating; the ratings of a set have the mean 0. The interval has no such votes: it holds the ratings that a score
test does not reject (Rao 1948; of two players it is Wilson's), the test's statistic divided by what votes on one prompt
being alike does to it (Rao and Scott 1984). Where votes bound nothing it is open: who was never chosen may be as far
below the others as you like, and then these are as far above the mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats, Interval

STEPS = 100
"""Steps of a fit at most; it takes a few."""
FAR = 25.0
"""Log-odds beyond which nothing is told from anything."""
_TRACE = 1e-7
"""Votes for either side of a pair that met, which keep a fit finite and move no interval."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating in log-odds, with its 95 % interval; all None where nobody met the rest, directly or by others."""

    value: float | None
    low: float | None = None
    high: float | None = None


def ratings(wins: Floats) -> list[Rating]:
    """The rating of each of k players.

    Args:
        wins: [clusters, k, k]; in a cluster, how often the first was chosen before the second, a tie being
            half a vote for each.
    """
    total = wins.sum(axis=0)
    if not _connected(total):
        return [Rating(None)] * total.shape[-1]
    values = strengths(total)
    return [Rating(float(value), *ends) for value, ends in zip(values, _intervals(wins, values), strict=True)]


def strengths(wins: Floats) -> Floats:
    """Log-strengths [k] of summed wins [k, k], mean 0, half a win and half a loss of each player counted in."""
    met = (wins + wins.T) > 0
    rivals = np.maximum(met.sum(axis=1), 1)
    # Half a vote of the one and half a vote of the other, each spread over its own rivals.
    shared = np.where(met, (1 / rivals[:, None] + 1 / rivals[None, :]) / 4, 0.0)
    return _fitted(wins + shared, np.zeros(len(wins)))[0]


def _intervals(wins: Floats, values: Floats) -> Iterator[Interval]:
    """The 95 % interval of each player's rating."""
    n, total = len(wins), wins.sum(axis=0)
    if n < 2 or len(total) < 2:
        yield from [(None, None)] * len(total)
        return
    limits = float(scipy.special.stdtrit(n - 1, 0.975)) ** 2 * _design_effects(wins, values)
    traced = total + _TRACE * ((total + total.T) > 0)
    # Whom each was chosen before, directly or by way of others: nothing else keeps the one from falling below the other.
    above = np.isfinite(scipy.sparse.csgraph.shortest_path(total > 0, unweighted=True))
    for player, limit in enumerate(limits):
        yield (
            _end(traced, values, player, limit, -1) if above[player].all() else None,
            _end(traced, values, player, limit, 1) if above[:, player].all() else None,
        )


def _end(wins: Floats, values: Floats, player: int, limit: float, side: int) -> float | None:
    """The rating on one side from which the score test rejects; None if it rejects none."""

    def beyond(far: float) -> float:
        held = float(values[player]) + side * far
        return _statistic(wins, values, player, held) - limit

    inside, outside = 0.0, 0.5
    while beyond(outside) < 0:
        inside, outside = outside, 2 * outside
        if outside > FAR:
            return None
    return float(values[player]) + side * float(scipy.optimize.brentq(beyond, inside, outside, xtol=1e-9))


def _statistic(wins: Floats, start: Floats, player: int, held: float) -> float:
    """The score test of one rating: the slope of the likelihood there, squared, times the rating's variance."""
    size = len(wins)
    moved = start + (held - start[player]) * (size * np.eye(size)[player] - 1) / (size - 1)
    found, slope = _fitted(wins, moved, player)
    return float(slope**2 * _variances(_information(wins, found))[player, player])


def _fitted(wins: Floats, start: Floats, held: int | None = None) -> tuple[Floats, float]:
    """The likeliest ratings with the mean 0, by Newton's steps; one may be held as it is in `start`.

    Returns:
        The ratings, and the slope of the log-likelihood in the one that is held.
    """
    size = len(wins)
    fixed = np.vstack([np.ones(size), *([] if held is None else [np.eye(size)[held]])])
    at, slope = start - start.mean(), 0.0
    for _ in range(STEPS):
        gradient = (wins - (wins + wins.T) * scipy.special.expit(at[:, None] - at)).sum(axis=1)
        sides = np.block([[_information(wins, at), fixed.T], [fixed, np.zeros((len(fixed),) * 2)]])
        solved = np.linalg.solve(sides, np.append(gradient, np.zeros(len(fixed))))
        step, slope = solved[:size], float(solved[-1])
        likely, length = _likelihood(wins, at), 1.0
        while _likelihood(wins, at + length * step) < likely and length > 1e-9:
            length /= 2
        at = at + length * step
        # Whom nothing holds goes on for ever, and by ever less.
        if _likelihood(wins, at) - likely < 1e-11:
            break
    return at, slope


def _information(wins: Floats, at: Floats) -> Floats:
    """The negative second derivatives of the log-likelihood, [k, k]."""
    chance = scipy.special.expit(at[:, None] - at)
    weights = (wins + wins.T) * chance * (1 - chance)
    return np.asarray(np.diag(weights.sum(axis=1)) - weights)


def _variances(information: Floats) -> Floats:
    """The inverse of an information on ratings with the mean 0, [k, k]."""
    mean = 1 / len(information)
    return np.asarray(np.linalg.inv(information + mean) - mean)


def _likelihood(wins: Floats, at: Floats) -> float:
    return -float((wins * np.logaddexp(0, at - at[:, None])).sum())


def _design_effects(wins: Floats, values: Floats) -> Floats:
    """How many times the variance of each rating is that of independent votes, [k]: no less than on the average, or 1."""
    n, size, total = len(wins), len(values), wins.sum(axis=0)
    inverse = _variances(_information(total, values))
    chance = scipy.special.expit(values[:, None] - values)
    scores = (wins - (wins + wins.swapaxes(1, 2)) * chance).sum(axis=2)
    between = scores.T @ scores * n / (n - 1)
    own = np.diag(inverse @ between @ inverse) / np.diag(inverse)
    return np.asarray(np.maximum(own, max(1.0, float(np.trace(inverse @ between)) / (size - 1))))


def _connected(wins: Floats) -> bool:
    """Whether all have met, directly or by way of others: else their ratings are on scales of their own."""
    groups, _ = scipy.sparse.csgraph.connected_components(wins + wins.T > 0, directed=False)
    return bool(groups == 1)
