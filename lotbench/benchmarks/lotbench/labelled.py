"""Scores corrected by people's labels of this run's own verdicts.

A stop that people call false did not solve its game, so the game is censored there, like a game that broke off
(Kaplan and Meier 1958). If only some stops are labelled, each right one stands for its share of all stops. A right
guess that the judge refused is missing; labels of drawn refusals estimate how many there are, and these are added to
the rounds in which right guesses were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.score import of_curve, with_bounds
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.judge_validation import Place
from lotbench.metrics import survival
from lotbench.metrics.agreement import DRAWS, Labelled
from lotbench.metrics.intervals import Floats, bounded, combined
from lotbench.types import Metric

AT_RISK, CERTAIN, RIGHT, UNLABELLED, REFUSED, OVERTURNED, MISSED = range(7)
"""The rows of a tally, each with one count for every round: games at risk; solved without a judge; right stops, weighted;
stops without a label; first-seen guesses refused by the first judge; such guesses overturned by the second; and, in the
last column, the expected number of right guesses among those refused."""


def kinds(games: Sequence[Game], labels: Mapping[Place, bool], last: int) -> dict[str, Labelled]:
    """Return the labels of each kind of a judge's verdict: accepted, refused and overturned."""
    size: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for game in games:
        for round_ in game.watched(last):
            size[round_.decision] += 1
            label = labels.get((game.sample, game.repeat, round_.number))
            if label is not None:
                labelled[round_.decision] += 1
                right[round_.decision] += label
    names = ("accepted", "refused", "overturned")
    return {name: Labelled(size[name], labelled[name], right[name]) for name in names}


def tally(games: Sequence[Game], labels: Mapping[Place, bool], last: int, stops: Labelled) -> Floats:
    """Return the counts of each picture, [pictures, 7, last], in order of the pictures' names; MISSED is still 0.

    Args:
        games: The games of a run.
        labels: People's labels by place: whether the guess is right.
        last: The number of rounds.
        stops: The labels of the accepted guesses.
    """
    places = {name: index for index, name in enumerate(sorted({game.picture for game in games}))}
    counts = np.zeros((len(places), 7, last))
    for game in games:
        row, watched = counts[places[game.picture]], game.watched(last)
        for number, round_ in enumerate(watched):
            row[AT_RISK, number] += 1
            row[CERTAIN, number] += round_.decision == "exact"
            row[REFUSED, number] += round_.decision == "refused"
            row[OVERTURNED, number] += round_.decision == "overturned"
            if round_.decision == "accepted":
                label = labels.get((game.sample, game.repeat, round_.number))
                row[UNLABELLED, number] += label is None
                row[RIGHT, number] += bool(label) * stops.size / max(stops.labelled, 1)
    return counts


def expecting(counts: Floats, by_kind: Mapping[str, Labelled]) -> Floats:
    """Return counts [..., 7, last] with MISSED filled in from the labels of their run."""
    result = counts.copy()
    shares = np.array([by_kind["refused"].share, by_kind["overturned"].share])
    result[..., MISSED, -1] = _missed(counts, shares)
    return result


def curve(sums: Floats, missed: Floats, right: Floats) -> Floats:
    """Return the survival curve S_0..S_N of games without a right guess, [..., 7, N] to [..., N + 1].

    Args:
        sums: Summed counts.
        missed: [...] how many of the refused and overturned guesses were right.
        right: [...] the share of unlabelled stops that were right.
    """
    true_stops = sums[..., RIGHT, :] + np.asarray(right)[..., None] * sums[..., UNLABELLED, :]
    refused = sums[..., REFUSED, :] + sums[..., OVERTURNED, :]
    # Misses are spread over rounds like right stops, plus one guess spread like the refusals.
    spread = refused / np.maximum(refused.sum(axis=-1, keepdims=True), 1)
    where = (true_stops + spread) / (true_stops.sum(axis=-1, keepdims=True) + 1)
    events = sums[..., CERTAIN, :] + true_stops + np.asarray(missed)[..., None] * where
    at_risk = sums[..., AT_RISK, :]
    return survival.curve(np.stack([at_risk, np.minimum(events, at_risk)], axis=-2))


def corrected(
    games: Sequence[Game], labels: Mapping[Place, bool], settings: Settings
) -> tuple[Metric, Metric]:
    """Return the solve rate, 1 - S_N, and the creativity score by the labels, with 95 % intervals over samples."""
    by_kind = kinds(games, labels, settings.max_rounds)
    if why := unknown(games, by_kind):
        none = Metric(None, why=why)
        return none, none

    def measure(some: Sequence[Game], settings: Settings) -> tuple[Metric, Metric]:
        return scores(
            tally(some, labels, settings.max_rounds, by_kind["accepted"]), by_kind, settings, len(games)
        )

    rate = with_bounds(lambda some, chosen: measure(some, chosen)[0], games, settings)
    score = with_bounds(lambda some, chosen: measure(some, chosen)[1], games, settings)
    return rate, score


def at_error(
    games: Sequence[Game], labels: Mapping[Place, bool], settings: Settings, error: float
) -> float | None:
    """Return the creativity score if this share of the labels were wrong, either way (Rogan and Gladen 1978)."""
    by_kind = kinds(games, labels, settings.max_rounds)
    if unknown(games, by_kind):
        return None

    def share(kind: Labelled) -> float:
        return min(1.0, max(0.0, (kind.share - error) / (1 - 2 * error)))

    stops = by_kind["accepted"]
    counts = tally(games, labels, settings.max_rounds, stops).sum(axis=0)
    counts[RIGHT] *= share(stops) / (stops.share or 1.0)
    # The expected number of misses need not be a whole number.
    missed = _missed(counts, np.array([share(by_kind["refused"]), share(by_kind["overturned"])]))
    return float(_values(counts, missed, np.array(0.0), settings)[1])


def scores(
    counts: Floats, by_kind: Mapping[str, Labelled], settings: Settings, games: int
) -> tuple[Metric, Metric]:
    """Return the solve rate and the creativity score of counts by picture.

    The interval over samples and the interval from drawing refusals are combined as variances are (Zou and Donner 2008).

    Args:
        counts: [pictures, 7, last] as of `tally`.
        by_kind: The labels of the run.
        settings: The settings of the run.
        games: How many games there are.
    """
    value, draws = posterior(counts.sum(axis=0), by_kind, settings)
    if np.isnan(value).any():
        none = Metric(None, why="no game was left to be watched before the last round")
        return none, none
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    full, metrics = expecting(counts, by_kind), []
    for index, span in enumerate(((0.0, 1.0), (0.0, settings.worth(settings.round_origin)))):
        sampled = bounded(full, partial(_component, settings=settings, index=index), span)
        interval = combined(float(value[index]), (sampled, (float(low[index]), float(high[index]))), span)
        metrics.append(Metric(float(value[index]), *interval, n=len(counts), observations=games))
    return metrics[0], metrics[1]


def expected(sums: Floats, settings: Settings) -> Floats:
    """Return solve rate and creativity score of sums with MISSED filled in, [..., 7, N] to [..., 2]."""
    return _values(sums, sums[..., MISSED, -1], np.array(0.0), settings)


def _component(sums: Floats, settings: Settings, index: int) -> Floats:
    """Return one of the two values of `expected`."""
    return np.asarray(expected(sums, settings)[..., index])


def posterior(sums: Floats, by_kind: Mapping[str, Labelled], settings: Settings) -> tuple[Floats, Floats]:
    """Return solve rate and creativity score of sums, [2], and draws of them from the uncertainty of the labels, [draws, 2]."""
    rng = np.random.default_rng([0, 1958])
    shares = np.stack([by_kind["refused"].draw_share(rng), by_kind["overturned"].draw_share(rng)], axis=-1)
    # If no labelled stop was right, unlabelled stops may still be.
    stops, none_right = by_kind["accepted"], by_kind["accepted"].right == 0
    unseen = stops.draw_share(rng) if none_right and stops.labelled < stops.size else np.zeros(DRAWS)
    every = np.broadcast_to(sums, (DRAWS, *sums.shape))
    draws = _values(every, _missed(every, shares), unseen, settings)
    return expected(expecting(sums, by_kind), settings), draws


def _missed(sums: Floats, shares: Floats) -> Floats:
    """Return the number of right guesses among those refused and overturned, from the share of each, [..., 2]."""
    return np.asarray((shares * sums[..., (REFUSED, OVERTURNED), :].sum(axis=-1)).sum(axis=-1))


def _values(sums: Floats, missed: Floats, right: Floats, settings: Settings) -> Floats:
    """Return solve rate and creativity score of sums, [..., 7, N] to [..., 2]; see `curve`."""
    unsolved = curve(sums, missed, right)
    return np.stack([1 - unsolved[..., -1], of_curve(unsolved, settings)], axis=-1)


def unknown(games: Sequence[Game], by_kind: Mapping[str, Labelled]) -> str | None:
    """Return the reason why labels do not give a score; None if they do."""
    if not games:
        return "no games"
    bare = [name for name, kind in by_kind.items() if kind.size and not kind.labelled]
    return f"no {bare[0]} guess of this run has a label" if bare else None
