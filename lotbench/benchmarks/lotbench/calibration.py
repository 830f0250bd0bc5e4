"""Calibration: what blind players did on the samples, how hard these are by that, and where a run stands beside them.

`calibration.jsonl` stands beside samples.jsonl, a line a play. Its players knew nothing of the samples and did not judge
themselves. What it cannot show stands in the data set's SOURCE.md: players of one kind are one mind.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lotbench.benchmarks.lotbench.games import Game, game
from lotbench.benchmarks.lotbench.rules import Rules, worth
from lotbench.benchmarks.lotbench.sample import Text
from lotbench.config.arm import arm
from lotbench.harness.benchmark import Runs
from lotbench.harness.calibration import Calibration
from lotbench.metrics.compare import difference
from lotbench.metrics.proportion import ratio
from lotbench.report.report import interval
from lotbench.report.sections import Section, Table
from lotbench.types import JSON, Trace

Tier: TypeAlias = Literal["easy", "medium", "hard"]
Cell = str | float | int | None
TIERS: tuple[Tier, ...] = ("easy", "medium", "hard")
FEWEST = 4
"""Plays of a sample, all arms together, below which it has no tier."""
EASY, HARD = 0.75, 0.25
"""The share of first attempts that solved it (the mean of the arms' shares) from which a sample is easy, and down to
which it is hard."""
LATER = ("max_rounds=", "ask=", "clues=", "clue_interval=", "clue_reveal=", "feedback=")
"""Parts of an arm's name that a first attempt knows nothing of."""


class Play(BaseModel):
    """One blind play: a line of calibration.jsonl."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Text
    arm: Text
    """As summary.json names it."""
    player: Text
    """Who played, and how: a model's name, `by hand` where somebody wrote its replies."""
    solved: int | None = Field(ge=1)
    """The attempt that solved it, from 1; null if none did."""
    attempts: int = Field(ge=1)
    """How many attempts the player had at most."""
    prompts: Text
    """The digest of the prompts, as run.json has it."""
    date: datetime.date
    run: str = ""
    """The run that it is from."""
    repeat: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _solved_in_time(self) -> Play:
        if self.solved is not None and self.solved > self.attempts:
            raise ValueError(f"solved: is attempt {self.solved} of {self.attempts}")
        return self

    @property
    def name(self) -> tuple[JSON, ...]:
        """What no two plays have in common."""
        return self.sample, self.arm, self.player, self.run, self.repeat


def plays(traces: Sequence[Trace], settings: BaseModel, about: Mapping[str, JSON]) -> list[Play]:
    """The plays of a finished run; a game that broke off is none.

    Args:
        traces: Its walks.
        settings: Its settings.
        about: The fields of a play that the run has one value for: player, prompts, date, run.
    """
    games = [game(trace) for trace in traces]
    fixed = {**about, "arm": arm(settings), "attempts": getattr(settings, "max_rounds", 1)}
    return [
        Play.model_validate({**fixed, "sample": one.sample, "repeat": one.repeat, "solved": one.solved})
        for one in games
        if not one.censored
    ]


def tiers(known: Sequence[Play]) -> dict[str, Tier | None]:
    """How hard each sample is by the first attempts at it; None where it was played too seldom.

    The shares of the arms that were played count alike, however many plays each has.
    """
    shares: dict[str, dict[str, list[bool]]] = {}
    for one in known:
        shares.setdefault(one.sample, {}).setdefault(opening(one.arm), []).append(one.solved == 1)
    return {name: _tier(list(arms.values())) for name, arms in shares.items()}


def _tier(arms: Sequence[Sequence[bool]]) -> Tier | None:
    if sum(map(len, arms)) < FEWEST:
        return None
    share = sum(sum(hits) / len(hits) for hits in arms) / len(arms)
    return "easy" if share >= EASY else "hard" if share <= HARD else "medium"


def opening(name: str) -> str:
    """The arm of a first attempt: what of an arm's name it knows of."""
    return ", ".join(part for part in name.split(", ") if not part.startswith(LATER))


Trials: TypeAlias = Sequence[tuple[str, float]]
"""Sample and value, between 0 and 1, of plays or games."""


def standing(runs: Runs, known: Mapping[str, Sequence[Play]]) -> tuple[Section, ...]:
    """Where runs stand beside the blind plays of the same samples in the same arm; nothing where there are none."""
    rows = [
        row for name, (traces, settings) in runs.items() for row in _rows(name, traces, settings, known[name])
    ]
    if not rows:
        return ()
    every = [one for plays in known.values() for one in plays]
    notes = (
        f"Blind plays of {len({one.sample for one in every})} samples by {', '.join(sorted({one.player for one in every}))}; "
        "those of a run itself are left out beside it. Both shares are over the "
        "samples that run and players have in common, each of which counts once, however often it was played; intervals and "
        "p are over samples, and of each row by itself: of twenty rows one has a p below .05 by chance.",
        "First attempt: solved before any question, clue or verdict. Game: what a whole game of that variant was worth.",
        "Players of one kind are one mind: what is easy for them may be hard for others.",
    )
    columns = (
        "run", "arm", "of", "samples", "plays", "players", "95 % of players", "games", "run's", "95 % of run's",
        "difference", "95 %", "p",
    )  # fmt: skip
    tables = [Table(columns, tuple(rows))]
    if len(runs) == 1:
        tables += [_by_tier(traces, known[name]) for name, (traces, _) in runs.items()]
    return (Section("Beside blind plays", notes, tuple(tables)),)


def _rows(
    name: str, traces: Sequence[Trace], settings: Rules, known: Sequence[Play]
) -> Iterator[tuple[Cell, ...]]:
    """A row for first attempts and one for whole games, as far as both sides have any."""
    games, played = [game(trace) for trace in traces], _arm(settings)
    first = [(one.sample, float(one.solved == 1)) for one in known if opening(one.arm) == opening(played)]
    yield from _row((name, opening(played), "first attempt"), first, _first(games))
    fair = [one for one in known if one.arm == played and one.attempts == settings.max_rounds]
    whole = [(one.sample, _worth(one.solved, settings)) for one in fair] if settings.max_rounds > 1 else []
    mine = [(one.sample, _worth(one.solved, settings)) for one in games if not one.censored]
    yield from _row((name, played, "game"), whole, mine)


def _row(names: tuple[Cell, ...], theirs: Trials, mine: Trials) -> Iterator[tuple[Cell, ...]]:
    shared = {sample for sample, _ in theirs} & {sample for sample, _ in mine}
    if not shared:
        return
    sides = [_grouped([one for one in side if one[0] in shared]) for side in (theirs, mine)]
    means = [{name: fmean(values) for name, values in side.items()} for side in sides]
    cells: list[Cell] = []
    for side, of_samples in zip(sides, means, strict=True):
        # Each sample once, as in the difference, which two shares over plays would not come to.
        share = ratio(np.array([[value, 1.0] for value in of_samples.values()]))
        cells += [sum(map(len, side.values())), share.value, interval(share)]
    ahead = difference(means[1], means[0])
    ends = None if ahead.low is None or ahead.high is None else f"{ahead.low:.3f} to {ahead.high:.3f}"
    yield (*names, len(shared), *cells, ahead.mean, ends, ahead.p)


def _by_tier(traces: Sequence[Trace], known: Sequence[Play]) -> Table:
    """First attempts by tier."""
    found = tiers(known)
    first = _first([game(trace) for trace in traces])
    rows = []
    for tier in (*TIERS, None):
        mine = [one for one in first if one[0] in found and found[one[0]] == tier]
        if mine:
            share = ratio(np.array([[sum(values), len(values)] for values in _grouped(mine).values()]))
            rows.append((tier or "none yet", share.n, share.observations, share.value, interval(share)))
    columns = ("tier by blind plays", "samples", "games", "solved at the first attempt", "95 %")
    return Table(columns, tuple(rows), "By tier")


def _first(games: Sequence[Game]) -> list[tuple[str, float]]:
    """Whether the first attempt solved it, where that is known."""
    return [(one.sample, float(one.solved == 1)) for one in games if one.span(max(1, one.played)).rounds]


def _worth(solved: int | None, settings: Rules) -> float:
    """What a whole game is worth, as a share of the most (Eq. 8)."""
    most = worth(settings.round_origin, settings)
    if solved is not None:
        return worth(solved - 1 + settings.round_origin, settings) / most
    return worth(settings.max_rounds, settings) / most if settings.unsolved == "cap" else 0.0


def _grouped(trials: Trials) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for sample, value in trials:
        found.setdefault(sample, []).append(value)
    return found


def _arm(settings: Rules) -> str:
    return (arm(settings) if isinstance(settings, BaseModel) else None) or ""


CALIBRATION = Calibration(Play=Play, plays=plays, standing=standing, tiers=tiers)
