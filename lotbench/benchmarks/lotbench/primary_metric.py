"""The primary metric of the game: S_c (Eq. 8), computed from one record of counts for each picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lotbench.benchmarks.lotbench.games import game
from lotbench.benchmarks.lotbench.score import ENDS, bound, creativity, of_tally, score_ends, tally
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.metrics.intervals import Floats
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, between, by_sample, of_sums
from lotbench.types import Metric, Trace


@dataclass(frozen=True, slots=True)
class Record:
    """The counts of the games on a picture. They replace the games, whose texts would fill the memory in a long run.

    Attributes:
        counts: [1, 2, last] the games at risk and the solves of each round; see `score.tally`.
        ends: Two arrays like `counts`: if every censored game had never been solved, and if each had been solved at
            once.
        games: The number of games.
        broken: The number of censored games.
    """

    counts: Floats
    ends: tuple[Floats, ...]
    games: int
    broken: int


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return S_c of a run with one record for each picture; games that broke off are censored."""
    records: dict[str, Record] = {}
    last, samples = settings.max_rounds, 0
    for _, episodes in by_sample(traces):
        games = [game(episode) for episode in episodes]
        ends = tuple(tally(bound(games, last, end), last) for end in ENDS)
        new = Record(tally(games, last), ends, len(games), sum(played.censored for played in games))
        if old := records.get(games[0].picture):
            new = Record(
                old.counts + new.counts,
                tuple(map(np.add, old.ends, new.ends)),
                old.games + new.games,
                old.broken + new.broken,
            )
        records[games[0].picture] = new
        samples += 1
    return of_counts(records, settings, "picture" if len(records) < samples else "sample")


def of_counts(records: Mapping[str, Record], settings: Settings, unit: str = "sample") -> PrimaryMetric:
    """Return S_c computed from records; `unit` is what a record stands for, `picture` or `sample`."""

    def weighted(samples: Sequence[Record]) -> Weighted:
        return of_sums(np.concatenate([record.counts for record in samples]), creativity(settings))

    def score(counts: Sequence[Floats], games: int) -> Metric:
        return of_tally(np.concatenate(counts), games, creativity(settings), score_ends(settings))

    def measure(samples: Sequence[Record]) -> Metric:
        if not samples:
            return Metric(None, why="no games")
        games, broken = sum(record.games for record in samples), sum(record.broken for record in samples)
        metric = score([record.counts for record in samples], games)
        if not broken:
            return metric
        ends = [score([record.ends[end] for record in samples], games) for end in (0, 1)]
        return between(metric, ends, broken, games)

    return PrimaryMetric(
        "creativity_score",
        records,
        measure,
        weighted,
        least=_least,
        most=lambda samples: [_at_end(record, 1) for record in samples],
        unit=unit,
        weight=lambda record: record.games,
        ends=score_ends(settings),
    )


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


def _at_end(sample: Record, end: int) -> Record:
    return replace(sample, counts=sample.ends[end]) if sample.broken else sample
