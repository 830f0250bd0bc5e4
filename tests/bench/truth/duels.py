"""Duels: how often equal models are named different in four looks, and what a duel finds and saves where they differ."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from lotbench.metrics.compare import Difference, difference, of_primary_metrics
from lotbench.metrics.primary_metric import mean_score
from lotbench.metrics.sequential import levels
from lotbench.run.duel import LOOKS
from tests.bench.truth.arrays import played, share, table
from tests.bench.truth.families import GAMES, chances, means
from tests.bench.truth.worlds import PLAYERS, Floats

Rng = np.random.Generator
Pair = tuple[Floats, Floats]


def _games(n: int, rng: Rng, player: str = "strong") -> Pair:
    own = PLAYERS[player].chances(n, rng)
    return means(played(own, rng, GAMES)), means(played(own, rng, GAMES))


def _two_samples(n: int, rng: Rng) -> Pair:
    own = chances(n, 2, rng)
    return means(played(own, rng, own.shape[1])), means(played(own, rng, own.shape[1]))


def _repeats_alike(n: int, rng: Rng) -> Pair:
    """Each model plays a sample in one way for ever: its repeats say nothing new."""
    own = PLAYERS["strong"].chances(n, rng)
    return means(played(own, rng, 1)), means(played(own, rng, 1))


def _few_solve(n: int, rng: Rng) -> Pair:
    """Most samples are solved by neither: a heavy tail."""
    own = np.where(rng.random(n) < 0.08, 0.5, 0.0)
    return means(played(own, rng, 1)), means(played(own, rng, 1))


def _changes(n: int, rng: Rng) -> Pair:
    """One is better on what the data set has first and worse on the rest, equal over all; the order is drawn privately."""
    one = rng.normal(0, 0.3, n) + np.where(np.arange(n) < n / 2, 0.3, -0.3)
    order = rng.permutation(n)
    return one[order], rng.normal(0, 0.3, n)[order]


def _drifts(n: int, rng: Rng) -> Pair:
    """The endpoint gets better while the duel is played; both are asked side by side."""
    hour = np.linspace(-0.4, 0.4, n)
    return hour + rng.normal(0, 0.3, n), hour + rng.normal(0, 0.3, n)


def _skewed(n: int, rng: Rng) -> Pair:
    return rng.lognormal(0, 1.0, n), rng.lognormal(0, 1.0, n)


def _constant(n: int, rng: Rng) -> Pair:
    """Rigged: by chance one is ahead by the same hair on every sample, so that nothing varies."""
    return np.full(n, 0.5) + rng.choice([-1, 1]) * 0.01, np.full(n, 0.5)


WORLDS: Mapping[str, Callable[[int, Rng], Pair]] = {
    "games, strong": _games,
    "games, weak": lambda n, rng: _games(n, rng, "weak"),
    "two samples a picture": _two_samples,
    "repeats alike": _repeats_alike,
    "few samples solved at all": _few_solve,
    "changes half-way": _changes,
    "endpoint drifts": _drifts,
    "skewed marks": _skewed,
    "rigged: nothing varies": _constant,
}


def duel(one: Floats, other: Floats) -> tuple[bool, int]:
    """Whether two were told apart, and the samples that it took, by the functions and levels of `lotbench duel`."""
    n = len(one)
    ends = sorted({math.ceil(part * n) for part in LOOKS})
    for end, level in zip(ends, _levels(n, tuple(ends)), strict=True):
        if _p(one[:end], other[:end]) <= level:
            return True, end
    return False, n


_KNOWN: dict[tuple[int, tuple[int, ...]], list[float]] = {}


def _levels(n: int, ends: tuple[int, ...]) -> list[float]:
    if (n, ends) not in _KNOWN:
        _KNOWN[n, ends] = levels([end / n for end in ends])
    return _KNOWN[n, ends]


def _p(one: Floats, other: Floats) -> float:
    runs = [mean_score({str(at): float(value) for at, value in enumerate(run)}) for run in (one, other)]
    found = of_primary_metrics(*runs)
    return 1.0 if found.p is None else found.p


def errors(sims: int) -> str:
    """Of duels of equal models, those that name one of them; with few samples, the first looks go by the exact test."""
    rows = []
    for name, world in WORLDS.items():
        cells = []
        # Where nothing varies, every p is an exact one, and all duels are alike.
        times = sims if world is not _constant else min(sims, 50)
        for n in (24, 66, 108):
            hits = sum(duel(*world(n, np.random.default_rng([n, sim, 11])))[0] for sim in range(times))
            cells.append(share(hits, times))
        rows.append((name, times, *cells))
    return table(("world", "simulations", "24 samples", "66 samples", "108 samples"), rows)


def power(sims: int) -> str:
    """What a duel finds, beside a paired t test of all samples and a fixed design of as many as the duel played."""
    rows = []
    for n in (66, 108):
        for factor in (1.5, 2.0, 3.0):
            seen = np.zeros(3)
            used = []
            runs = [
                unequal(n, factor, np.random.default_rng([n, int(10 * factor), sim])) for sim in range(sims)
            ]
            for one, other in runs:
                found, end = duel(one, other)
                seen[0] += found and one[:end].mean() > other[:end].mean()
                used.append(end)
                seen[1] += _better(one, other)
            fixed = round(float(np.mean(used)))
            seen[2] = sum(_better(one[:fixed], other[:fixed]) for one, other in runs)
            rows.append((n, factor, sims, *(share(int(hits), sims) for hits in seen), fixed))
    columns = (
        "samples", "chance times", "simulations", "duel", "paired t test of all", "fixed design",
        "samples of duel and fixed design",
    )  # fmt: skip
    return table(columns, rows)


def unequal(n: int, factor: float, rng: Rng) -> Pair:
    own = PLAYERS["weak"].chances(n, rng)
    return means(played(np.minimum(1, own * factor), rng, GAMES)), means(played(own, rng, GAMES))


def _better(one: Floats, other: Floats) -> bool:
    found: Difference = difference(
        *({str(at): float(value) for at, value in enumerate(run)} for run in (one, other))
    )
    return found.p is not None and found.p < 0.05 and (found.mean or 0) > 0
