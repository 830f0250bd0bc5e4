"""Ratings from votes on pairs (Bradley and Terry 1952): the log-odds by which one is chosen before another.

Half a vote is counted for either side of every pair that met, so that who never lost has a finite rating; the
ratings of a set have the mean 0. Intervals draw clusters (prompts) with replacement: votes on one are alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats, Interval, bootstrap, expanded

ROUNDS = 2000
"""Steps of the fit at most; the draws of a bootstrap need a few dozen."""
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating in log-odds, with its 95 % interval; all None where nobody met the rest, directly or by others."""

    value: float | None
    low: float | None = None
    high: float | None = None


def ratings(wins: Floats, seed: int = 0) -> list[Rating]:
    """The rating of each of k players.

    Args:
        wins: [clusters, k, k]; in a cluster, how often the first was chosen before the second, a tie being
            half a vote for each.
        seed: Of the draws.
    """
    total = wins.sum(axis=0)
    if not _connected(total):
        return [Rating(None)] * total.shape[-1]
    values = strengths(total)
    level = expanded(len(wins))

    def interval(player: int) -> Interval:
        return bootstrap(wins, lambda sums: strengths(sums)[..., player], seed, DRAWS, level)

    return [Rating(float(value), *interval(player)) for player, value in enumerate(values)]


def strengths(wins: Floats, tolerance: float = 1e-9) -> Floats:
    """Log-strengths [..., k] of summed wins [..., k, k], mean 0, by Hunter's MM steps (2004, Eq. 3)."""
    met = wins + wins.swapaxes(-1, -2)
    wins = wins + np.where(met > 0, 0.5, 0.0)
    met = wins + wins.swapaxes(-1, -2)
    won = wins.sum(axis=-1)
    strength = np.ones_like(won)
    for _ in range(ROUNDS):
        meetings = (met / (strength[..., :, None] + strength[..., None, :])).sum(axis=-1)
        nearer = np.divide(won, meetings, out=strength.copy(), where=meetings > 0)
        nearer /= np.exp(np.log(nearer).mean(axis=-1, keepdims=True))
        moved = np.abs(np.log(nearer) - np.log(strength)).max()
        strength = nearer
        if moved < tolerance:
            break
    return np.asarray(np.log(strength))


def _connected(wins: Floats) -> bool:
    """Whether all have met, directly or by way of others: else their ratings are on scales of their own."""
    groups, _ = scipy.sparse.csgraph.connected_components(wins + wins.T > 0, directed=False)
    return bool(groups == 1)
