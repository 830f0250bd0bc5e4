"""A run as the pages show it: a row for each of its episodes, and values that are computed from them when needed.

The text of the traces is in memory, and a trace is parsed when a page shows it. A folder may come from somebody else, so
a sample whose id cannot be part of an address is refused.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.config.experiment import Experiment, validate
from lotbench.errors import UsageError, shape_errors
from lotbench.report.leaderboard import Entry
from lotbench.run import recorded, results
from lotbench.run.folder_shapes import read_run_json
from lotbench.run.loading import Run, load_run
from lotbench.site import game_rounds
from lotbench.storage import run_folder
from lotbench.storage.datasets import file_stamp
from lotbench.types import Trace

NAME = re.compile(r"\w[\w.-]*")
FILES = ("run.json", "summary.json", "traces.jsonl")
FILTERS = ("outcome", "language", "tier")
"""The fields by which the episodes of a run can be filtered."""
LONGEST = 300
"""The maximum number of characters of a prompt or an answer in a row."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode as a row in the list of its run.

    Attributes:
        rounds: The number of rounds; None if the benchmark has none.
        solved: The round in which it was solved (of several solutions, the first); None if it was not.
        answer: The last guess, or the first of the answers; "" without any.
        earlier: The other guesses or answers, separated by commas.
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
        """Return the outcome; for a scored task, `right` or `wrong` unless the run's scores lie between 0 and 1 (`graded`)."""
        if self.outcome != "scored" or graded or self.score is None:
            return self.outcome
        return "right" if self.score else "wrong"

    @property
    def file(self) -> str:
        """The file name of the episode's page."""
        return page_file(self.sample, self.repeat)


@dataclass(frozen=True, eq=False)
class Shelf:
    """A run that was read from its folder, with a row for each of its episodes, in their order."""

    run: Run
    samples: Mapping[str, Mapping[str, Any]]
    rows: Sequence[EpisodeRow]

    @property
    def name(self) -> str:
        """The name of the run's folder."""
        return self.run.path.name

    @property
    def running(self) -> bool:
        """Whether a process is writing to the run."""
        return run_folder.is_locked(self.run.path)

    @property
    def label(self) -> str:
        """The name of the run's candidate."""
        return self.run.answered

    @property
    def group(self) -> str:
        """The benchmark and the start of the data's digest, as part of an address; runs on the same data share it."""
        return re.sub(r"[^\w.-]", "-", f"{self.run.config.benchmark}-{self.run.digests['data'][:12]}")

    @property
    def asked(self) -> Sequence[str]:
        """The fields of its samples that may hold the prompt."""
        return benchmarks.get(self.run.config.benchmark).asked

    @cached_property
    def games(self) -> Mapping[str, Sequence[EpisodeRow]]:
        """The episodes of each sample in the order of the run's page: of a game, the samples with the lowest scores first."""
        games: dict[str, list[EpisodeRow]] = {}
        for row in self.rows:
            games.setdefault(row.sample, []).append(row)
        if not self.played:
            return games
        return dict(sorted(games.items(), key=lambda game: sum(row.score or 0.0 for row in game[1])))

    @cached_property
    def played(self) -> bool:
        """Whether the benchmark is a game."""
        return benchmarks.get(self.run.config.benchmark).graph == "game"

    @cached_property
    def graded(self) -> bool:
        """Whether any score is neither 0 nor 1."""
        return any(row.score not in (None, 0, 1) for row in self.rows)

    @property
    def noun(self) -> str:
        """The word for an episode of the run: `game` or `task`."""
        return "game" if self.played else "task"

    @cached_property
    def entry(self) -> Entry:
        """The data of the run for a ranking.

        Raises:
            RunFolderError: The run has no summary yet.
        """
        return results.entry(self.run)

    @cached_property
    def data(self) -> Path | None:
        """The folder of the run's data set; None if it no longer exists."""
        try:
            folder = recorded.home(self.run.config).resolve()
            return folder if folder.is_dir() else None
        except (UsageError, OSError, RuntimeError, ValueError):
            # A name that no folder can have, in a run folder from somebody else.
            return None

    @cached_property
    def pictures(self) -> Mapping[str, str]:
        """The sha256 of each sample's picture as the run has recorded it, by sample id."""
        recorded_data = read_run_json(self.run.path).get("recorded") or {}
        return dict(recorded_data.get("pictures", {}))

    @cached_property
    def filters(self) -> Mapping[str, Sequence[str]]:
        """The values of each field by which the episodes can be filtered; a field with a single value is left out."""
        values = {name: sorted({self.value(row, name) for row in self.rows} - {""}) for name in FILTERS}
        return {name: options for name, options in values.items() if len(options) > 1}

    def value(self, row: EpisodeRow, name: str) -> str:
        """Return an episode's value of the filter field `name`; "" if it has none."""
        if name == "outcome":
            return row.outcome
        return str(self.samples.get(row.sample, {}).get(name) or "")

    def asked_text(self, sample: str) -> str:
        """Return the prompt of a sample: the joke with its blank, else the first text in `asked`, else any text, else ""."""
        fields = self.samples.get(sample, {})
        if (around := game_rounds.masked(fields)) is not None:
            return "____".join(around)[:LONGEST]
        texts = dict(game_rounds.fields(fields, ("id", "image", "canary", "writer", "licence", "language")))
        return next((texts[name] for name in (*self.asked, *texts) if name in texts), "")[:LONGEST]

    def at(self, file: str) -> int:
        """Return the index of the episode whose page has this file name; raises LookupError if there is none."""
        for place, row in enumerate(self.rows):
            if row.file == file:
                return place
        raise LookupError(file)


def page_file(sample: str, repeat: int) -> str:
    """Return the file name of an episode's page."""
    return f"{sample}-{repeat}.html"


def episode_row(trace: Trace, answers: Sequence[str] = ()) -> EpisodeRow:
    """Return the row of an episode; `answers` are its answers if it has no guesses.

    Raises:
        UsageError: The sample id cannot be part of an address.
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
        score=None if trace.outcome.endswith("_failed") else trace.score.value,
        rounds=last,
        solved=next((at.number for at in rounds if at.leap), last if trace.outcome == "solved" else None),
        answer=said[0] if said else "",
        earlier=", ".join(said[1:])[:LONGEST],
    )


def read_run(path: Path) -> Shelf:
    """Read a run folder and return the run with its rows.

    Raises:
        UsageError: The folder is damaged, or a sample id cannot be part of an address.
    """
    rows: list[EpisodeRow] = []
    answers = _answers(path)
    with shape_errors(path):
        run = load_run(path, seen=lambda trace: rows.append(episode_row(trace, answers(trace))))
    return Shelf(run, run.samples, rows)


def _answers(path: Path) -> Callable[[Trace], Sequence[str]]:
    """Return a function from a trace of a run to its answers; raises UsageError if the run's settings are invalid."""
    file = path / "run.json"
    experiment = validate(Experiment, read_run_json(path)["experiment"], file)
    declared = benchmarks.get(experiment.benchmark)
    settings = validate(declared.Settings, experiment.settings, file)
    return lambda trace: declared.answers(trace, settings)


def stamp(path: Path) -> tuple[object, ...]:
    """Return what changes if a run's folder changes: the stamp of each file in `FILES`."""
    return tuple(file_stamp(path / file) for file in FILES)
