"""The score of a game, and the creativity score over games (Sec. 5.7, Eq. 8).

A game that broke off because a judge or the oracle failed is censored, neither dropped nor scored. Every mean is
taken over the Kaplan-Meier curve, which gives the plain mean if no game is censored. A game that broke off because
the candidate failed is unsolved.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from lotbench.benchmarks.lotbench import leaps
from lotbench.benchmarks.lotbench.games import Game, Opinion, Round, game, read_game
from lotbench.benchmarks.lotbench.settings import GameEpisode, Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import survival
from lotbench.metrics.intervals import Ends, Floats, Statistic, estimated
from lotbench.metrics.primary_metric import between
from lotbench.types import JSON, Metric, Score, Trace

ENDS: tuple[Literal["at once", "never"], ...] = ("never", "at once")
"""The two extreme assumptions about censored games: never solved, or solved in the first round with an unknown verdict."""


def unsolved_worth(settings: Settings, unsolved: str | None = None) -> float:
    """Return the score of an unsolved game: with `cap` the worth of a solve after N failed attempts (Eq. 8), with `zero` 0.

    N is the largest number of rounds. `unsolved` replaces the setting of that name; None keeps it.
    """
    return settings.worth(settings.max_rounds) if (unsolved or settings.unsolved) == "cap" else 0.0


def grade(episode: GameEpisode) -> Score:
    """Return the score of one game; it has no value if the game is not over, or if a judge or the oracle failed.

    Its parts name rounds, counted from 1: `rounds` is the round of the solve (N if unsolved), `first_positive` the
    first round whose check accepted, `attempts` the last round with a reply. An encore adds `leaps` (t of each leap)
    and `leap_score`.
    """
    settings = episode.settings
    outcome = episode.state["outcome"]
    if outcome is None:
        return Score(None, "the game is not over")
    played = read_game(outcome, episode.state["steps"], episode.sample.id, episode.repeat)
    rounds: int | None = None
    value: float | None = None
    if played.solved is not None and not played.broke_off:
        rounds, value = played.solved, settings.worth(played.solved - 1 + settings.round_origin)
    elif not played.broke_off:
        rounds, value = settings.max_rounds, unsolved_worth(settings)
    times = [leap.failed + settings.round_origin for leap in played.leaps]
    encore: dict[str, JSON] = {"leaps": times, "leap_score": sum((settings.worth(t) for t in times), 0.0)}
    return Score(
        value,
        why=f"{outcome}: {episode.state.get('why') or 'no reason given'}" if value is None else None,
        parts={
            "rounds": rounds,
            "first_positive": played.first_positive,
            "attempts": played.played,
            "unsolved_through": played.unsolved_through,
            "valid_guess": played.valid,
            "picture": getattr(episode.sample, "image", None),
            "language": getattr(episode.sample, "language", None),
            "tier": getattr(episode.sample, "tier", None),
            **(encore if settings.encore else {}),
        },
    )


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the metrics of a run with 95 % intervals over pictures.

    `n` counts pictures, and `observations` counts games, censored ones too.
    """
    games = [game(trace) for trace in traces]
    measures: dict[str, Callable[[Sequence[Game], Settings], Metric]] = {
        "creativity_score": estimate,
        "creativity_score_cap": partial(estimate, unsolved="cap"),
        "creativity_score_unconfirmed": partial(estimate, unconfirmed=True),
        "solve_rate": solve_rate,
        "mean_rounds": mean_rounds,
    }
    by_name = {name: with_bounds(measure, games, settings) for name, measure in measures.items()}
    return by_name | (leaps.metrics(games, settings) if settings.encore else {})


def expected(stop: float, first: float | None, settings: Settings) -> dict[str, float | None]:
    """Return the expected metrics of a run in which every guess ends its game with the same probability.

    Args:
        stop: The probability that a round ends the game: for wrong guesses, the FPR of all judges who decide.
        first: The same probability if the first judge decided alone; None if unknown.
        settings: The settings of the run.
    """
    sums = constant(stop, settings.max_rounds)
    score = creativity(settings)
    return (leaps.expected(stop, settings) if settings.encore else {}) | {
        "creativity_score": float(score(sums)),
        "creativity_score_cap": float(creativity(settings, "cap")(sums)),
        "creativity_score_unconfirmed": (
            None if first is None else float(score(constant(first, settings.max_rounds)))
        ),
        "solve_rate": float(_solved(sums)),
        "mean_rounds": float(_attempts(sums)),
    }


def constant(stop: Floats | float, last: int) -> Floats:
    """Return the expected tally of one game that ends in each round with the same probability; see `tally`.

    It maps the probabilities `stop`, [...], to [..., 2, last].
    """
    ends = np.asarray(stop, dtype=float)[..., None]
    at_risk = (1 - ends) ** np.arange(last)
    return np.stack([at_risk, ends * at_risk], axis=-2)


def estimate(
    games: Sequence[Game], settings: Settings, *, unsolved: str | None = None, unconfirmed: bool = False
) -> Metric:
    """Return S_c over games (Eq. 8): the sum over rounds k of (S_{k-1} - S_k) worth(t_k), plus S_N times `unsolved_worth`.

    S_k is the (Kaplan-Meier) share of games still unsolved after round k; t_k counts the failed attempts before round k's.

    Args:
        games: The games.
        settings: The settings of the run.
        unsolved: Replaces the setting of that name; None keeps it.
        unconfirmed: Whether the first yes of a check counts as the solve, confirmed or not.
    """
    statistic = creativity(settings, unsolved)
    return _metric(games, settings, statistic, score_ends(settings), unconfirmed=unconfirmed)


def score_ends(settings: Settings) -> Ends:
    """Return the lowest and the highest possible S_c."""
    return 0.0, settings.worth(settings.round_origin)


def creativity(settings: Settings, unsolved: str | None = None) -> Statistic:
    """Return the function that maps a summed tally, [..., 2, last], to S_c, [...] (Eq. 8)."""
    return lambda sums: of_curve(survival.curve(sums), settings, unsolved)


def of_curve(curve: Floats, settings: Settings, unsolved: str | None = None) -> Floats:
    """Return S_c of a survival curve S_0..S_N, [..., N + 1] to [...] (Eq. 8)."""
    values = np.array([settings.worth(k + settings.round_origin) for k in range(settings.max_rounds)])
    rest = unsolved_worth(settings, unsolved)
    return np.asarray((curve[..., :-1] - curve[..., 1:]) @ values + curve[..., -1] * rest)


def solve_rate(games: Sequence[Game], settings: Settings) -> Metric:
    """Return the solve rate of games, 1 - S_N, with its interval."""
    return _metric(games, settings, _solved, (0.0, 1.0))


def mean_rounds(games: Sequence[Game], settings: Settings) -> Metric:
    """Return the mean number of attempts, 1..N, with its interval; an unsolved game counts N. Lower is better."""
    ends = (1.0, float(settings.max_rounds))
    return replace(_metric(games, settings, _attempts, ends), better="lower")


def _solved(sums: Floats) -> Floats:
    return np.asarray(1 - survival.curve(sums)[..., -1])


def _attempts(sums: Floats) -> Floats:
    return survival.restricted_mean(survival.curve(sums))


def with_bounds(
    measure: Callable[[Sequence[Game], Settings], Metric], games: Sequence[Game], settings: Settings
) -> Metric:
    """Return a metric with bounds: its values if every censored game had been solved at once, and if none ever had.

    The Kaplan-Meier estimate assumes that censoring is independent of solving; a judge that fails mostly on right
    guesses violates that.
    """
    metric = measure(games, settings)
    if not any(played.censored for played in games):
        return metric
    return between(
        metric,
        [measure(bound(games, settings.max_rounds, end), settings) for end in ENDS],
        sum(played.censored for played in games),
        len(games),
    )


def bound(games: Sequence[Game], last: int, end: Literal["at once", "never"]) -> tuple[Game, ...]:
    """Return the games as if every censored one had been solved in its first unknown round (`at once`), or never."""

    def ended(played: Game) -> Game:
        if not played.censored:
            return played
        if end == "never":
            return replace(played, outcome="unsolved")
        won = min(played.unsolved_through + 1, last)
        sure = Round(won, status="ok", opinions=(Opinion("check", 0, True, "exact", "ok", {}, {}),))
        rounds = (*(round_ for round_ in played.rounds if round_.number != won), sure)
        return replace(played, outcome="solved", solved=won, rounds=rounds)

    return tuple(ended(played) for played in games)


def tally(games: Sequence[Game], last: int, *, unconfirmed: bool = False) -> Floats:
    """Return the counts of the games on each picture, [pictures, 2, last], in order of the pictures' names.

    Row 0 has the games at risk in each round, row 1 those solved in it. Games on one picture are correlated and form
    one unit. With `unconfirmed`, the first yes of a check counts as the solve, confirmed or not.
    """
    pictures: dict[str, list[Game]] = {}
    for played in games:
        pictures.setdefault(played.picture, []).append(played)
    counts = np.zeros((len(pictures), 2, last))
    for index, picture in enumerate(sorted(pictures)):
        spans = [played.span(last, unconfirmed=unconfirmed) for played in pictures[picture]]
        counts[index] = survival.counts(spans, last)
    return counts


def _metric(
    games: Sequence[Game], settings: Settings, statistic: Statistic, ends: Ends, *, unconfirmed: bool = False
) -> Metric:
    """Return a statistic of the games' summed tally with its interval; `ends` are its lowest and highest possible value."""
    if not games:
        return Metric(None, why="no games")
    counts = tally(games, settings.max_rounds, unconfirmed=unconfirmed)
    return of_tally(counts, len(games), statistic, ends)


def of_tally(counts: Floats, games: int, statistic: Statistic, ends: Ends) -> Metric:
    """Return a statistic of a tally with its interval over pictures; it has no value if the statistic is NaN.

    Args:
        counts: The tally, [pictures, 2, last].
        games: The number of games in it.
        statistic: Maps a tally summed over pictures, [..., 2, last], to values [...].
        ends: The lowest and the highest possible value.
    """
    why = "every game that was not solved broke off before the last round"
    return estimated(counts, statistic, ends, why, observations=games)
