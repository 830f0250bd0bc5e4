"""Plants for what no single score says: variance components, the reliability of a ranking, shares and likeness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.random import Generator

from lotbench.metrics.generalizability import study
from lotbench.metrics.intervals import Floats
from lotbench.metrics.likeness import alike, equal
from lotbench.metrics.proportion import proportion
from lotbench.metrics.variance import components
from lotbench.report.uncertainty import intraclass
from lotbench.types import Metric
from tests.bench.truth_worlds import ROUNDS, WORTH

Trial = Callable[[int], tuple[Metric, float]]
BETWEEN, RANKING, SHARES = (
    "Variance of a run: the share between samples",
    "The reliability of a ranking",
    "Shares and likeness over samples",
)
NOTES = {
    BETWEEN: (
        "The share of the variance of a walk that lies between samples, three walks a sample. The interval is exact for normal "
        "values;\n*games* are worth what S_c gives them."
    ),
    RANKING: (
        "E rho² (the order) and Phi (the values) of so many models on so many samples with three repeats, models drawn anew in "
        "each\ntrial. Feldt's interval is exact for normal scores, McGraw and Wong's is not. An estimate is never below 0, and that of few models rather low."
    ),
    SHARES: (
        "*pace*: solves by round played in the first five rounds of three games a sample. *likeness*: how often two models say "
        "the\nsame on one sample, two answers each out of eight that are as common as the sample has it."
    ),
}


@dataclass(frozen=True, slots=True)
class Models:
    """A population of models that play a population of samples.

    Attributes:
        model: The standard deviation of models' ability, `sample` of samples' hardness and `both` of what samples do to
            single models; of normal scores, or of the log odds of a solve in a round.
        repeat: Of the repeats of normal scores; None plays games instead.
    """

    model: float
    sample: float
    both: float
    repeat: float | None = None

    def chances(self, models: int, samples: int, rng: Generator) -> Floats:
        """Expected scores, or the chance of a solve in a round, [models, samples]."""
        table = rng.normal(0, self.model, (models, 1)) - rng.normal(0, self.sample, (1, samples))
        table = table + rng.normal(0, self.both, (models, samples))
        return table if self.repeat is not None else 1 / (1 + np.exp(2.2 - table))

    def scores(self, models: int, samples: int, repeats: int, rng: Generator) -> Floats:
        """[models, samples, repeats]."""
        table = self.chances(models, samples, rng)[..., None]
        if self.repeat is not None:
            return np.asarray(table + rng.normal(0, self.repeat, (models, samples, repeats)))
        won = rng.geometric(np.broadcast_to(table, (models, samples, repeats)))
        return np.where(won <= ROUNDS, WORTH[np.minimum(won, ROUNDS) - 1], 0.0)

    def parts(self) -> tuple[float, float, float, float]:
        """The true variances of model, sample, model x sample and repeat."""
        return _parts(self)


@cache
def _parts(population: Models) -> tuple[float, float, float, float]:
    if population.repeat is not None:
        return population.model**2, population.sample**2, population.both**2, population.repeat**2
    chances = population.chances(1500, 1500, np.random.default_rng(0))[..., None]
    solved = chances * (1 - chances) ** np.arange(ROUNDS)
    means, squares = solved @ WORTH, solved @ WORTH**2
    rows, columns = means.mean(axis=1), means.mean(axis=0)
    left = means - rows[:, None] - columns + means.mean()
    return (
        float(rows.var()),
        float(columns.var()),
        float(left.var()),
        float((squares - means**2).mean()),
    )


NORMAL, GAMES = Models(0.25, 0.7, 0.5, 0.8), Models(0.7, 1.2, 0.6)
POPULATIONS = {"normal": NORMAL, "games": GAMES}


def between(population: Models, samples: int, seed: int) -> tuple[Metric, float]:
    """The share of the variance of one model's walks that lies between samples."""
    rng = np.random.default_rng([seed, 11])
    one = Models(0.0, population.sample, population.both, population.repeat)
    (scores,) = one.scores(1, samples, 3, rng)
    found = components({f"s{at}": row.tolist() for at, row in enumerate(scores)})
    assert found is not None
    value, (low, high) = intraclass(found)
    # Of one model alone, what samples do to it and what they do to all are one.
    _, sample, both, repeat = one.parts()
    return Metric(value, low, high, samples), (sample + both) / (sample + both + repeat)


def reliability(
    population: Models, models: int, samples: int, absolute: bool, seed: int
) -> tuple[Metric, float]:
    """E rho^2 or Phi of a comparison."""
    scores = population.scores(models, samples, 3, np.random.default_rng([seed, 12]))
    found = study([{f"s{at}": row.tolist() for at, row in enumerate(one)} for one in scores])
    assert found is not None
    model, sample, both, repeat = population.parts()
    error = both + repeat / 3 + (sample if absolute else 0.0)
    truth = model / (model + error / samples)
    if absolute:
        return Metric(found.absolute, *found.absolute_interval, models), truth
    return Metric(found.relative, *found.relative_interval, models), truth


def pace(samples: int, seed: int) -> tuple[Metric, float]:
    """Solves by round played in the first five rounds of three games a sample."""
    rng = np.random.default_rng([seed, 13])
    chances = rng.beta(0.5, 16.0, samples)
    trials = []
    for sample, chance in enumerate(chances):
        for won in rng.geometric(max(chance, 1e-12), 3):
            trials += [(bool(at == won), f"s{sample}") for at in range(1, min(int(won), 5) + 1)]
    return proportion(trials), _pace()


@cache
def _pace() -> float:
    chances = np.random.default_rng(0).beta(0.5, 16.0, 400_000)[:, None]
    going = (1 - chances) ** np.arange(5)
    return float((going * chances).sum() / going.sum())


def likeness(samples: int, seed: int) -> tuple[Metric, float]:
    """How often two models say the same, each with two answers a sample."""
    rng = np.random.default_rng([seed, 14])
    shares = rng.dirichlet(np.full(8, 0.4), samples)
    runs = {
        name: {
            f"s{at}": [str(answer) for answer in rng.choice(8, 2, p=share)] for at, share in enumerate(shares)
        }
        for name in ("one", "two")
    }
    _, both, _ = alike(runs, equal)
    # Of a Dirichlet with parameters a, the expected sum of squares is (a + 1) / (8 a + 1).
    return both.same, 1.4 / 4.2


def plants() -> Iterator[tuple[str, str, Trial]]:
    """Chapter, name and trial of every plant."""
    for name, population in POPULATIONS.items():
        for samples in (10, 30, 108):
            yield BETWEEN, f"{name}, {samples} samples x 3", partial(between, population, samples)
    for name, population in POPULATIONS.items():
        for models, samples in ((4, 40), (8, 108)):
            for what, absolute in (("E rho²", False), ("Phi", True)):
                yield (
                    RANKING,
                    f"{what}, {name}, {models} models, {samples} samples",
                    partial(reliability, population, models, samples, absolute),
                )
    for samples in (10, 30, 108):
        yield SHARES, f"pace, {samples} samples x 3", partial(pace, samples)
        yield SHARES, f"likeness, {samples} samples x 2", partial(likeness, samples)
