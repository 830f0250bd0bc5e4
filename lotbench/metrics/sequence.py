"""Confidence sequences: intervals of a mean that may be looked at after every value, so that play can stop on them.

By betting against each mean that is still possible (Waudby-Smith and Ramdas 2024, Estimating means of bounded random
variables by betting, J. R. Stat. Soc. B 86; bets of their Sec. B.3, aGRAPA): who bets against the true mean does not
win, so a mean against which the stake has grown to 1 / level is out, whenever it did (Ville's inequality). Drawn
without replacement, what is still to come lies on the other side of what came (their Sec. 5): but only what samples add
does, the noise of a game does not come back. So what is expected next is the best linear prediction from both parts
(Henderson 1975), which is theirs if values have no noise, and the plain mean if they have nothing else or it is not
known how much. docs/duel.md says what this covers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lotbench.metrics.intervals import Floats

POINTS = 2001
"""Means that are bet against, evenly from one end to the other; odd, so that 0 is among them."""
_STAKE = 0.75
"""The most of what a bet could lose at worst that is staked."""
_FIRST = 1 / 3
"""The standard deviation that is taken for one value's worth before any is known, as a share of `reach`."""
_DOUBT = 2.0
"""Standard errors by which noise may be larger than the repeats say."""


@dataclass(frozen=True, slots=True)
class Band:
    """A confidence sequence: its low and high end after each value, [..., values]; never wider than before.

    An end is the nearest mean that is out, so a mean of 0 is out where `low` >= 0 or `high` <= 0.
    """

    low: Floats
    high: Floats


def sequence(
    values: Floats,
    reach: float,
    of: int,
    *,
    level: float = 0.05,
    noise: Floats | None = None,
    points: int = POINTS,
) -> Band:
    """The confidence sequence of the mean over a set of which samples are drawn in a random order, each once.

    What is meant is the mean of the samples' expected values, not of those that were seen: whoever has seen all
    samples still does not know it.

    Args:
        values: Of the samples in the order in which they were drawn, [..., drawn]; the axes before are other sequences.
        reach: Values lie between its negative and itself.
        of: Samples in the set.
        level: The chance that the mean is ever outside.
        noise: The variance that repeats say each value has of its own, [..., drawn]; None if no sample has repeats.
        points: Means that are bet against.

    Raises:
        ValueError: A value is out of reach, or there are more than there are samples.
    """
    drawn = values.shape[-1]
    if drawn > of or (values.size and float(np.abs(values).max()) > reach * (1 + 1e-9)):
        raise ValueError(f"{drawn} values of at most {reach} cannot be of {of} samples")
    means = np.linspace(-reach, reach, points)
    wealth, seen = np.zeros((*values.shape[:-1], points)), _Seen(reach, of)
    open_ = np.ones(wealth.shape, dtype=bool)
    low, high = np.empty(values.shape), np.empty(values.shape)
    ends = np.full(values.shape[:-1], -reach), np.full(values.shape[:-1], reach)
    for at in range(drawn):
        expected = np.clip(seen.next(means), -reach, reach)
        stake = _bets(seen, expected, reach)
        value = values[..., at : at + 1]
        wealth += np.log1p(stake * (value - expected))
        open_ &= wealth < -np.log(level)
        ends = _ends(open_, means, ends)
        low[..., at], high[..., at] = ends
        seen.add(value, None if noise is None else noise[..., at : at + 1])
    return Band(low, high)


def _bets(seen: _Seen, expected: Floats, reach: float) -> Floats:
    """The stake against each mean: the growth-optimal one if what was seen so far goes on, cut where it could ruin."""
    gap = seen.next(seen.centre) - expected
    stake = gap / (seen.variance + gap**2)
    tiny = 1e-9 * reach
    return np.clip(
        stake, -_STAKE / np.maximum(reach - expected, tiny), _STAKE / np.maximum(reach + expected, tiny)
    )


def _ends(open_: Floats, means: Floats, before: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """The means that are out next to those that are not; as before where none is left."""
    step, last = means[1] - means[0], len(means) - 1
    low = means[np.argmax(open_, axis=-1)] - step
    high = means[last - np.argmax(open_[..., ::-1], axis=-1)] + step
    left = open_.any(axis=-1)
    # Half a step away from a multiple of one, rounding tells nothing of it.
    low, high = (np.round(end / step) * step for end in (low, high))
    return (
        np.where(left, np.maximum(low, before[0]), before[0]),
        np.where(left, np.minimum(high, before[1]), before[1]),
    )


@dataclass(slots=True)
class _Seen:
    """What was seen so far: sums of values and of their noise, [..., 1]."""

    reach: float
    of: int
    count: int = 0
    total: Floats = field(default_factory=lambda: np.zeros(1))
    squares: Floats = field(default_factory=lambda: np.zeros(1))
    noise: Floats | None = field(default_factory=lambda: np.zeros(1))
    noise_squares: Floats = field(default_factory=lambda: np.zeros(1))

    def add(self, value: Floats, noise: Floats | None) -> None:
        """Count one more value, with the variance that it has of its own."""
        self.count, self.total, self.squares = (
            self.count + 1,
            self.total + value,
            self.squares + value**2,
        )
        if noise is None or self.noise is None:
            self.noise = None
        else:
            self.noise, self.noise_squares = self.noise + noise, self.noise_squares + noise**2

    @property
    def centre(self) -> Floats:
        """The mean of what was seen and of one value of 0."""
        return self.total / (self.count + 1)

    @property
    def variance(self) -> Floats:
        """The variance of what was seen, with one value's worth of a guess."""
        centre = self.centre
        spread = self.squares - 2 * centre * self.total + self.count * centre**2
        return np.asarray((spread + (_FIRST * self.reach) ** 2) / (self.count + 1))

    def next(self, mean: Floats) -> Floats:
        """What the next value is expected to be if the set has this mean."""
        return np.asarray(mean - (self.total - self.count * mean) * self._back())

    def _back(self) -> Floats:
        """How much of what was seen beyond the mean is missing from the next value."""
        n = self.count
        if self.noise is None or n < 2:
            return np.zeros(1)
        whole = np.maximum(self.squares - self.total**2 / n, 0.0) / (n - 1)
        scatter = np.sqrt(np.maximum(self.noise_squares / n - (self.noise / n) ** 2, 0.0) / n)
        noise = (self.noise + whole) / (n + 1) + _DOUBT * scatter
        sample = np.maximum(whole - noise, 0.0)
        left = self.of * (sample * (1 - n / self.of) + noise)
        return np.divide(sample, left, out=np.zeros_like(sample), where=sample > 0)
