"""Survival over discrete rounds, after Kaplan and Meier: who is still without the event after each round.

Everything is a function of two rows of counts a round, at risk and events, which add up over episodes: the
same lines work on one run and on all draws of a bootstrap at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lotbench.metrics.intervals import Floats, divided


@dataclass(frozen=True, slots=True)
class Span:
    """How long one episode was watched: `rounds` whole rounds, the last of which brought the event or not.

    Without the event nothing happened in any of them, and what came after is not known (or the last
    round was played). An episode of which not even the first round is known has 0 rounds.
    """

    rounds: int
    event: bool


def counts(spans: Iterable[Span], last: int) -> Floats:
    """Return counts of shape [2, last]: in row 0 the episodes at risk in rounds 1..last, in row 1 the events.

    Raises:
        ValueError: A span is longer than `last`, or has an event in no round.
    """
    table = np.zeros((2, last))
    for span in spans:
        if not span.event <= span.rounds <= last:
            raise ValueError(f"{span} does not fit into {last} rounds")
        table[0, : span.rounds] += 1
        if span.event:
            table[1, span.rounds - 1] += 1
    return table


def hazards(counts: Floats) -> Floats:
    """Return the share with the event among those at risk in a round; [..., 2, last] to [..., last].

    NaN where nobody is at risk.
    """
    return divided(counts[..., 1, :], counts[..., 0, :])


def curve(counts: Floats) -> Floats:
    """Return S_0..S_last, the share without the event after each round; [..., 2, last] to [..., last + 1].

    S_0 = 1 and S_k = S_{k-1} (1 - h_k) with h_k the hazard of round k. From the first round that nobody
    is left to be watched in, S is NaN, unless it was 0 before.
    """
    factors = 1 - hazards(counts)
    gone = np.logical_or.accumulate(factors == 0, axis=-1)
    survival = np.where(gone, 0.0, np.cumprod(factors, axis=-1))
    return np.concatenate([np.ones((*survival.shape[:-1], 1)), survival], axis=-1)


def restricted_mean(curve: Floats) -> Floats:
    """Return the mean of min(round of the event, last), as the sum of S_0..S_{last-1}; [..., last + 1] to [...].

    NaN where one of these is.
    """
    return np.asarray(curve[..., :-1].sum(axis=-1))
