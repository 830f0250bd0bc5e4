"""What a duel came to: which model is clearly better than which, in a sentence, as sections and as JSON; no page.

A pair is settled by the first sample after which its interval has no 0 in it, or nothing beyond the difference that
matters (`delta`); what was played beyond that sample, while its games were in flight, changes nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from typing import Literal, TypeAlias

import numpy as np

from lotbench.metrics.sequence import Band, sequence
from lotbench.report.sections import Plot, Section, Table
from lotbench.types import JSON

LEVEL = 0.05
"""The chance that any interval of a duel, of all pairs and after whatever sample, has the truth outside."""

Scores: TypeAlias = Mapping[str, Mapping[str, Sequence[float]]]
"""By model and sample: the scores of its games that have one, of the samples whose games were all played."""


@dataclass(frozen=True, slots=True)
class Duel:
    """What is settled before the first game.

    Attributes:
        models: Their names, each once.
        order: The samples of the set in the order in which they are played.
        repeats: Games of a model on a sample.
        ends: The least and the most that a score can be.
        delta: The difference that matters; None if any does.
    """

    models: tuple[str, ...]
    order: tuple[str, ...]
    repeats: int
    ends: tuple[float, float]
    delta: float | None = None

    @property
    def games(self) -> int:
        """Games of all models on the whole set."""
        return len(self.models) * len(self.order) * self.repeats


@dataclass(frozen=True, slots=True)
class Pair:
    """How far one model is ahead of another.

    Attributes:
        low: The low end after each sample that both have a score of, and `high` the high end; up to the one that
            settled it.
        verdict: What settled it; None if nothing has so far.
        without: Samples that were played before, of which one of them has no score.
    """

    one: str
    other: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    verdict: Literal["ahead", "behind", "alike"] | None
    without: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval as it stands; None before the first sample."""
        return (self.low[-1], self.high[-1]) if self.low else None


@dataclass(frozen=True, slots=True)
class Spending:
    """What was used: games, and US dollars (None: a price is not known)."""

    games: int
    dollars: float | None


def pairs(duel: Duel, scores: Scores) -> tuple[Pair, ...]:
    """How each two models stand, the level shared among all pairs (Bonferroni)."""
    both = list(combinations(duel.models, 2))
    return tuple(_pair(duel, scores, one, other, LEVEL / len(both)) for one, other in both)


def _pair(duel: Duel, scores: Scores, one: str, other: str, level: float) -> Pair:
    mine, theirs, reach = scores[one], scores[other], duel.ends[1] - duel.ends[0]
    # As far as no sample is missing: one that is still being played must not be left out for those after it.
    known = list(takewhile(lambda name: name in mine and name in theirs, duel.order))
    scored = [name for name in known if mine[name] and theirs[name]]
    if not scored:
        return Pair(one, other, (), (), None, len(known))
    values = np.array([float(np.mean(mine[name]) - np.mean(theirs[name])) for name in scored])
    noise = (
        np.array([_noise(mine[name], reach) + _noise(theirs[name], reach) for name in scored])
        if duel.repeats > 1
        else None
    )
    band = sequence(values, reach, len(duel.order), level=level, noise=noise)
    at, verdict = _settled(band, duel.delta)
    low, high = (tuple(float(end) for end in ends[:at]) for ends in (band.low, band.high))
    before = len(known) if verdict is None else known.index(scored[at - 1]) + 1
    return Pair(one, other, low, high, verdict, before - at)


def _noise(scores: Sequence[float], reach: float) -> float:
    """The variance of a sample's mean score by its repeats; of a single one the most that it can be."""
    return float(np.var(scores, ddof=1)) / len(scores) if len(scores) > 1 else (reach / 2) ** 2


def _settled(band: Band, delta: float | None) -> tuple[int, Literal["ahead", "behind", "alike"] | None]:
    """After how many samples a pair was settled, and how; all of them if it is not."""
    inside = np.zeros(len(band.low), dtype=bool)
    if delta is not None:
        inside = (band.low >= -delta) & (band.high <= delta)
    ahead, behind = band.low >= 0, band.high <= 0
    ended = ahead | behind | inside
    if not ended.any():
        return len(ended), None
    at = int(np.argmax(ended))
    return at + 1, "ahead" if ahead[at] else "behind" if behind[at] else "alike"


def open_models(duel: Duel, found: Sequence[Pair]) -> tuple[str, ...]:
    """The models that have a pair which is not settled."""
    waiting = {name for pair in found if pair.verdict is None for name in (pair.one, pair.other)}
    return tuple(name for name in duel.models if name in waiting)


def sentences(
    duel: Duel, found: Sequence[Pair], spent: Spending, samples: int, stopped: str = ""
) -> tuple[str, ...]:
    """How a duel stands, in words: a sentence a pair, and what it took.

    Args:
        duel: The duel.
        found: Its pairs.
        spent: What was used so far.
        samples: The samples that were played to their end.
        stopped: What stopped it before it was over; "" if nothing did.
    """
    spoken = [_said(pair, duel, stopped=bool(stopped)) for pair in found]
    took = f"{_took(duel, spent)} ({samples} of {len(duel.order)} samples)"
    if len(spoken) == 1:
        spoken = [f"{spoken[0]}, after {took}."]
    else:
        spoken = [*(f"{one}." for one in spoken), f"All that after {took}."]
    without = max((pair.without for pair in found), default=0)
    left_out = (f"Left out: {without} samples of which a model has no score.",) if without else ()
    return (*spoken, *left_out, *((f"Stopped: {stopped}.",) if stopped else ()))


def _took(duel: Duel, spent: Spending) -> str:
    """The games and dollars that were used, of how many."""
    whole = spent.games >= duel.games
    games = f"all {duel.games:,} games" if whole else f"{spent.games:,} of {duel.games:,} games"
    if spent.dollars is None or not spent.games:
        return games
    of = "" if whole else f" of about ${spent.dollars / spent.games * duel.games:.4f}"
    return f"{games} and ${spent.dollars:.4f}{of}"


def _said(pair: Pair, duel: Duel, *, stopped: bool) -> str:
    """One pair in a sentence."""
    if pair.interval is None:
        return f"{pair.one} and {pair.other}: nothing is known yet"
    low, high = pair.interval
    if pair.verdict in ("ahead", "behind"):
        best, worst = (pair.one, pair.other) if pair.verdict == "ahead" else (pair.other, pair.one)
        least, most = (low, high) if pair.verdict == "ahead" else (-high, -low)
        return f"{best} is clearly better than {worst}: by {least:.3f} to {most:.3f}"
    span = f"{pair.one} minus {pair.other} is between {low:+.3f} and {high:+.3f}"
    if pair.verdict == "alike":
        return f"no clear difference: {span}, so not beyond {duel.delta:g} either way"
    return f"not settled yet: {span}" if stopped else f"no clear difference: {span}"


def sections(duel: Duel, found: Sequence[Pair], spent: Spending) -> tuple[Section, ...]:
    """The sequences of a duel, drawn, and its pairs as a table."""
    words = {"ahead": "clearly better", "behind": "clearly worse", "alike": f"not beyond {duel.delta}"}
    rows = tuple(
        (
            f"{pair.one} minus {pair.other}",
            None if pair.interval is None else pair.interval[0],
            None if pair.interval is None else pair.interval[1],
            len(pair.low),
            "not settled" if pair.verdict is None else words[pair.verdict],
        )
        for pair in found
    )
    table = Table(("pair", "low", "high", "samples", "what came of it"), rows, "Each pair as it stands")
    return (
        Section(
            "How the interval narrowed",
            tuple(_notes(duel, len(found))),
            plots=tuple(_narrowing(pair, duel) for pair in found if pair.low),
        ),
        Section("Pairs", (), (table,)),
    )


def _notes(duel: Duel, many: int) -> Sequence[str]:
    shared = f", shared by {many} pairs ({LEVEL / many:.4f} each)" if many > 1 else ""
    matters = (
        "" if duel.delta is None else f", or as soon as it holds nothing beyond {duel.delta:g} either way"
    )
    return (
        "What is meant is the difference of the two models' expected scores, on the average of the set's "
        f"{len(duel.order)} samples. A pair is settled as soon as 0 is outside its interval{matters}.",
        f"The interval may be looked at after every sample: the chance that it ever leaves the truth out is at most "
        f"{LEVEL:g}{shared}. It is a confidence sequence by betting (Waudby-Smith and Ramdas 2024); docs/duel.md "
        "says how, and what it covers.",
        "Runs of a duel stopped when it was settled: their own mean scores flatter whoever was ahead then, so they "
        "are not ranked among runs of the whole set.",
    )


def _narrowing(pair: Pair, duel: Duel) -> Plot:
    """Both ends of a pair's interval after each sample, with what they are to leave behind."""
    reach = duel.ends[1] - duel.ends[0]
    ends = list(zip((-reach, *pair.low), (reach, *pair.high), strict=True))
    lines = {"no difference": 0.0}
    if duel.delta is not None:
        lines |= {f"{sign * duel.delta:+g} (delta)": sign * duel.delta for sign in (1, -1)}
    last = float(len(pair.low))
    return Plot(
        "step",
        "samples that both played",
        "difference in score",
        {
            "at most": tuple((float(at), high) for at, (_, high) in enumerate(ends)),
            "at least": tuple((float(at), low) for at, (low, _) in enumerate(ends)),
            **{label: ((0.0, y), (last, y)) for label, y in lines.items()},
        },
        f"{pair.one} minus {pair.other}: what their difference can still be",
        bands={"at least": tuple(ends)},
    )


def to_json(duel: Duel, found: Sequence[Pair], spent: Spending, said: Sequence[str]) -> dict[str, JSON]:
    """A duel as it stands, for programs."""
    return {
        "said": list(said),
        "games": spent.games,
        "of": duel.games,
        "dollars": spent.dollars,
        "pairs": [
            {
                "one": pair.one,
                "other": pair.other,
                "verdict": pair.verdict,
                "samples": len(pair.low),
                "without": pair.without,
                "low": list(pair.low),
                "high": list(pair.high),
            }
            for pair in found
        ],
    }
