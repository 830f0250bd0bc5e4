"""One run, as far as it was looked at: a line for each of its games or tasks, and what was worked out of them.

The lines of its traces are in memory, and each is read when it is looked at. A folder may come from somebody else: a
sample whose name cannot be part of an address is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.config.experiment import Experiment, validate
from lotbench.errors import UsageError
from lotbench.report.leaderboard import Entry
from lotbench.run import recorded, results
from lotbench.run.folder_shapes import read_run_json
from lotbench.run.loading import Run, load_run
from lotbench.site import game_rounds
from lotbench.types import Trace

NAME = re.compile(r"\w[\w.-]*")
FILES = ("run.json", "summary.json", "traces.jsonl")
FILTERS = ("outcome", "language", "tier")
"""What the games of a run can be filtered by."""
LONGEST = 300
"""Characters of what was asked and answered that a line has."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """A game or task as a line in its run.

    Attributes:
        rounds: How many it had; None where the benchmark has none.
        solved: The round that solved it, the first of its leaps.
        answer: The last guess, or the first of the answers; `earlier` are the others.
    """

    sample: str
    repeat: int
    outcome: str
    score: float | None
    rounds: int | None
    solved: int | None
    answer: str
    earlier: str

    def verdict(self, graded: bool) -> str:
        """Return how it ended; of a task that is right or wrong and not graded (`graded`), which of the two."""
        if self.outcome != "scored" or graded or self.score is None:
            return self.outcome
        return "right" if self.score else "wrong"

    @property
    def file(self) -> str:
        """The name of its page."""
        return page_file(self.sample, self.repeat)


@dataclass(frozen=True, eq=False)
class Shelf:
    """A run with a line for each of its games, in their order."""

    run: Run
    samples: Mapping[str, Mapping[str, Any]]
    rows: Sequence[EpisodeRow]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.run.path.name

    @property
    def label(self) -> str:
        """Its candidate."""
        return self.run.answered

    @property
    def group(self) -> str:
        """What runs on the same samples have in common, as part of an address."""
        return re.sub(r"[^\w.-]", "-", f"{self.run.config.benchmark}-{self.run.digests['data'][:12]}")

    @property
    def asked(self) -> Sequence[str]:
        """The fields of its samples that say what is asked."""
        return benchmarks.get(self.run.config.benchmark).asked

    @cached_property
    def played(self) -> bool:
        """Whether its tasks are games."""
        return benchmarks.get(self.run.config.benchmark).graph == "game"

    @cached_property
    def graded(self) -> bool:
        """Whether any score lies between right and wrong, 1 and 0."""
        return any(row.score not in (None, 0, 1) for row in self.rows)

    @property
    def noun(self) -> str:
        """What one of its episodes is called."""
        return "game" if self.played else "task"

    @cached_property
    def entry(self) -> Entry:
        """The run as a ranking sees it.

        Raises:
            RunFolderError: It has not ended in order.
        """
        return results.entry(self.run)

    @cached_property
    def data(self) -> Path | None:
        """The folder of its data set, if it is still there."""
        try:
            folder = recorded.home(self.run.path, self.run.config).resolve()
        except UsageError:
            return None
        return folder if folder.is_dir() else None

    @cached_property
    def pictures(self) -> Mapping[str, str]:
        """The sha256 of each sample's picture as the run has recorded it."""
        recorded_data = read_run_json(self.run.path).get("recorded") or {}
        return dict(recorded_data.get("pictures", {}))

    @cached_property
    def filters(self) -> Mapping[str, Sequence[str]]:
        """What its games can be filtered by, and the values of each; none where all are alike."""
        values = {name: sorted({self.value(row, name) for row in self.rows} - {""}) for name in FILTERS}
        return {name: options for name, options in values.items() if len(options) > 1}

    def value(self, row: EpisodeRow, name: str) -> str:
        """Return the value by which a game is filtered."""
        if name == "outcome":
            return row.outcome
        return str(self.samples.get(row.sample, {}).get(name) or "")

    def asked_text(self, sample: str) -> str:
        """Return what was asked of a sample: the joke with its blank, or the first of its texts that says it."""
        fields = self.samples.get(sample, {})
        if (around := game_rounds.masked(fields)) is not None:
            return "____".join(around)[:LONGEST]
        texts = dict(game_rounds.fields(fields, ("id", "image", "canary", "writer", "licence", "language")))
        return next((texts[name] for name in (*self.asked, *texts) if name in texts), "")[:LONGEST]

    def at(self, file: str) -> int:
        """Return the place of the game whose page has this name; raises LookupError if there is none."""
        for place, row in enumerate(self.rows):
            if row.file == file:
                return place
        raise LookupError(file)


def page_file(sample: str, repeat: int) -> str:
    """Return the name of the page of an episode."""
    return f"{sample}-{repeat}.html"


def episode_row(trace: Trace, answers: Sequence[str] = ()) -> EpisodeRow:
    """Return an episode, as its run lists it; `answers` are those of an episode without guesses.

    Raises:
        UsageError: The sample's name can be no part of an address.
    """
    if not NAME.fullmatch(trace.sample):
        raise UsageError(f"{trace.sample[:80]!r}: no sample's name, so no part of an address")
    rounds = read_rounds(trace.steps)
    last = rounds[-1].number if rounds else None
    guesses = [str(each.guess) for each in reversed(rounds) if each.guess]
    said = [text[:LONGEST] for text in guesses or answers]
    return EpisodeRow(
        sample=trace.sample,
        repeat=trace.repeat,
        outcome=trace.outcome,
        score=trace.score.value,
        rounds=last,
        solved=next((at.number for at in rounds if at.leap), last if trace.outcome == "solved" else None),
        answer=said[0] if said else "",
        earlier=", ".join(said[1:])[:LONGEST],
    )


def read_run(path: Path) -> Shelf:
    """Read a run folder.

    Raises:
        UsageError: It is damaged, or a sample's name can be no part of an address.
    """
    rows: list[EpisodeRow] = []
    answers = _answers(path)
    run = load_run(path, seen=lambda trace: rows.append(episode_row(trace, answers(trace))))
    return Shelf(run, run.samples, rows)


def _answers(path: Path) -> Callable[[Trace], Sequence[str]]:
    """Return what reads the answers of a run's episodes; raises UsageError if its settings are not its benchmark's."""
    file = path / "run.json"
    experiment = validate(Experiment, read_run_json(path)["experiment"], file)
    declared = benchmarks.get(experiment.benchmark)
    settings = validate(declared.Settings, experiment.settings, file)
    return lambda trace: declared.answers(trace, settings)


def stamp(path: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return what changes when a run's files do."""
    return tuple(_file_stamp(path / file) for file in FILES)


def _file_stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
