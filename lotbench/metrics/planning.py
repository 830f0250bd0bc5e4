"""What it takes to show a difference: samples, repeats or labels, with what they cost, and what can be shown as it is.

A plan takes differences for normal, as power must be known before there are data. What was seen is itself uncertain,
and so is every plan that rests on it: the samples needed stand with their interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import scipy

from lotbench.metrics.compare import ALPHA, Difference
from lotbench.metrics.intervals import Interval
from lotbench.metrics.variance import Components

POWER = 0.8
MOST = 1_000_000
"""Samples, repeats or labels beyond which nothing is planned."""
_FAR = 30.0
"""Standard errors beyond which the noncentral t distribution cannot be had, and is normal enough."""


@dataclass(frozen=True, slots=True)
class Needed:
    """Samples that show a difference of the size that was seen, and of the ends of its 95 % interval.

    None where no number is enough: nothing was seen, equality is not excluded, or so few labels do not show it.
    """

    seen: int | None
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a walk costs: calls, and US dollars (None: not known)."""

    calls: float
    dollars: float | None

    def __add__(self, other: Cost) -> Cost:
        """A walk of each."""
        unknown = self.dollars is None or other.dollars is None
        return Cost(
            self.calls + other.calls, None if unknown else (self.dollars or 0.0) + (other.dollars or 0.0)
        )


@dataclass(frozen=True, slots=True)
class Way:
    """One way to show a difference: more of one thing in both runs, the rest as it is.

    Attributes:
        of: `samples`, `repeats` (of each sample) or `labels`.
        now: What each of the two runs has of it, and `to` what it would have.
        walks: Walks to be played in each run, and `calls` and `dollars` what they cost in both together.
    """

    of: str
    now: float
    to: int
    walks: float
    calls: float
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Separation:
    """What it takes to tell two runs apart.

    Attributes:
        level: At which their difference is tested, corrected for the number of pairs.
        detectable: The difference that the runs show as they are, with a power of 80 %.
        needed: Samples that show the difference that was seen.
        wanted: The difference that `ways` are for: what was asked for, else what was seen.
        ways: See `ways`.
    """

    level: float
    detectable: float
    needed: Needed
    wanted: float
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How narrow repeats make the interval of a metric.

    Attributes:
        half: Half its width as it is; None where it is open.
        floor: Half its width with any number of repeats, since samples differ; None where that is not known.
        repeats: Of each sample, with which it is as narrow as asked; None where no number seems enough, or it is not known.
        beyond: Whether no number is enough even if samples differ less than they seem to, by a standard error.
    """

    half: float | None
    floor: float | None = None
    repeats: int | None = None
    beyond: bool = False


def narrowing(interval: Interval, components: Components | None, wanted: float) -> Narrowing:
    """How narrow repeats make an interval, if it goes with the standard error.

    Args:
        interval: Of the metric, with the repeats that there are.
        components: Of its standard error; None where there are none.
        wanted: Half the width that is asked for.
    """
    low, high = interval
    if low is None or high is None:
        return Narrowing(None)
    half = (high - low) / 2
    if components is None or not components.split or not components.error():
        return Narrowing(half)
    now = math.ceil(components.repeats)
    sample, _, judge = components.parts()
    scale = half / components.error()
    floor, room = scale * math.sqrt(sample + judge), (wanted / scale) ** 2 - sample - judge
    if half <= wanted:
        return Narrowing(half, floor, now)
    least = scale * math.sqrt(max(0.0, sample - _doubt(components) / components.samples) + judge)
    repeats = components.repeat / components.samples / room if room > 0 else math.inf
    return Narrowing(half, floor, math.ceil(repeats) if repeats <= MOST else None, least >= wanted)


def _doubt(found: Components) -> float:
    """The standard error of what lies between these very samples, for normal repeats."""
    n, r = found.samples, found.repeats
    noise = found.repeat / r
    means = (4 * found.sample * noise + 2 * noise**2) / (n - 1)
    return math.sqrt(means + 2 * noise**2 / (n * (r - 1)))


def power(n: int, effect: float, level: float = ALPHA) -> float:
    """The chance that a paired t test on n samples finds an effect, in standard deviations of the differences."""
    if n < 2:
        return 0.0
    limit, shift = scipy.stats.t.ppf(1 - level / 2, n - 1), abs(effect) * math.sqrt(n)
    right, wrong = scipy.stats.nct.sf(limit, n - 1, shift), scipy.stats.nct.cdf(-limit, n - 1, shift)
    # Far from it, the tail on the wrong side is too small to be had.
    return float(right) + (float(wrong) if math.isfinite(wrong) else 0.0)


def detectable(n: int, level: float = ALPHA) -> float:
    """The smallest effect, in standard deviations of the differences, that n samples show.

    Raises:
        ValueError: Fewer than two samples show nothing.
    """
    if n < 2:
        raise ValueError(f"nothing can be shown with {n} samples")
    least = _normal(level) / math.sqrt(n)
    most = least
    while power(n, most, level) < POWER:
        most *= 2
    return float(scipy.optimize.brentq(lambda effect: power(n, effect, level) - POWER, least / 2, most))


def needed(effect: float, level: float = ALPHA) -> int:
    """Samples that show an effect, in standard deviations of the differences.

    Raises:
        ValueError: No number of samples shows an effect of 0.
    """
    if not effect:
        raise ValueError("an effect of 0 cannot be shown")
    # The normal's answer is short of the t distribution's by a few.
    n = max(2, math.ceil((_normal(level) / effect) ** 2))
    while power(n, effect, level) < POWER:
        n += 1
    return n


def needed_samples(mean: float, components: Components, level: float = ALPHA) -> Needed:
    """The samples that show a difference, with what else the runs have of repeats and labels.

    The interval is that of the effect, by the noncentral t distribution (Steiger and Fouladi 1997).

    Args:
        mean: The difference that was seen.
        components: Of it; they vary.
        level: Of the test that is to show it.
    """
    error = components.error()
    low, high = (end * error for end in _shift(mean / error, components.samples - 1))

    def count(wanted: float) -> int | None:
        return _least(lambda x: shows(components, wanted, level, samples=x), 2) if wanted else None

    near, far = sorted((abs(low), abs(high)))
    return Needed(count(mean), count(far), None if low <= 0 <= high else count(near))


def shows(
    components: Components,
    wanted: float,
    level: float = ALPHA,
    *,
    samples: int | None = None,
    repeats: float | None = None,
    judgements: int | None = None,
) -> bool:
    """Whether a design shows a difference with enough power; what is not given is as the run has it."""
    n = components.samples if samples is None else samples
    error = components.error(samples, repeats, judgements)
    return error == 0 or power(n, wanted / (error * math.sqrt(n)), level) >= POWER


def ways(components: Components, wanted: float, price: Cost, level: float = ALPHA) -> list[Way]:
    """The ways to show a difference that there are, the cheapest first: by dollars if known, else by calls.

    Args:
        components: Of the difference between the two runs.
        wanted: The difference that is to be shown.
        price: Of a walk in each of the two runs, together.
        level: Of the test.
    """
    if not wanted:
        return []
    n, r, found = components.samples, components.repeats, []
    if (to := _least(lambda x: shows(components, wanted, level, samples=x), n)) is not None:
        found.append(_way("samples", n, to, (to - n) * r, price))
    if components.split:
        to = _least(lambda x: shows(components, wanted, level, repeats=max(x, r)), math.ceil(r))
        if to is not None:
            found.append(_way("repeats", r, to, max(0.0, to - r) * n, price))
    if components.judge:
        to = _least(lambda x: shows(components, wanted, level, judgements=x), components.judgements)
        if to is not None:
            found.append(_way("labels", components.judgements, to, 0.0, price))
    return sorted(found, key=lambda way: (way.calls if way.dollars is None else way.dollars, way.calls))


def separation(
    found: Difference, components: Components | None, price: Cost, level: float, wanted: float | None = None
) -> Separation | None:
    """What it takes to tell two runs apart; None where nothing varies, so that nothing can be planned.

    Args:
        found: The difference between the runs.
        components: Of it; None where single walks are not known: then more repeats are no way.
        price: Of a walk in each of the two runs, together.
        level: Of the test, corrected for the number of pairs.
        wanted: The difference that is to be shown; None for the one that was seen.
    """
    if components is None and found.sd is not None:
        components = Components(found.sd**2, 0.0, found.n, 1, split=False)
    if components is None or found.mean is None or not components.error():
        return None
    n, target = components.samples, abs(found.mean) if wanted is None else wanted
    return Separation(
        level=level,
        detectable=detectable(n, level) * math.sqrt(n) * components.error(),
        needed=needed_samples(found.mean, components, level),
        wanted=target,
        ways=tuple(ways(components, target, price, level)),
    )


def against_alike(components: Components, level: float = ALPHA) -> tuple[float, float]:
    """The least difference that a run shows against another of as many samples and repeats, by the same judges.

    Returns:
        For a model that finds the very same samples easy, so that only repeats differ, and for one that has nothing in
        common with it.

    Raises:
        ValueError: The run has fewer than two samples.
    """
    sample, repeat, _ = components.parts()
    n = components.samples
    effect = detectable(n, level) * math.sqrt(n)
    return effect * math.sqrt(2 * repeat), effect * math.sqrt(2 * (sample + repeat))


def _way(of: str, now: float, to: int, walks: float, price: Cost) -> Way:
    dollars = None if price.dollars is None and walks else (price.dollars or 0.0) * walks
    return Way(of, now, to, walks, price.calls * walks, dollars)


def _least(shown: Callable[[int], bool], first: int) -> int | None:
    """The least number from `first` on with which something is shown; None if not even `MOST` is enough."""
    if not shown(MOST):
        return None
    low, high = first - 1, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def _shift(t: float, free: int) -> tuple[float, float]:
    """The 95 % interval of the noncentrality of a t that was seen with so many degrees of freedom."""
    if abs(t) > _FAR:
        half = float(scipy.stats.norm.ppf(1 - ALPHA / 2)) * math.sqrt(1 + t**2 / (2 * free))
        return t - half, t + half

    def above(shift: float, tail: float) -> float:
        cdf = float(scipy.stats.nct.cdf(t, free, shift))
        # Far out, with few degrees of freedom, scipy has no number for what is 0 or 1.
        return (float(shift < t) if math.isnan(cdf) else cdf) - tail

    def end(tail: float) -> float:
        reach = 5.0 * math.sqrt(1 + t**2 / (2 * free))
        return float(scipy.optimize.brentq(above, t - reach, t + reach, args=(tail,)))

    return end(1 - ALPHA / 2), end(ALPHA / 2)


def _normal(level: float) -> float:
    """Standard errors between nothing and an effect that is shown, for a normal mean."""
    return float(scipy.stats.norm.ppf(1 - level / 2) + scipy.stats.norm.ppf(POWER))
