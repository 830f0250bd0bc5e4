"""Blind plays of the game's data sets, from which the difficulty of samples is derived.

A blind play is a game of a player who had not seen the sample. `calibration.jsonl` stands next to samples.jsonl and has one
play per line. `lotbench data calibrate` adds the games of finished runs.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.games import game
from lotbench.config.arm import arm
from lotbench.config.experiment import validate
from lotbench.config.makers import makers
from lotbench.errors import DataError, RunFolderError, UsageError, at
from lotbench.harness.sample_row import Text
from lotbench.run import recorded
from lotbench.run.folder_shapes import read_run_json
from lotbench.run.loading import Run
from lotbench.storage import atomic_write, datasets
from lotbench.storage.jsonl import rows
from lotbench.types import JSON

FILE = "calibration.jsonl"
GAME = "lotbench"
"""The benchmark that has blind plays."""
Tier: TypeAlias = Literal["easy", "medium", "hard"]
FEWEST = 8
"""The minimum number of plays of a sample, over all arms, for it to have a tier."""
EASY, HARD = 0.75, 0.25
"""A sample is easy if at least a share `EASY` of first attempts solved it, and hard if at most a share `HARD` did."""
LATER = ("max_rounds=", "ask=", "clues=", "clue_interval=", "clue_reveal=", "feedback=")
"""Parts of an arm's name that make no difference to a first attempt."""


class Play(BaseModel):
    """One blind play: a line of calibration.jsonl."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Text
    arm: Text
    """The name of the arm in summary.json."""
    player: Text
    """The name of the model, with `by hand` if a person wrote its replies."""
    solved: int | None = Field(ge=1)
    """The number of the attempt that solved the sample, from 1; None if none did."""
    attempts: int = Field(ge=1)
    """The maximum number of attempts."""
    prompts: Text
    """The digest of the prompts in run.json."""
    date: datetime.date
    run: str = ""
    """The name of the run."""
    repeat: int = Field(default=1, ge=1)
    edition: str = ""
    """The version of the benchmark, which determines the criteria of its judge."""

    @model_validator(mode="after")
    def _solved_in_time(self) -> Play:
        if self.solved is not None and self.solved > self.attempts:
            raise ValueError(f"solved: is attempt {self.solved} of {self.attempts}")
        return self

    @property
    def name(self) -> tuple[JSON, ...]:
        """The fields that identify the play."""
        return self.sample, self.arm, self.player, self.run, self.repeat


@dataclass(frozen=True, slots=True)
class Added:
    """The result of `calibrate`.

    Attributes:
        path: The calibration.jsonl.
        new: The number of plays that were added to it.
        there: The number of plays that it already had.
    """

    path: Path
    new: int
    there: int


def read_plays(folder: Path) -> list[Play]:
    """Return the blind plays of the data set in a folder; none without calibration.jsonl.

    Raises:
        DataError: Lines are not plays, name samples that the data set lacks, or are duplicates; all are listed.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    faults: list[str] = []
    plays: list[Play] = []
    seen: dict[tuple[JSON, ...], int] = {}
    samples = datasets.lines(folder)
    for number, play in rows(path, Play.model_validate, faults):
        if play.sample not in samples:
            faults.append(at(path, number, "sample") + f": no sample {play.sample!r} in the data set")
        if (first := seen.setdefault(play.name, number)) != number:
            faults.append(at(path, number) + f": is the play of line {first}")
        plays.append(play)
    if faults:
        raise DataError(faults)
    return plays


def calibrate(runs: Sequence[Run], folder: Path | None = None, player: str = "") -> Added:
    """Add the games of finished runs, except those that broke off, to the blind plays of their data set.

    Args:
        runs: Runs of one data set.
        folder: The folder of the data set; by default that of the first run.
        player: The player's name; by default the id that the candidate's model returned.

    Raises:
        UsageError: A run is not of the game, is not complete, or was made on other samples.
        DataError: The existing calibration.jsonl has faults.
        RunFolderError: The file cannot be written.
    """
    folder = folder or recorded.home(runs[0].path, runs[0].config)
    plays = {play.name: play for play in read_plays(folder)}
    before, there = len(plays), 0
    for run in runs:
        _refuse(run)
    items = datasets.samples(folder, benchmarks.get(GAME).Item)
    now = {item.id: item.model_dump(mode="json") for item in items}
    for run in runs:
        _refuse_other(run, folder, now)
        for play in _plays(run, player):
            there += play.name in plays
            plays.setdefault(play.name, play)
    path = folder / FILE
    try:
        atomic_write.write(path, "".join(play.model_dump_json() + "\n" for play in plays.values()))
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}") from None
    return Added(path, len(plays) - before, there)


def _refuse(run: Run) -> None:
    """Raise UsageError unless a run is of the game and complete."""
    if run.config.benchmark != GAME:
        raise UsageError(f"{run.config.benchmark}: its data sets have no blind plays")
    if not run.summary.get("complete"):
        raise UsageError(f"{run.path}: is not complete: a play that was left out may be the hard one")


def _refuse_other(run: Run, folder: Path, now: Mapping[str, Mapping[str, JSON]]) -> None:
    """Raise UsageError unless the samples of a run are unchanged in the data set; `now` has its samples by id."""
    for name, played in run.samples.items():
        if name not in now or any(now[name].get(field) != value for field, value in played.items()):
            raise UsageError(
                f"{run.path}: was not played on {folder} as it is: no sample {name!r}, or another"
            )


def _plays(run: Run, player: str) -> list[Play]:
    settings = validate(benchmarks.get(GAME).Settings, run.config.settings)
    return [
        Play(
            sample=played.sample,
            arm=arm(settings) or "",
            player=player or " + ".join(run.summary["models"]["candidate"]),
            solved=played.solved,
            attempts=settings.max_rounds,
            prompts=run.digests["prompts"],
            date=datetime.datetime.fromtimestamp(
                (run.path / "run.json").stat().st_mtime, datetime.UTC
            ).date(),
            run=run.path.name,
            repeat=played.repeat,
            edition=read_run_json(run.path).get("version") or "",
        )
        for played in map(game, run.traces)
        if not played.censored
    ]


def opening(name: str) -> str:
    """Return an arm's name without the settings that make no difference to a first attempt (`LATER`)."""
    return ", ".join(part for part in name.split(", ") if not part.startswith(LATER))


def tiers(plays: Sequence[Play]) -> dict[str, Tier | None]:
    """Return the tier of each sample, by the share of first attempts that solved it.

    Each arm has the same weight in the share. The tier is None if the sample has fewer than `FEWEST` plays, or if all its players
    are of one maker (people count as one maker).
    """
    arms: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    players: dict[str, set[frozenset[str]]] = defaultdict(set)
    for play in plays:
        arms[play.sample][opening(play.arm)].append(play.solved == 1)
        players[play.sample].add(
            makers(play.player)
        )  # People and models of unknown makers count as one kind.
    return {
        name: _tier(list(hits.values())) if len(players[name]) > 1 else None for name, hits in arms.items()
    }


def _tier(arms: Sequence[Sequence[bool]]) -> Tier | None:
    if sum(map(len, arms)) < FEWEST:
        return None
    share = fmean(fmean(hits) for hits in arms)
    return "easy" if share >= EASY else "hard" if share <= HARD else "medium"


def counts(plays: Sequence[Play]) -> dict[str, int]:
    """Return the numbers of plays, of players, and of samples in each tier."""
    by_tier: Counter[str] = Counter(tier or "no tier yet" for tier in tiers(plays).values())
    return {"plays": len(plays), "players": len({play.player for play in plays}), **by_tier}
