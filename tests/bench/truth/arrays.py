"""Games of simulated worlds as the counts that S_c is made of, without a trace: fast enough for thousands of runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lotbench.benchmarks.lotbench.primary_metric import Record, of_counts
from lotbench.metrics.primary_metric import PrimaryMetric
from lotbench.report.leaderboard import Entry, Pair, board
from tests.bench.truth.worlds import ROUNDS, Booleans, Floats, Player
from tests.games import Rules

RULES = Rules()


def tallies(yes: Booleans) -> Floats:
    """Counts of games by picture, [pictures, 2, ROUNDS] as `score.tally` makes them, of yes [pictures, games, ROUNDS]."""
    before = np.logical_or.accumulate(yes, axis=-1)
    at_risk = np.concatenate([np.ones_like(before[..., :1]), ~before[..., :-1]], axis=-1)
    return np.stack([at_risk.sum(axis=1), (at_risk & yes).sum(axis=1)], axis=1).astype(float)


def primary_metric(yes: Booleans) -> PrimaryMetric:
    """The primary metric of a run of such games; none broke off."""
    records = {
        f"p{at:03}": Record(one[None], (one[None], one[None]), yes.shape[1], 0)
        for at, one in enumerate(tallies(yes))
    }
    return of_counts(records, RULES, "picture")


def played(chances: Floats, rng: np.random.Generator, games: int, fpr: Floats | float = 0.0) -> Booleans:
    """Which guesses are accepted, [pictures, games, ROUNDS]: right ones, and wrong ones by the judge's error.

    Args:
        chances: Of a right guess, [pictures] or [pictures, games].
        rng: Of the draws.
        games: On each picture.
        fpr: Of each guess, [pictures, games, ROUNDS] or one for all.
    """
    shape = (len(chances), games, ROUNDS)
    own = chances[:, None, None] if chances.ndim == 1 else chances[..., None]
    right = rng.random(shape) < own
    return np.asarray(right | (rng.random(shape) < fpr))


def of_pictures(
    player: Player, pictures: int, samples: int, rng: np.random.Generator, alike: float = 0.68
) -> Floats:
    """Chances on each sample, [pictures, samples], of which those on one picture are alike (the intra-class share)."""
    own, shared = (player.chances(pictures * samples, rng).reshape(pictures, samples) for _ in range(2))
    return np.where(rng.random((pictures, 1)) < alike, shared[:, :1], own)


def entry(name: str, found: PrimaryMetric, **fields: Any) -> Entry:
    """A run as a ranking sees it."""
    given: dict[str, Any] = {"asked": name, "answered": (name,), "benchmark": "b", "failed": 0, "values": {}}
    return Entry(**given | {"name": name, "conditions": {}, "primary_metric": found} | fields)


def clear(entries: Sequence[Entry]) -> list[Pair]:
    """The pairs that `lotbench compare` calls clearly different."""
    return [pair for pair in board(entries).pairs if pair.apart]


def share(hits: int, of: int) -> str:
    """A share of simulations with its standard error."""
    p = hits / of
    return f"{p:.3f} ± {np.sqrt(max(p * (1 - p), 1 / of) / of):.3f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
