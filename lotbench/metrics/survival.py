"""Kaplan-Meier survival over discrete rounds.

Counts [..., 2, rounds] have the episodes at risk and the events of each round. They add up over episodes, so the functions
work on one run and on all draws of a bootstrap at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lotbench.metrics.intervals import Floats, divided


@dataclass(frozen=True, slots=True)
class Span:
    """The observed part of an episode: the number of whole rounds, and whether the last one brought the event.

    Without the event the episode is censored after these rounds. It has 0 rounds if not even the first is known.
    """

    rounds: int
    event: bool


def counts(spans: Iterable[Span], last: int) -> Floats:
    """Return counts [2, last]: the episodes at risk in rounds 1..last, and the events in them.

    Raises:
        ValueError: A span is longer than `last` rounds, or has an event but no round.
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
    """Return the hazard of each round (events over episodes at risk), [..., last], from `counts` [..., 2, last]; NaN for no episodes at risk."""
    return divided(counts[..., 1, :], counts[..., 0, :])


def curve(counts: Floats) -> Floats:
    """Return the survival curve S_0..S_last, the share without the event after each round, from `counts` [..., 2, last].

    S_0 = 1 and S_k = S_{k-1} (1 - h_k) with the hazard h_k. S is NaN from the first round without any episode at risk,
    unless it was 0 before. The result is [..., last + 1].
    """
    factors = 1 - hazards(counts)
    gone = np.logical_or.accumulate(factors == 0, axis=-1)
    survival = np.where(gone, 0.0, np.cumprod(factors, axis=-1))
    return np.concatenate([np.ones((*survival.shape[:-1], 1)), survival], axis=-1)


def restricted_mean(curve: Floats) -> Floats:
    """Return the restricted mean round of the event, [...]: the sum of S_0..S_{last-1} of a `curve` [..., last + 1]."""
    return np.asarray(curve[..., :-1].sum(axis=-1))
