"""Scores corrected by people's labels of the run's own verdicts.

A stop is a guess that the judges accepted. A stop that people call wrong did not solve its game, so the game is
censored in that round, like a game that broke off (Kaplan and Meier 1958). If only some stops are labelled, each one
labelled right is weighted up to represent all stops. Right guesses that the judges refused are missing from the
score. The labels of randomly drawn refusals estimate their number, and they are added to the rounds in which right
guesses were found.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.score import of_curve, with_bounds
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.harness.judge_validation import Place
from lotbench.metrics import survival
from lotbench.metrics.agreement import DRAWS, Stratum
from lotbench.metrics.intervals import Floats, bounded, combined
from lotbench.types import Metric

AT_RISK, CERTAIN, RIGHT, UNLABELLED, REFUSED, OVERTURNED, MISSED = range(7)
"""The rows of a tally; each has one count for every round. AT_RISK: games at risk. CERTAIN: games solved without a judge.
RIGHT: stops labelled right, weighted. UNLABELLED: stops without a label. REFUSED: guesses that the first opinion refused.
OVERTURNED: guesses that a second opinion refused. MISSED: the expected number of right guesses among both kinds of refused
guesses, in the last column only."""


def kinds(games: Sequence[Game], labels: Mapping[Place, bool], last: int) -> dict[str, Stratum]:
    """Return the numbers of verdicts, of labels and of right guesses for each kind of verdict.

    The kinds are `accepted`, `refused` and `overturned`; see `Round.decision`.

    Args:
        games: The games of a run.
        labels: Whether the guess is right, by sample, repeat and round.
        last: The largest number of rounds of a game (N).
    """
    found: dict[str, list[bool | None]] = {"accepted": [], "refused": [], "overturned": []}
    for game in games:
        for round_ in game.watched(last):
            if round_.decision in found:
                found[round_.decision].append(labels.get((game.sample, game.repeat, round_.number)))
    return {
        name: Stratum(name == "accepted", len(each), len(each) - each.count(None), each.count(True))
        for name, each in found.items()
    }


def tally(games: Sequence[Game], labels: Mapping[Place, bool], last: int, stops: Stratum) -> Floats:
    """Return the counts of the games on each picture in each round, [pictures, 7, last], pictures in order of their names.

    The seven rows are AT_RISK to MISSED; row MISSED is 0 until `expecting` fills it in.

    Args:
        games: The games of a run.
        labels: Whether the guess is right, by sample, repeat and round.
        last: The largest number of rounds of a game (N).
        stops: The numbers of accepted guesses and of their labels; see `kinds`.
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


def expecting(counts: Floats, by_kind: Mapping[str, Stratum]) -> Floats:
    """Return counts [..., 7, last] with row MISSED filled in.

    Each refused or overturned guess counts as the share of right guesses among the labelled ones of its kind. `by_kind` has
    the numbers of labels; see `kinds`.
    """
    result = counts.copy()
    shares = np.array([by_kind["refused"].share, by_kind["overturned"].share])
    result[..., MISSED, -1] = _missed(counts, shares)
    return result


def curve(sums: Floats, missed: Floats, right: Floats) -> Floats:
    """Return the survival curve S_0..S_N, [..., N + 1]: the share of games without a right guess after each round.

    Args:
        sums: [..., 7, N]; tallies summed over pictures.
        missed: [...]; the number of right guesses among those refused and overturned.
        right: [...]; the share of stops in row UNLABELLED that count as right, beside row RIGHT.
    """
    true_stops = sums[..., RIGHT, :] + np.asarray(right)[..., None] * sums[..., UNLABELLED, :]
    refused = sums[..., REFUSED, :] + sums[..., OVERTURNED, :]
    # Missed guesses are spread over the rounds like the right stops and one more guess, itself spread like the refusals.
    spread = refused / np.maximum(refused.sum(axis=-1, keepdims=True), 1)
    where = (true_stops + spread) / (true_stops.sum(axis=-1, keepdims=True) + 1)
    events = sums[..., CERTAIN, :] + true_stops + np.asarray(missed)[..., None] * where
    at_risk = sums[..., AT_RISK, :]
    return survival.curve(np.stack([at_risk, np.minimum(events, at_risk)], axis=-2))


def corrected(
    games: Sequence[Game], labels: Mapping[Place, bool], settings: Settings
) -> tuple[Metric, Metric]:
    """Return the solve rate (1 - S_N) and the creativity score, corrected by the labels; see `scores` for their intervals.

    Neither has a value if a kind of verdict has no label.
    """
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
    """Return the corrected creativity score if people mislabelled the share `error` of right guesses, and of wrong ones.

    It corrects the shares of right guesses as Rogan and Gladen (1978) do. None if a kind of verdict has no label.
    """
    by_kind = kinds(games, labels, settings.max_rounds)
    if unknown(games, by_kind):
        return None

    def share(kind: Stratum) -> float:
        return min(1.0, max(0.0, (kind.share - error) / (1 - 2 * error)))

    stops = by_kind["accepted"]
    counts = tally(games, labels, settings.max_rounds, stops).sum(axis=0)
    counts[RIGHT] *= share(stops) / (stops.share or 1.0)
    # The expected number of misses need not be a whole number.
    missed = _missed(counts, np.array([share(by_kind["refused"]), share(by_kind["overturned"])]))
    return float(_values(counts, missed, np.array(0.0), settings)[1])


def scores(
    counts: Floats, by_kind: Mapping[str, Stratum], settings: Settings, games: int
) -> tuple[Metric, Metric]:
    """Return the solve rate and the creativity score of counts by picture, with 95 % intervals.

    The interval over pictures and that of the uncertainty of the labels are combined (MOVER; Zou and Donner 2008).

    Args:
        counts: [pictures, 7, last]; a result of `tally`.
        by_kind: The label counts of the run; see `kinds`.
        settings: The settings of the run.
        games: The number of games.
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
    """Return [..., 2]: solve rate and creativity score of tallies [..., 7, N] whose row MISSED is filled in."""
    return _values(sums, sums[..., MISSED, -1], np.array(0.0), settings)


def _component(sums: Floats, settings: Settings, index: int) -> Floats:
    """Return the solve rate (`index` 0) or the creativity score (1) of `expected`."""
    return np.asarray(expected(sums, settings)[..., index])


def posterior(sums: Floats, by_kind: Mapping[str, Stratum], settings: Settings) -> tuple[Floats, Floats]:
    """Return solve rate and creativity score, [2], and draws of both from the posterior of the labels, [DRAWS, 2].

    Args:
        sums: [7, N]; a tally summed over pictures.
        by_kind: The label counts of the run; see `kinds`.
        settings: The settings of the run.
    """
    rng = np.random.default_rng([0, 1958])
    shares = np.stack([by_kind["refused"].draw_share(rng), by_kind["overturned"].draw_share(rng)], axis=-1)
    # If no labelled stop was right, unlabelled stops may still be right.
    stops, none_right = by_kind["accepted"], by_kind["accepted"].true == 0
    unseen = stops.draw_share(rng) if none_right and stops.labelled < stops.size else np.zeros(DRAWS)
    every = np.broadcast_to(sums, (DRAWS, *sums.shape))
    draws = _values(every, _missed(every, shares), unseen, settings)
    return expected(expecting(sums, by_kind), settings), draws


def _missed(sums: Floats, shares: Floats) -> Floats:
    """Return [...]: the expected number of right guesses among those refused and overturned.

    Args:
        sums: [..., 7, N]; tallies summed over pictures.
        shares: [..., 2]; the shares of right guesses among the refused and among the overturned.
    """
    return np.asarray((shares * sums[..., (REFUSED, OVERTURNED), :].sum(axis=-1)).sum(axis=-1))


def _values(sums: Floats, missed: Floats, right: Floats, settings: Settings) -> Floats:
    """Return [..., 2]: solve rate and creativity score of tallies [..., 7, N]; see `curve` for the arguments."""
    unsolved = curve(sums, missed, right)
    return np.stack([1 - unsolved[..., -1], of_curve(unsolved, settings)], axis=-1)


def unknown(games: Sequence[Game], by_kind: Mapping[str, Stratum]) -> str | None:
    """Return why the labels give no score (no games, or a kind of verdict without a label); None if they do."""
    if not games:
        return "no games"
    bare = [name for name, kind in by_kind.items() if kind.size and not kind.labelled]
    return f"no {bare[0]} guess of this run has a label" if bare else None
