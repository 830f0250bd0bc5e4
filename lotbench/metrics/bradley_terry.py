"""Ratings from votes on pairs (Bradley and Terry 1952): log-odds of being chosen over the average player.

The model is a logistic regression without intercept on the players of a pair (scikit-learn). The ridge penalty keeps the
rating of an unbeaten player finite and the mean at 0. Votes of one voter and votes on one prompt are correlated, so the
interval is a percentile bootstrap over both voters and prompts.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from lotbench.metrics.intervals import Floats

PENALTY = 10.0
"""C of scikit-learn: the inverse of the ridge penalty's weight."""
DRAWS = 300
LEAST_VOTERS = 5
"""The fewest voters for an interval."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A rating in log-odds with its 95 % interval; all None if the votes do not connect all players."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Votes:
    """Votes on pairs of k players; all arrays have one entry for each vote.

    Attributes:
        voter: The index of the voter, [votes].
        prompt: The index of the prompt, [votes].
        pair: The indices of the two players, [votes, 2].
        chosen: 1 if the first was chosen, 0 if the second, .5 for a tie; [votes].
        players: The number k of players.
    """

    voter: NDArray[np.int_]
    prompt: NDArray[np.int_]
    pair: NDArray[np.int_]
    chosen: Floats
    players: int


def ratings(votes: Votes, seed: int = 0) -> list[Rating]:
    """Return the rating of each player, with intervals if there are at least five voters and two prompts.

    No player has a rating if the votes do not connect all players.
    """
    whole = _wins(votes, np.ones(len(votes.voter)))
    groups, _ = scipy.sparse.csgraph.connected_components(whole + whole.T > 0, directed=False)
    if groups != 1:
        return [Rating(None)] * votes.players
    values = _strengths(whole)
    voters, prompts = (int(places.max()) + 1 for places in (votes.voter, votes.prompt))
    if voters < LEAST_VOTERS or prompts < 2:
        return [Rating(float(value)) for value in values]
    rng = np.random.default_rng(seed)
    draws = []
    with threadpool_limits(1):  # Threads would take longer to meet than these small fits take.
        for _ in range(DRAWS):
            people, items = (rng.multinomial(size, np.full(size, 1 / size)) for size in (voters, prompts))
            draws.append(_strengths(_wins(votes, (people[votes.voter] * items[votes.prompt]).astype(float))))
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    return [Rating(*map(float, row)) for row in zip(values, low, high, strict=True)]


def _wins(votes: Votes, weights: Floats) -> Floats:
    """Return how often each player was chosen over each other, [winner, loser], with weighted votes; a tie is half a win for both."""
    wins = np.zeros((votes.players, votes.players))
    first, second = votes.pair.T
    np.add.at(wins, (first, second), weights * votes.chosen)
    np.add.at(wins, (second, first), weights * (1 - votes.chosen))
    return wins


def _strengths(wins: Floats) -> Floats:
    """Return the ratings in log-odds, [players], with mean 0, from wins [winner, loser]."""
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - its import takes a second, and every command imports this

    better, worse = np.nonzero(wins)
    if not len(better):
        return np.zeros(len(wins))
    ahead = np.eye(len(wins))[better] - np.eye(len(wins))[worse]
    # Each vote enters from both sides, so that both classes occur in whatever order pairs are written.
    rows, outcomes = np.vstack([ahead, -ahead]), np.repeat([1, 0], len(better))
    weights = np.tile(wins[better, worse] / 2, 2)
    fitted = LogisticRegression(C=PENALTY, fit_intercept=False).fit(rows, outcomes, weights)
    return np.asarray(fitted.coef_[0] - fitted.coef_[0].mean())
