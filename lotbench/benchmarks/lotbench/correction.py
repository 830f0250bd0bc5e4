"""The scores as they would be without the judge's errors, put right round by round.

A judge errs on each filling, not on each game, so what is corrected is the share of first-seen fillings
that it accepted in a round (Rogan and Gladen 1978), and the curve is built from that. To correct the solve
rate as a whole is wrong: a game has fifteen chances of a false yes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lotbench.benchmarks.lotbench.games import Game
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.benchmarks.lotbench.score import unsolved_worth
from lotbench.metrics import survival
from lotbench.metrics.agreement import Errors
from lotbench.metrics.intervals import Floats, bootstrap
from lotbench.types import Metric

AT_RISK, CERTAIN, JUDGED, ACCEPTED, LOST = range(5)
"""Rows of a tally: games at risk in a round; solved there without a judge; with a filling that a judge saw
for the first time; of these, accepted by all the judges it takes; in the last column, unsolved with a valid filling."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A run's two corrected scores; `raw` are the values before they are clipped to what a score can be."""

    solve_rate: Metric
    creativity_score: Metric
    raw: tuple[float, float]


def tally(games: Sequence[Game], last: int) -> Floats:
    """Counts by sample, [samples, 5, last], samples in order of id; see AT_RISK and what follows it."""
    places = {name: index for index, name in enumerate(sorted({one.sample for one in games}))}
    made = np.zeros((len(places), 5, last))
    for one in games:
        mine = made[places[one.sample]]
        decided = [each.decision for each in one.watched(last)]
        for at, how in enumerate(decided):
            mine[AT_RISK, at] += 1
            mine[CERTAIN, at] += how == "exact"
            mine[JUDGED, at] += how not in ("exact", "none")
            mine[ACCEPTED, at] += how == "accepted"
        mine[LOST, -1] += len(decided) == last and decided[-1] not in ("exact", "accepted") and one.valid
    return made


def curve(counts: Floats, fpr: Floats, fnr: Floats) -> Floats:
    """S_0..S_N without the judge's errors; [..., 5, N] and two [...] to [..., N + 1], not clipped.

    In round k, of n_k fillings that a judge saw for the first time, y_k were accepted, of which
    (y_k - FPR n_k) / (1 - FPR - FNR) is what was right; exact matches are added as certain, repeats and
    rounds without a filling as certainly not. That over the games at risk is h_k; S_k = S_{k-1} (1 - h_k).
    NaN where the two rates leave nothing to go by.
    """
    told = 1 - np.asarray(fpr) - np.asarray(fnr)
    told = np.where(told > 0, told, np.nan)[..., None]
    excess = counts[..., ACCEPTED, :] - np.asarray(fpr)[..., None] * counts[..., JUDGED, :]
    solved = counts[..., CERTAIN, :] + excess / told
    return survival.curve(np.stack([counts[..., AT_RISK, :], solved], axis=-2))


def scores(sums: Floats, fpr: Floats, fnr: Floats, rules: Rules) -> Floats:
    """Solve rate and creativity score without the judge's errors, not clipped; [..., 5, N] and two [...] to [..., 2]."""
    left = curve(sums, fpr, fnr)
    values = np.array([worth(k + rules.round_origin, rules) for k in range(rules.max_rounds)])
    lost = sums[..., AT_RISK, -1] - sums[..., CERTAIN, -1] - sums[..., ACCEPTED, -1]
    valid = np.divide(sums[..., LOST, -1], lost, out=np.zeros(lost.shape), where=lost > 0)
    rest = left[..., -1] * valid * unsolved_worth(rules)
    return np.stack([1 - left[..., -1], (left[..., :-1] - left[..., 1:]) @ values + rest], axis=-1)


def corrected(games: Sequence[Game], rules: Rules, errors: Errors) -> Corrected:
    """The corrected scores of games; see `of_counts`."""
    made = of_counts(tally(games, rules.max_rounds), rules, errors)
    of = len(games)
    return replace(
        made,
        solve_rate=replace(made.solve_rate, observations=of),
        creativity_score=replace(made.creativity_score, observations=of),
    )


def of_counts(counts: Floats, rules: Rules, errors: Errors, draws: int = 2000) -> Corrected:
    """The corrected solve rate, 1 - S_N, and creativity score, the sum of (S_{k-1} - S_k) worth(t_k).

    The interval draws samples again and, with each draw, both error rates from their posteriors; only
    final figures are clipped.
    """
    best = worth(rules.round_origin, rules)

    def both(sums: Floats, fpr: Floats, fnr: Floats) -> Floats:
        return scores(sums, fpr, fnr, rules)

    fpr, fnr = errors.point()
    found = both(counts.sum(axis=0), np.array(fpr), np.array(fnr)) if len(counts) else np.full(2, np.nan)
    raw = (float(found[0]), float(found[1]))
    if math.isnan(raw[0]) or math.isnan(raw[1]):
        none = Metric(None, why=_why(len(counts), fpr, fnr))
        return Corrected(none, none, raw)
    made = []
    for which, most in enumerate((1.0, best)):
        rng = np.random.default_rng([abs(getattr(rules, "seed", 0)), 1978])
        ends = bootstrap(counts, _drawn(both, errors, rng, which), getattr(rules, "seed", 0), draws)
        low, high = (None if end is None else min(max(end, 0.0), most) for end in ends)
        # Ends that were cut off to one point are no interval.
        low, high = (None, None) if low == high else (low, high)
        made.append(Metric(min(max(raw[which], 0.0), most), low, high, n=len(counts)))
    return Corrected(made[0], made[1], raw)


def _drawn(
    both: Callable[[Floats, Floats, Floats], Floats], errors: Errors, rng: np.random.Generator, which: int
) -> Callable[[Floats], Floats]:
    """One of two statistics under error rates that are drawn anew with each draw of the samples."""
    return lambda sums: both(sums, *errors.draw(rng, len(sums)))[..., which]


def _why(samples: int, fpr: float, fnr: float) -> str:
    if samples == 0:
        return "no games"
    if math.isnan(fpr) or math.isnan(fnr):
        return "an error rate of the judge is not known"
    if fpr + fnr >= 1:
        return "the judge tells right from wrong no better than chance"
    return "no game was left to be watched before the last round"
