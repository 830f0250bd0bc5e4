"""Worlds of which the truth is known, as plain arrays: games of a judge that errs."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

ROUNDS = 15
WORTH = np.exp(-0.2 * np.arange(ROUNDS))
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Errors:
    """A rate of errors: its mean, and how it varies: `constant`, by `sample` (Beta), by `round` (rising) or `early`."""

    mean: float
    by: str = "constant"

    def rates(self, samples: int, rng: Generator) -> Floats:
        """[samples, ROUNDS]."""
        if self.by == "sample" and self.mean:
            # A spread as large as an exponential's: most samples have few errors, some have many.
            own = rng.beta(1.0, 1 / self.mean - 1, samples)
            return np.repeat(own[:, None], ROUNDS, axis=1)
        if self.by == "round":
            return np.tile(self.mean * np.linspace(0.2, 1.8, ROUNDS), (samples, 1))
        if self.by == "early":
            # All of them in the first third, where a stop is worth most.
            return np.tile(3 * self.mean * (np.arange(ROUNDS) < ROUNDS // 3), (samples, 1))
        return np.full((samples, ROUNDS), self.mean)


@dataclass(frozen=True, slots=True)
class Player:
    """A player whose chance of a right guess in a round is Beta(a, b) over samples; a = 0 never solves."""

    a: float
    b: float

    def chances(self, samples: int, rng: Generator) -> Floats:
        """[samples]."""
        return rng.beta(self.a, self.b, samples) if self.a else np.zeros(samples)

    def truth(self) -> float:
        """The creativity score without a judge's errors, over all samples there could be."""
        return _score(self.a, self.b)


@cache
def _score(a: float, b: float) -> float:
    if not a:
        return 0.0
    grid = np.random.default_rng(0).beta(a, b, 400_000)[:, None]
    return float((grid * (1 - grid) ** np.arange(ROUNDS) * WORTH).sum(axis=1).mean())


PLAYERS = {"strong": Player(1.0, 6.0), "weak": Player(0.5, 16.0), "never solving": Player(0.0, 1.0)}


def rounds(
    player: Player, fpr: Errors, fnr: Errors, rng: Generator, samples: int = 106, repeats: int = 3
) -> tuple[Booleans, Booleans]:
    """Whether each guess is right and accepted, [samples, repeats, ROUNDS] each; a game ends on its first yes."""
    shape = (samples, repeats, ROUNDS)
    good = rng.random(shape) < player.chances(samples, rng)[:, None, None]
    luck = rng.random(shape)
    accepts, refuses = (errors.rates(samples, rng)[:, None] for errors in (fpr, fnr))
    return good, np.where(good, luck >= refuses, luck < accepts)
