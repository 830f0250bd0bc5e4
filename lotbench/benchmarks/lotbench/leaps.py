"""Leaps of an encore: how many answers of a game counted, and what they are worth together.

leap_score is the sum over leaps of beta exp(-alpha t_k), t_k the failed attempts before leap k: the first leap is
worth what the solve is in S_c (Eq. 8). A game that broke off is in every mean for the rounds in which it was
watched: the mean cumulative function of recurrent events (Nelson 1995), which is the plain mean when none broke off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from lotbench.benchmarks.lotbench.games import Game, Round
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.harness.judge_validation import Place
from lotbench.metrics.agreement import DRAWS, Labelled
from lotbench.metrics.intervals import Floats, bounded, combined
from lotbench.types import Metric

NAMES = ("leaps", "leap_score")
AT_RISK, CERTAIN, ACCEPTED, RIGHT, REFUSED, OVERTURNED, ALIKE = range(7)
"""Rows of a tally: games watched in a round; leaps there without a judge; leaps by a judge; of these, those that
labels call right, weighted; first-seen answers that the first judge refused, the second, or that were no other idea."""
_ROWS = {"refused": REFUSED, "overturned": OVERTURNED, "alike": ALIKE}


def metrics(games: Sequence[Game], rules: Rules) -> dict[str, Metric]:
    """How many leaps a game has, and the leap score, with 95 % intervals over samples."""
    return {name: _metric(games, rules, weighted, _found) for name, weighted in _weights().items()}


def expected(stop: float, rules: Rules) -> dict[str, float | None]:
    """What is expected of games whose answers are all accepted with one probability, each as another idea.

    Before attempt r (from 0) a binomial number of attempts failed, so that a leap there is worth, in the mean,
    beta exp(-alpha origin) (p + (1 - p) exp(-alpha))^r.
    """
    turns = np.arange(rules.max_rounds)
    values = (stop + (1 - stop) * math.exp(-rules.alpha)) ** turns
    total = stop * worth(rules.round_origin, rules) * float(values.sum())
    return {"leaps": stop * rules.max_rounds, "leap_score": total}


def by_labels(games: Sequence[Game], labels: Mapping[Place, bool], rules: Rules) -> dict[str, Metric]:
    """Both by people's labels of this run.

    A leap that they call none does not count; right answers that the judge did not accept are added as often as a
    draw of them had such; t is left as the judge counted it.
    """
    kinds, whys = {}, []
    for name in ("accepted", *_ROWS):
        chosen = [(one, at) for one in games for at in one.known(rules.max_rounds) if at.decision == name]
        seen = [labels[_place(one, at)] for one, at in chosen if _place(one, at) in labels]
        kinds[name] = Labelled(len(chosen), len(seen), sum(seen))
        whys += [f"no {name} answer of this run has a label"] if chosen and not seen else []
    if whys:
        return {f"{name}_corrected": Metric(None, why=whys[0]) for name in NAMES}
    return {
        f"{name}_corrected": _labelled(games, labels, rules, kinds, weighted)
        for name, weighted in _weights().items()
    }


def _labelled(
    games: Sequence[Game],
    labels: Mapping[Place, bool],
    rules: Rules,
    kinds: Mapping[str, Labelled],
    weighted: bool,
) -> Metric:
    """One of both by labels: what drawing samples leaves open and what so few labels do are put together (`combined`).

    Args:
        games: The games.
        labels: Of them.
        rules: The settings that scoring reads.
        kinds: The labels of each kind of verdict.
        weighted: Whether an answer counts by its worth.
    """
    ours = kinds["accepted"]
    missed = np.array([kinds[name].share for name in _ROWS])

    def events(rows: Floats, missed: Floats = missed, unseen: Floats | float = 0.0) -> Floats:
        found = rows[..., CERTAIN, :] + ours.size / max(ours.labelled, 1) * rows[..., RIGHT, :]
        found = found + unseen * rows[..., ACCEPTED, :]
        return np.asarray(found + (missed[..., None] * rows[..., tuple(_ROWS.values()), :]).sum(axis=-2))

    metric = _metric(games, rules, weighted, events, labels)
    if metric.value is None:
        return metric
    rng = np.random.default_rng([abs(getattr(rules, "seed", 0)), 1958])
    drawn = np.stack([kinds[name].drawn(rng) for name in _ROWS], axis=-1)
    # That no labelled leap was right does not say that no other is.
    others = Labelled(ours.size - ours.labelled, ours.labelled, 0).drawn(rng)[:, None]
    unseen = others * (1 - ours.labelled / max(ours.size, 1)) * (ours.right == 0)
    sums = np.broadcast_to(tally(games, rules, weighted, labels).sum(axis=0), (DRAWS, 7, rules.max_rounds))
    low, high = np.quantile(_cumulative(sums, events(sums, drawn, unseen)), (0.025, 0.975))
    parts = ((metric.low, metric.high), (float(low), float(high)))
    ends = combined(metric.value, parts, (0.0, _most("leap_score" if weighted else "leaps", rules)))
    return replace(metric, low=ends[0], high=ends[1])


def tally(
    games: Sequence[Game], rules: Rules, weighted: bool, labels: Mapping[Place, bool] | None = None
) -> Floats:
    """Counts by picture, [pictures, 7, N], pictures in order of name; `weighted` counts an answer by its worth."""
    places = {name: index for index, name in enumerate(sorted({one.picture for one in games}))}
    counts = np.zeros((len(places), 7, rules.max_rounds))
    for one in games:
        row, failed = counts[places[one.picture]], 0
        for at in one.known(rules.max_rounds):
            value = worth(failed + rules.round_origin, rules) if weighted else 1.0
            place = at.number - 1
            row[AT_RISK, place] += 1
            if at.leap and at.decision == "exact":
                row[CERTAIN, place] += value
            elif at.leap:
                row[ACCEPTED, place] += value
                row[RIGHT, place] += value * bool((labels or {}).get(_place(one, at)))
            elif at.decision in _ROWS:
                row[_ROWS[at.decision], place] += value
            failed += at.leap is None
    return counts


def _weights() -> dict[str, bool]:
    return {"leaps": False, "leap_score": True}


def _most(name: str, rules: Rules) -> float:
    return rules.max_rounds * (worth(rules.round_origin, rules) if name == "leap_score" else 1.0)


def _place(one: Game, at: Round) -> Place:
    return one.sample, one.repeat, at.number


def _found(rows: Floats) -> Floats:
    return np.asarray(rows[..., CERTAIN, :] + rows[..., ACCEPTED, :])


def _cumulative(sums: Floats, events: Floats) -> Floats:
    """The mean cumulative function at the last round: events over games watched, summed over rounds."""
    at_risk = sums[..., AT_RISK, :]
    shares = np.divide(events, at_risk, out=np.full(events.shape, np.nan), where=at_risk > 0)
    return np.asarray(shares.sum(axis=-1))


def _metric(
    games: Sequence[Game],
    rules: Rules,
    weighted: bool,
    events: Callable[[Floats], Floats],
    labels: Mapping[Place, bool] | None = None,
) -> Metric:
    if not games:
        return Metric(None, why="no games")
    counts = tally(games, rules, weighted, labels)

    def statistic(sums: Floats) -> Floats:
        return _cumulative(sums, events(sums))

    value = float(statistic(counts.sum(axis=0)))
    if math.isnan(value):
        return Metric(
            None, n=len(counts), observations=len(games), why="every game broke off before its last round"
        )
    low, high = bounded(counts, statistic, (0.0, _most("leap_score" if weighted else "leaps", rules)))
    return Metric(value, low, high, n=len(counts), observations=len(games))
