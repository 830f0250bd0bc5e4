"""The metric by which games are ranked: S_c, by people's labels where a run has them.

A judge that accepts more wrong fillings of one model than of another makes the first look better. Labels of the runs' own
verdicts take that out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from lotbench.benchmarks.lotbench import labelled
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.rules import Rules
from lotbench.benchmarks.lotbench.score import (
    ENDS,
    between,
    bound,
    creativity,
    of_tally,
    score_ends,
    tally,
)
from lotbench.harness.judge_validation import Place
from lotbench.metrics.agreement import Labelled
from lotbench.metrics.headline import Headline, Weighted, by_sample, of_sums
from lotbench.metrics.intervals import Floats
from lotbench.types import Metric, Trace


@dataclass(frozen=True, slots=True)
class Counted:
    """What the games on a picture count for: [1, 3, last] as in `score.tally`.

    Not the games themselves: those of a long run, with all that was said in them, fill the memory. `ends` are the counts
    if every broken game had never been solved, or at once.
    """

    counts: Floats
    ends: tuple[Floats, ...]
    games: int
    broken: int


@dataclass(frozen=True, slots=True)
class Record:
    """A picture's counts as in `labelled.tally`, [1, 9, last], at either bound too, and what the labels of its run say."""

    counts: Floats
    ends: tuple[Floats, ...]
    games: int
    broken: int
    kinds: Mapping[str, Labelled]


AnyRecord = TypeVar("AnyRecord", Counted, Record)


def headline(traces: Sequence[Trace], settings: Rules) -> Headline:
    """S_c, picture by picture; a game that broke off is in it, censored."""
    records: dict[str, Counted] = {}
    shared = False
    for _, walks in by_sample(traces):
        games = [game(walk) for walk in walks]
        shared |= games[0].picture in records
        _join(records, games[0].picture, _counted(games, settings.max_rounds))
    found = of_counts(records, settings, "picture" if shared else "sample")
    return replace(found, by_labels=lambda labels: by_labels(traces, settings, labels))


def of_counts(records: Mapping[str, Counted], settings: Rules, unit: str = "sample") -> Headline:
    """S_c of what the games on each picture count for, as `headline` has it."""

    def weighted(samples: Sequence[Counted]) -> Weighted:
        return of_sums(np.concatenate([one.counts for one in samples]), creativity(settings))

    return Headline(
        "creativity_score",
        records,
        lambda samples: _uncorrected(samples, settings),
        weighted,
        least=_least,
        most=_most,
        unit=unit,
        ends=score_ends(settings),
    )


def _join(records: dict[str, AnyRecord], picture: str, new: AnyRecord) -> None:
    """Add what the games on one sample of a picture count for to that of the others on it."""
    if old := records.get(picture):
        counts, ends = old.counts + new.counts, tuple(map(np.add, old.ends, new.ends))
        new = replace(
            new, counts=counts, ends=ends, games=old.games + new.games, broken=old.broken + new.broken
        )
    records[picture] = new


def _counted(games: Sequence[Game], last: int) -> Counted:
    ends = tuple(tally(some, last) for some in _ended(games, last))
    return Counted(tally(games, last), ends, len(games), _broken(games))


def _ended(games: Sequence[Game], last: int) -> list[Sequence[Game]]:
    return [bound(games, last, end) for end in ENDS]


def _least(samples: Sequence[Counted], fpr: float) -> Sequence[Counted]:
    """No broken game solved, nor as many of the solves of each round as a judge of this error rate accepts wrongly."""
    ended = [_at_end(one, 0) for one in samples]
    if not fpr:
        return ended
    at_risk, solved = np.concatenate([one.counts for one in ended])[:, :2].sum(axis=0)
    wrong = np.minimum(1, np.divide(fpr * at_risk, solved, out=np.zeros_like(solved), where=solved > 0))
    return [replace(one, counts=_unsolved(one.counts, wrong)) for one in ended]


def _unsolved(counts: Floats, wrong: Floats) -> Floats:
    """Counts [1, 3, last] if this share of the solves of each round, [last], had been no solve, then or later."""
    lost = counts[:, 1] * wrong
    still = lost.cumsum(axis=-1)
    last = np.zeros_like(lost)
    last[:, -1] = still[:, -1]
    return counts + np.stack([still - lost, -lost, last], axis=1)


def _most(samples: Sequence[AnyRecord]) -> Sequence[AnyRecord]:
    return [_at_end(one, 1) for one in samples]


def _at_end(sample: AnyRecord, end: int) -> AnyRecord:
    return replace(sample, counts=sample.ends[end]) if sample.broken else sample


def _broken(games: Sequence[Game]) -> int:
    return sum(one.censored for one in games)


def _with_bounds(samples: Sequence[Any], score: Callable[[Floats], Metric]) -> Metric:
    """The score of counts, and of what they would be at either bound."""
    metric, broken = (
        score(np.concatenate([one.counts for one in samples])),
        sum(one.broken for one in samples),
    )
    if not broken:
        return metric
    ends = [score(np.concatenate([one.ends[at] for one in samples])) for at in (0, 1)]
    return between(metric, ends, broken)


def _uncorrected(samples: Sequence[Counted], rules: Rules) -> Metric:
    if not samples:
        return Metric(None, why="no games")
    games = sum(one.games for one in samples)
    return _with_bounds(samples, lambda counts: of_tally(counts, games, creativity(rules), score_ends(rules)))


def by_labels(traces: Sequence[Trace], rules: Rules, labels: Mapping[Place, bool]) -> Headline | None:
    """S_c by people's labels of verdicts; None if they leave a kind of verdict of which nothing is known."""
    games = [game(trace) for trace in traces]
    found = labelled.kinds(games, labels, rules.max_rounds)
    if labelled.unknown(games, found):
        return None
    records: dict[str, Record] = {}
    for _, walks in by_sample(traces):
        played = [game(walk) for walk in walks]
        counts, *ends = (
            labelled.tally(each, labels, rules.max_rounds, found["accepted"])
            for each in (played, *_ended(played, rules.max_rounds))
        )
        _join(records, played[0].picture, Record(counts, tuple(ends), len(played), _broken(played), found))
    return Headline(
        "creativity_score_corrected",
        records,
        lambda samples: _measured(samples, rules),
        lambda samples: _weighted(samples, rules),
        noise=lambda samples: _noise(samples, rules),
        judgements=sum(kind.labelled for kind in found.values()),
        least=lambda samples, _: [_at_end(one, 0) for one in samples],
        most=_most,
        ends=score_ends(rules),
    )


def _measured(samples: Sequence[Record], rules: Rules) -> Metric:
    if not samples:
        return Metric(None, why="no games")
    kinds, games = samples[0].kinds, sum(one.games for one in samples)
    return _with_bounds(samples, lambda counts: labelled.scores(counts, kinds, rules, games)[1])


def _weighted(samples: Sequence[Record], rules: Rules) -> Weighted:
    """Samples of several runs, each with the misses that the labels of its own run let expect."""
    counts = np.concatenate([labelled.expecting(one.counts, one.kinds) for one in samples])
    return of_sums(counts, lambda sums: labelled.expected(sums, rules)[..., 1])


def _noise(samples: Sequence[Record], rules: Rules) -> Floats:
    """How far S_c may be off for so few labels, [draws]."""
    sums = np.concatenate([one.counts for one in samples]).sum(axis=0)
    point, draws = labelled.posterior(sums, samples[0].kinds, rules)
    return np.asarray(draws[:, 1] - point[1])
