"""The metrics of an encore: how many answers of a game counted (leaps), and their score.

leap_score is the sum over leaps k of beta exp(-alpha t_k). Here t_k is the number of failed attempts before leap k
plus `round_origin`, so the first leap is worth what the solve is worth in S_c (Eq. 8). A game that broke off enters
the means for the rounds in which it was observed: the mean cumulative function of recurrent events (Nelson 1995),
which is the plain mean if no game broke off.
"""

import math
from collections.abc import Sequence

import numpy as np

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.metrics.intervals import Floats, divided, estimated
from lotbench.types import Metric

NAMES = ("leaps", "leap_score")


def metrics(games: Sequence[Game], settings: Settings) -> dict[str, Metric]:
    """Return `leaps` and `leap_score`, both as means over games with 95 % intervals over pictures."""
    return {name: _metric(games, settings, weighted=name == "leap_score") for name in NAMES}


def expected(stop: float, settings: Settings) -> dict[str, float | None]:
    """Return the expected `leaps` and `leap_score` of games in which every answer counts with probability `stop`.

    The number of failed attempts before attempt r (from 0) is binomial. So the mean worth of a leap there is beta
    exp(-alpha origin) (p + (1 - p) exp(-alpha))^r with p = `stop`.
    """
    turns = np.arange(settings.max_rounds)
    values = (stop + (1 - stop) * math.exp(-settings.alpha)) ** turns
    total = stop * settings.worth(settings.round_origin) * float(values.sum())
    return {"leaps": stop * settings.max_rounds, "leap_score": total}


def _tally(games: Sequence[Game], settings: Settings, *, weighted: bool) -> Floats:
    """Return counts by picture, [pictures, 2, N]: games observed in each round, and leaps in each round.

    With `weighted`, a leap counts its worth instead of 1.
    """
    places = {name: index for index, name in enumerate(sorted({game.picture for game in games}))}
    counts = np.zeros((len(places), 2, settings.max_rounds))
    for game in games:
        row, failed = counts[places[game.picture]], 0
        for round_ in game.known_rounds(settings.max_rounds):
            row[0, round_.number - 1] += 1
            if round_.leap:
                worth = settings.worth(failed + settings.round_origin)
                row[1, round_.number - 1] += worth if weighted else 1.0
            else:
                failed += 1
    return counts


def _cumulative(sums: Floats) -> Floats:
    """Return the mean cumulative function at round N, [..., 2, N] to [...]: leaps per observed game, summed over rounds."""
    at_risk, events = sums[..., 0, :], sums[..., 1, :]
    return np.asarray(divided(events, at_risk).sum(axis=-1))


def _metric(games: Sequence[Game], settings: Settings, *, weighted: bool) -> Metric:
    if not games:
        return Metric(None, why="no games")
    counts = _tally(games, settings, weighted=weighted)
    most = settings.max_rounds * (settings.worth(settings.round_origin) if weighted else 1.0)
    why = "every game broke off before its last round"
    return estimated(counts, _cumulative, (0.0, most), why, observations=len(games))
