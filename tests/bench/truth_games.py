"""Simulated games of a judge that errs: what is true of the player, and what people would label.

A player has a chance of a right filling in every round, its own for each sample; a judge refuses right fillings and
accepts wrong ones at rates that are planted, and a game ends on its first yes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from lotbench.benchmarks.lotbench.games import Game, Opinion, Round
from lotbench.benchmarks.lotbench.labelled import Place
from lotbench.metrics.intervals import Floats

ROUNDS = 15
WORTH = np.exp(-0.2 * np.arange(ROUNDS))
VERDICTS = {accepted: (Opinion("check", 0, accepted, "judge", "ok", {}, {}),) for accepted in (True, False)}


@dataclass(frozen=True, slots=True)
class Errors:
    """A rate of errors: its mean, and how it varies: `constant`, by `sample` (Beta) or by `round` (rising)."""

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
        if not self.a:
            return 0.0
        grid = np.random.default_rng(0).beta(self.a, self.b, 400_000)[:, None]
        rounds = np.arange(ROUNDS)
        return float((grid * (1 - grid) ** rounds * WORTH).sum(axis=1).mean())


STRONG, WEAK, NEVER = Player(1.0, 6.0), Player(0.5, 16.0), Player(0.0, 1.0)


def played(
    player: Player, fpr: Errors, fnr: Errors, rng: Generator, samples: int = 106, repeats: int = 3
) -> tuple[list[Game], dict[Place, bool]]:
    """Games, and whether each filling in them was right."""
    chances = player.chances(samples, rng)
    accepts, refuses = fpr.rates(samples, rng), fnr.rates(samples, rng)
    games, right = [], {}
    for sample in range(samples):
        for repeat in range(1, repeats + 1):
            good = rng.random(ROUNDS) < chances[sample]
            luck = rng.random(ROUNDS)
            yes = np.where(good, luck >= refuses[sample], luck < accepts[sample])
            last = int(yes.argmax()) + 1 if yes.any() else ROUNDS
            name = f"s{sample:03}"
            rounds = tuple(
                Round(at, f"word {at}", "ok", opinions=VERDICTS[bool(yes[at - 1])])
                for at in range(1, last + 1)
            )
            games.append(
                Game(
                    name,
                    repeat,
                    "solved" if yes.any() else "unsolved",
                    last if yes.any() else None,
                    rounds,
                    (),
                )
            )
            right |= {(name, repeat, at): bool(good[at - 1]) for at in range(1, last + 1)}
    return games, right
