"""The metric by which games are ranked: S_c, by people's labels where a run has them, and what else could explain a gap.

A judge that accepts more wrong fillings of one model than of another makes the first look better. Labels of the runs' own
verdicts take that out; without, it is said how much more often it would have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from lotbench.benchmarks.lotbench import correction, labelled
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.labelled import Labelled
from lotbench.benchmarks.lotbench.score import Rules, creativity, estimate, tally
from lotbench.harness.judge_validation import Place
from lotbench.metrics.headline import Headline, Weighted, by_sample, of_sums
from lotbench.metrics.intervals import Floats
from lotbench.types import Metric, Trace

Samples = Sequence[Sequence[Game]]


@dataclass(frozen=True, slots=True)
class Record:
    """A sample's counts (`labelled.tally`) and games, and what the labels of its run say."""

    counts: Floats
    games: int
    kinds: Mapping[str, Labelled]


def headline(traces: Sequence[Trace], settings: Rules) -> Headline:
    """S_c, sample by sample; a game that broke off is in it, censored."""
    records = {name: [game(walk) for walk in walks] for name, walks in by_sample(traces).items()}

    def weighted(samples: Samples) -> Weighted:
        counts = np.concatenate([tally(games, settings.max_rounds) for games in samples])
        return of_sums(counts, creativity(settings))

    def measure(samples: Samples) -> Metric:
        return estimate([one for games in samples for one in games], settings)

    def rival(mine: Samples, theirs: Samples) -> str | None:
        return _rival(mine, theirs, settings)

    return Headline("creativity_score", records, measure, weighted, rival=rival)


def by_labels(
    traces: Sequence[Trace], settings: Rules, labels: Mapping[Place, bool]
) -> Callable[[Sequence[Trace], Rules], Headline] | None:
    """What makes the headline of a run's walks, or of some of them, by the labels of them all.

    None if the labels leave a kind of verdict of which nothing is known.
    """
    games = [game(trace) for trace in traces]
    found = labelled.kinds(games, labels, settings.max_rounds)
    if labelled.unknown(games, found):
        return None

    def made(some: Sequence[Trace], rules: Rules) -> Headline:
        records = {}
        for name, walks in by_sample(some).items():
            played = [game(walk) for walk in walks]
            (counts,) = labelled.tally(played, labels, rules.max_rounds, found["accepted"])
            records[name] = Record(counts, len(played), found)
        return Headline(
            "creativity_score_corrected",
            records,
            lambda samples: _measured(samples, rules),
            lambda samples: _weighted(samples, rules),
            noise=lambda samples: _noise(samples, rules),
            judgements=sum(kind.labelled for kind in found.values()),
        )

    return made


def _measured(samples: Sequence[Record], rules: Rules) -> Metric:
    if not samples:
        return Metric(None, why="no games")
    counts, games = np.stack([one.counts for one in samples]), sum(one.games for one in samples)
    return labelled.scores(counts, samples[0].kinds, rules, games)[1]


def _weighted(samples: Sequence[Record], rules: Rules) -> Weighted:
    """Samples of several runs, each with the misses that the labels of its own run let expect."""
    counts = np.stack([labelled.expecting(one.counts, one.kinds) for one in samples])
    return of_sums(counts, lambda sums: labelled.expected(sums, rules)[..., 1])


def _noise(samples: Sequence[Record], rules: Rules) -> Floats:
    """How far S_c may be off for so few labels, [draws]."""
    sums = np.stack([one.counts for one in samples]).sum(axis=0)
    point, draws = labelled.posterior(sums, samples[0].kinds, rules)
    return np.asarray(draws[:, 1] - point[1])


def _rival(mine: Samples, theirs: Samples, rules: Rules) -> str | None:
    """How much higher the judge's FPR would have to be on the fillings of the better run, if the two were equal."""
    games, others = ([one for sample in run for one in sample] for run in (mine, theirs))
    sums = correction.tally(games, rules.max_rounds).sum(axis=0)
    target = estimate(others, rules).value

    def left(more: float) -> float:
        found = correction.scores(sums, np.array(more), np.array(0.0), rules)
        return float(found[1]) - (target or 0.0)

    if target is None or not left(0.0) > 0:
        return None
    if not left(_MOST) < 0:
        return "no FPR"
    return f"FPR + {optimize.brentq(left, 0.0, _MOST):.3f}"


_MOST = 0.95
"""The largest difference in FPR that is thought of."""
