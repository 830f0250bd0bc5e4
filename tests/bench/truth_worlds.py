"""Worlds of which the truth is known, as plain arrays: games of a judge that errs, scores of ideas, paired differences.

Nothing here imports lotbench, so that code of any day can be measured on the same draws.
"""

from __future__ import annotations

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
    """A player whose chance of a right filling in a round is Beta(a, b) over samples; a = 0 never solves."""

    a: float
    b: float

    def chances(self, samples: int, rng: Generator) -> Floats:
        """[samples]."""
        return rng.beta(self.a, self.b, samples) if self.a else np.zeros(samples)

    def truth(self) -> float:
        """The creativity score without a judge's errors, over all samples there could be."""
        return _score(self.a, self.b)


@dataclass(frozen=True, slots=True)
class Fixed(Player):
    """A player whose chance on each sample is known."""

    own: tuple[float, ...]

    def chances(self, samples: int, rng: Generator) -> Floats:
        """[samples]; of that many and no more."""
        assert samples == len(self.own)
        return np.array(self.own)


@cache
def _score(a: float, b: float) -> float:
    if not a:
        return 0.0
    grid = np.random.default_rng(0).beta(a, b, 400_000)[:, None]
    return float((grid * (1 - grid) ** np.arange(ROUNDS) * WORTH).sum(axis=1).mean())


PLAYERS = {"strong": Player(1.0, 6.0), "weak": Player(0.5, 16.0), "never solving": Player(0.0, 1.0)}
JUDGES = {
    "constant, FNR .05": (Errors(0.03), Errors(0.05)),
    "constant, FNR .23": (Errors(0.03), Errors(0.23)),
    "by sample, FNR .05": (Errors(0.03, "sample"), Errors(0.05, "sample")),
    "by sample, FNR .23": (Errors(0.03, "sample"), Errors(0.23, "sample")),
    "by round, FNR .05": (Errors(0.03, "round"), Errors(0.05, "round")),
    "by round, FNR .23": (Errors(0.03, "round"), Errors(0.23, "round")),
}


def rounds(
    player: Player, fpr: Errors, fnr: Errors, rng: Generator, samples: int = 106, repeats: int = 3
) -> tuple[Booleans, Booleans]:
    """Whether each filling is right and accepted, [samples, repeats, ROUNDS] each; a game ends on its first yes."""
    shape = (samples, repeats, ROUNDS)
    good = rng.random(shape) < player.chances(samples, rng)[:, None, None]
    luck = rng.random(shape)
    accepts, refuses = (errors.rates(samples, rng)[:, None] for errors in (fpr, fnr))
    return good, np.where(good, luck >= refuses, luck < accepts)


@dataclass(frozen=True, slots=True)
class Rubric:
    """How an answerer scores ideas on a rubric of 1 to 5: the sharper, the more often as the gold does."""

    shares: tuple[float, ...]
    sharpness: float

    def rows(self) -> Floats:
        """[5, 6]: the chance of each prediction for each gold score, column 0 for no score."""
        labels = np.arange(5)
        near = np.exp(-self.sharpness * np.abs(labels[:, None] - labels))
        table = np.column_stack([0.03 * near.sum(axis=1), near])
        return table / table.sum(axis=1, keepdims=True)

    def drawn(self, n: int, rng: Generator) -> tuple[list[int], list[int | None]]:
        """Gold and predicted scores of n ideas; None for no score."""
        gold = [int(one) + 1 for one in rng.choice(5, size=n, p=self.shares)]
        return gold, self.said(gold, rng)

    def said(self, gold: list[int], rng: Generator) -> list[int | None]:
        """Predicted scores of ideas; None for no score."""
        rows = self.rows()
        return [int(rng.choice(6, p=rows[one - 1])) or None for one in gold]

    def truth(self) -> float:
        """Macro F1 over all ideas there could be."""
        joint = np.array(self.shares)[:, None] * self.rows()
        hits = np.diagonal(joint[:, 1:])
        return float((2 * hits / (joint.sum(axis=1) + joint[:, 1:].sum(axis=0))).mean())


RUBRICS = {
    "fair answerer": Rubric((0.10, 0.18, 0.30, 0.28, 0.14), 1.2),
    "near chance": Rubric((0.10, 0.18, 0.30, 0.28, 0.14), 0.3),
}
