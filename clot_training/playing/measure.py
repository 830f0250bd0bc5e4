"""What the games of a training came to: rewards with their parts, what was said, and what the samples' lists say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clot_training.playing.judges import right
from lotbench.benchmarks.lotbench import labelled
from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.metrics.intervals import bootstrap
from lotbench.types import Trace


@dataclass(frozen=True, slots=True)
class Watched:
    """A game of a training: the step that played it, its score, and its rounds."""

    step: int
    reward: float | None
    game: Game


def watched(traces: Sequence[Trace], together: int) -> list[Watched]:
    """The games of a training, of which each step played so many on a sample at most; in order of steps."""
    made = [Watched(trace.repeat // together, trace.score.value, game(trace)) for trace in traces]
    return sorted(made, key=lambda one: (one.step, one.game.sample, one.game.repeat))


def parts(games: Sequence[Watched], rules: Rules, samples: Mapping[str, Any]) -> dict[str, Any]:
    """The reward of games and what it is made of.

    `key_text`, `judged`, `overturned`: shares of all games, won by the key text itself, which no judge sees; won by a
    judge's yes; with a yes that the second judge took back. `round`: of the won games, the mean round. `invalid`: the
    share of turns in which there was no filling. `listed`: the score if a judge's yes counts only where the sample's
    own lists know the filling as right; they do not know every right one, so it is the least that it can be.
    """
    known = [one for one in games if one.reward is not None]
    how = [_won(one.game) for one in known]
    rounds = [each for one in games for each in one.game.rounds if each.status]
    solved = [one.game.solved for one in known if one.game.solved]
    least = [listed(one, rules, samples) for one in known]
    return {
        "reward": mean([one.reward or 0.0 for one in known], [one.step for one in known]),
        "listed": mean(least, [one.step for one in known]),
        "games": len(known),
        "broke_off": len(games) - len(known),
        "key_text": _share([one == "exact" for one in how]),
        "judged": _share([one == "accepted" for one in how]),
        "overturned": _share(
            [any(each.decision == "overturned" for each in one.game.rounds) for one in known]
        ),
        "round": float(np.mean(solved)) if solved else None,
        "invalid": _share([each.status != "ok" for each in rounds]),
    }


def errors(games: Sequence[Watched], samples: Mapping[str, Any]) -> dict[str, Any]:
    """The judge against the samples' lists: of what it saw for the first time, how much of what is wrong it accepted."""
    wrong = accepted = refused = good = 0
    for one in games:
        for each in one.game.rounds:
            if each.decision in ("none", "exact"):
                continue
            yes = each.decision == "accepted"
            if right(samples[one.game.sample], each.filling or ""):
                good, refused = good + 1, refused + (not yes)
            else:
                wrong, accepted = wrong + 1, accepted + yes
    return {
        "wrong": wrong,
        "accepted": accepted,
        "fpr": accepted / wrong if wrong else None,
        "right": good,
        "refused": refused,
        "fnr": refused / good if good else None,
    }


def by_labels(games: Sequence[Watched], rules: Rules, samples: Mapping[str, Any]) -> dict[str, Any]:
    """The score that lotbench makes of games when the samples' lists are the labels of all their verdicts."""
    played = [one.game for one in games]
    labels = {
        (one.sample, one.repeat, each.number): right(samples[one.sample], each.filling or "")
        for one in played
        for each in one.rounds
        if each.decision not in ("none", "exact")
    }
    _, score = labelled.corrected(played, labels, rules)
    return {"mean": score.value, "low": score.low, "high": score.high}


def listed(one: Watched, rules: Rules, samples: Mapping[str, Any]) -> float:
    """The score of a game in the eyes of its sample's lists."""
    solved = one.game.solved
    if solved is None:
        return one.reward or 0.0
    said = next(each.filling for each in one.game.rounds if each.number == solved)
    known = right(samples[one.game.sample], said or "")
    return worth(solved - 1 + rules.round_origin, rules) if known else 0.0


def mean(values: Sequence[float], clusters: Sequence[Any], seed: int = 0) -> dict[str, Any]:
    """A mean with its 95 % interval, drawn over clusters: the games of a step are one model's."""
    if not values:
        return {"mean": None, "low": None, "high": None}
    sums: dict[Any, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        mine = sums.setdefault(cluster, [0.0, 0.0])
        mine[0], mine[1] = mine[0] + value, mine[1] + 1
    table = np.array([*sums.values()])
    low, high = bootstrap(table, lambda drawn: drawn[..., 0] / drawn[..., 1], seed)
    return {"mean": float(table[:, 0].sum() / table[:, 1].sum()), "low": low, "high": high}


def _won(one: Game) -> str | None:
    if one.solved is None:
        return None
    return next(each.decision for each in one.rounds if each.number == one.solved)


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None
