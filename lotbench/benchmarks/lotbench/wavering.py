"""How much of a game's score hangs on the judge's mood: what judging the same guesses again would change.

Verdicts on one filling differ from asking to asking. A No that turns into a Yes ends its game sooner; a Yes that turns
into a No lets it go on, as far as games of this run go on that were not solved until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.benchmarks.lotbench.score import tally, unsolved_worth
from lotbench.metrics import survival
from lotbench.metrics.intervals import Floats
from lotbench.metrics.judge_part import JudgePart
from lotbench.types import Trace


def judge_part(traces: Sequence[Trace], settings: Rules, flips: tuple[int, int] | None) -> JudgePart:
    """What the judge adds to the variance of a game's score, from how often verdicts flip.

    Args:
        traces: The run's games.
        settings: What scoring reads.
        flips: Pairs of verdicts on one row of a judge check that differ, and all such pairs.
    """
    games = [game(trace) for trace in traces]
    source = "rows of its check that it judged again"
    if not (flips and flips[1]) and settings.confirm == "same_judge":
        flips, source = _confirmed(games), "first yeses of this run, which it was asked to confirm"
    if not (flips and flips[1]):
        return JudgePart(
            "How much the judge wavers is not known: no verdict was asked for twice (lotbench judge-check --repeats 2)."
        )
    about = (
        f"The judge's wavering: {flips[0]} of {flips[1]} {source} came out otherwise; taken over to every verdict of the "
        "games, of which many are plainer, so that this is rather the most that it adds."
    )
    return JudgePart(about, variance(games, settings, flips[0] / flips[1]))


def _confirmed(games: Sequence[Game]) -> tuple[int, int]:
    """First yeses that the same judge overturned, and all that it was asked to confirm."""
    asked = [each for one in games for each in one.rounds if each.confirm]
    return sum(not each.confirm.accepted for each in asked if each.confirm), len(asked)


def variance(games: Sequence[Game], rules: Rules, flip: float) -> float | None:
    """Half the mean squared change of a game's score if each verdict of a judge flips with this chance.

    None without a game that has a score. What words decide (the very key text, a repeat) never flips.
    """
    known = [one for one in games if not one.censored]
    if not known:
        return None
    last = rules.max_rounds
    curve = survival.curve(tally(games, last).sum(axis=0)[:2])
    worths = np.array([worth(at + rules.round_origin, rules) for at in range(last)])
    return fmean(_changed(one, rules, flip, curve, worths) for one in known) / 2


def _changed(one: Game, rules: Rules, flip: float, curve: Floats, worths: Floats) -> float:
    """The expected squared change of one game's score."""
    rest = unsolved_worth(rules) if one.valid else 0.0
    own = float(worths[one.solved - 1]) if one.solved else rest
    reached, total = 1.0, 0.0
    for each in one.watched(rules.max_rounds):
        chance = flip if each.decision in ("accepted", "refused", "overturned") else 0.0
        if each.number == one.solved:
            return total + reached * chance * _gone_on(each.number, own, rest, curve, worths)
        total += reached * chance * (float(worths[each.number - 1]) - own) ** 2
        reached *= 1 - chance
    return total


def _gone_on(solved: int, own: float, rest: float, curve: Floats, worths: Floats) -> float:
    """The expected squared change for a game that is not solved where it was, but goes on as others do."""
    left = float(curve[solved])
    if not left > 0:
        return (rest - own) ** 2
    solves = (curve[solved:-1] - curve[solved + 1 :]) / left
    return float(solves @ (worths[solved:] - own) ** 2) + float(curve[-1]) / left * (rest - own) ** 2
