"""The primary metric of the game: S_c (Eq. 8), corrected by people's labels if the runs have them.

A judge that accepts more wrong guesses of one model than of another favours that model. Labels of the runs' own
verdicts correct that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lotbench.benchmarks.lotbench import labelled
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.score import ENDS, between, bound, creativity, of_tally, score_ends, tally
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.judge_validation import Place
from lotbench.metrics.agreement import Labelled
from lotbench.metrics.intervals import Floats
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, by_sample, of_sums
from lotbench.types import Metric, Trace

Count = Callable[[Sequence[Game]], Floats]


@dataclass(frozen=True, slots=True)
class Record:
    """The counts of the games on a picture. They replace the games, whose texts would fill the memory in a long run.

    Attributes:
        counts: [1, 2, last] as of `score.tally`, or [1, 7, last] as of `labelled.tally` if people labelled verdicts.
        ends: Two arrays like `counts`: if every censored game had never been solved, and if each had been solved at
            once.
        games: The number of games.
        broken: The number of censored games.
        kinds: The label counts of the run by kind of verdict, as of `labelled.kinds`; empty without labels.
    """

    counts: Floats
    ends: tuple[Floats, ...]
    games: int
    broken: int
    kinds: Mapping[str, Labelled] = field(default_factory=dict)


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return S_c of a run with one record for each picture; games that broke off are censored."""
    records, shared = _records(traces, settings.max_rounds, lambda games: tally(games, settings.max_rounds))
    metric = of_counts(records, settings, "picture" if shared else "sample")
    return replace(metric, by_labels=lambda labels: by_labels(traces, settings, labels))


def of_counts(records: Mapping[str, Record], settings: Settings, unit: str = "sample") -> PrimaryMetric:
    """Return S_c computed from records; `unit` is what a record stands for, `picture` or `sample`."""

    def weighted(samples: Sequence[Record]) -> Weighted:
        return of_sums(np.concatenate([record.counts for record in samples]), creativity(settings))

    def score(counts: Floats, games: int) -> Metric:
        return of_tally(counts, games, creativity(settings), score_ends(settings))

    return PrimaryMetric(
        "creativity_score",
        records,
        lambda samples: _measured(samples, score),
        weighted,
        least=_least,
        most=_most,
        unit=unit,
        weight=lambda record: record.games,
        ends=score_ends(settings),
    )


def by_labels(
    traces: Sequence[Trace], settings: Settings, labels: Mapping[Place, bool]
) -> PrimaryMetric | None:
    """Return S_c corrected by people's labels; None if a kind of verdict has no label.

    `labels` says whether the guess is right, by sample, repeat and round.
    """
    games, last = [game(trace) for trace in traces], settings.max_rounds
    kinds = labelled.kinds(games, labels, last)
    if labelled.unknown(games, kinds):
        return None
    records, _ = _records(traces, last, lambda some: labelled.tally(some, labels, last, kinds["accepted"]))

    def measure(samples: Sequence[Record]) -> Metric:
        return _measured(
            samples, lambda counts, games: labelled.scores(counts, samples[0].kinds, settings, games)[1]
        )

    return PrimaryMetric(
        "creativity_score_corrected",
        {picture: replace(record, kinds=kinds) for picture, record in records.items()},
        measure,
        lambda samples: _weighted(samples, settings),
        noise=lambda samples: _noise(samples, settings),
        judgements=sum(kind.labelled for kind in kinds.values()),
        least=lambda samples, _: [_at_end(record, 0) for record in samples],
        most=_most,
        weight=lambda record: record.games,
        ends=score_ends(settings),
    )


def _records(traces: Sequence[Trace], last: int, count: Count) -> tuple[dict[str, Record], bool]:
    """Return the record of each picture, and whether any two samples share a picture.

    `count` maps the games of a sample to counts [1, rows, last].
    """
    records: dict[str, Record] = {}
    shared = False
    for _, episodes in by_sample(traces):
        games = [game(episode) for episode in episodes]
        ends = tuple(count(bound(games, last, end)) for end in ENDS)
        new = Record(count(games), ends, len(games), sum(played.censored for played in games))
        picture = games[0].picture
        if old := records.get(picture):
            shared = True
            new = Record(
                old.counts + new.counts,
                tuple(map(np.add, old.ends, new.ends)),
                old.games + new.games,
                old.broken + new.broken,
            )
        records[picture] = new
    return records, shared


def _measured(samples: Sequence[Record], score: Callable[[Floats, int], Metric]) -> Metric:
    """Return the score of records, with bounds if any game broke off; `score` takes counts and number of games."""
    if not samples:
        return Metric(None, why="no games")
    games, broken = sum(record.games for record in samples), sum(record.broken for record in samples)
    metric = score(np.concatenate([record.counts for record in samples]), games)
    if not broken:
        return metric
    ends = [score(np.concatenate([record.ends[at] for record in samples]), games) for at in (0, 1)]
    return between(metric, ends, broken)


def _least(samples: Sequence[Record], fpr: float) -> Sequence[Record]:
    """Return the records changed to the lowest score, for a judge with the false positive rate `fpr`.

    No censored game is solved, and the solves that the judge would have given to wrong guesses are taken away.
    """
    ended = [_at_end(record, 0) for record in samples]
    if not fpr:
        return ended
    at_risk, solved = np.concatenate([record.counts for record in ended]).sum(axis=0)
    wrong = np.minimum(1, np.divide(fpr * at_risk, solved, out=np.zeros_like(solved), where=solved > 0))
    return [replace(record, counts=_unsolved(record.counts, wrong)) for record in ended]


def _unsolved(counts: Floats, wrong: Floats) -> Floats:
    """Return counts without a share of the solves of each round; their games stay at risk in all later rounds.

    Args:
        counts: [1, 2, last]; the games at risk and the solves of each round.
        wrong: [last]; the share of the solves of each round that is taken away.
    """
    lost = counts[:, 1] * wrong
    still = lost.cumsum(axis=-1)
    return counts + np.stack([still - lost, -lost], axis=1)


def _most(samples: Sequence[Record]) -> Sequence[Record]:
    return [_at_end(record, 1) for record in samples]


def _at_end(sample: Record, end: int) -> Record:
    return replace(sample, counts=sample.ends[end]) if sample.broken else sample


def _weighted(samples: Sequence[Record], settings: Settings) -> Weighted:
    """Return S_c as a function of weights of records; each record has the expected missed guesses of its own run."""
    counts = np.concatenate([labelled.expecting(record.counts, record.kinds) for record in samples])
    return of_sums(counts, lambda sums: labelled.expected(sums, settings)[..., 1])


def _noise(samples: Sequence[Record], settings: Settings) -> Floats:
    """Return draws, [DRAWS], of the error that the limited number of labels puts on S_c."""
    sums = np.concatenate([record.counts for record in samples]).sum(axis=0)
    point, draws = labelled.posterior(sums, samples[0].kinds, settings)
    return np.asarray(draws[:, 1] - point[1])
