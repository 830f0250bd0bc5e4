"""One run, as far as it was looked at: how each task ended, where it stands on the disk, and what was worked out of it.

Traces stay on disk: of each walk there is in memory what it is found and filtered by. A folder may come from somebody else: a walk whose sample has no name that can be part of an address is refused.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.edge.files.traces import Traces
from lotbench.errors import UsageError
from lotbench.report.leaderboard import Entry
from lotbench.run import results
from lotbench.run.loading import Run, load_run
from lotbench.site import run_tables
from lotbench.types import Trace

NAME = re.compile(r"\w[\w.-]*")
FILES = ("run.json", "summary.json", "traces.jsonl")
FILTERS = ("outcome", "language", "tier")
"""By what walks can be told apart."""


@dataclass
class Shelf:
    """One run, as far as it was looked at.

    Attributes:
        run: Its traces stay on disk.
        outcomes: Of each walk, in their order.
        played: Whether any walk has a filling, as those of the game have.
        graded: Whether any score lies between right and wrong, 1 and 0.
        stamp: What its files were when they were read.
    """

    run: Run
    traces: Traces
    outcomes: Sequence[str]
    samples: Mapping[str, Mapping[str, Any]]
    played: bool
    graded: bool
    stamp: object

    @property
    def name(self) -> str:
        """Of its folder."""
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
    def noun(self) -> str:
        """What one of its walks is called."""
        return "game" if self.played or self.run.config.benchmark == "lotbench" else "task"

    @cached_property
    def entry(self) -> Entry:
        """The run as a ranking sees it.

        Raises:
            RunFolderError: It has not ended in order.
        """
        return results.entry(self.run)

    @cached_property
    def filters(self) -> Mapping[str, Sequence[str]]:
        """By what its walks can be told apart, and the values of each; none where all are alike."""
        every = set(map(self._told, range(len(self))))
        found = {name: {one[at] for one in every} - {""} for at, name in enumerate(FILTERS)}
        return {name: sorted(values) for name, values in found.items() if len(values) > 1}

    def __len__(self) -> int:
        return len(self.outcomes)

    def at(self, sample: str, repeat: int) -> int:
        """The place of a walk among all; raises LookupError if there is none."""
        try:
            return self.traces.names.index((sample, repeat))
        except ValueError:
            raise LookupError(sample) from None

    def chosen(self, wanted: Mapping[str, str]) -> Sequence[int]:
        """The places of the walks that have these values of filters."""
        places = [(FILTERS.index(name), value) for name, value in wanted.items()]
        every = range(len(self))
        if not places:
            return every
        return [one for one in every if all(self._told(one)[at] == value for at, value in places)]

    def rows(self, places: Sequence[int]) -> list[run_tables.WalkRow]:
        """Walks as lines; they are read."""
        return [run_tables.walk_row(self.traces[at], *self._told(at)[1:]) for at in places]

    def file(self, at: int) -> str:
        """The name of the page of a walk."""
        return run_tables.page_file(*self.traces.names[at])

    def _told(self, at: int) -> tuple[str, str, str]:
        sample = self.samples.get(self.traces.names[at][0], {})
        return self.outcomes[at], str(sample.get("language") or ""), str(sample.get("tier") or "")


def read_run(path: Path) -> Shelf:
    """Read a run folder.

    Raises:
        UsageError: It is damaged, or a sample's name can be no part of an address.
    """
    before = stamp(path)
    outcomes: list[str] = []
    played = graded = False

    def seen(trace: Trace) -> None:
        nonlocal played, graded
        if not NAME.fullmatch(trace.sample):
            raise UsageError(f"{trace.sample[:80]!r}: no sample's name, so no part of an address")
        outcomes.append(sys.intern(trace.outcome))
        played = played or any(one.filling for one in read_rounds(trace.steps))
        graded = graded or trace.score.value not in (None, 0, 1)

    run = load_run(path, seen=seen)
    assert isinstance(run.traces, Traces)
    return Shelf(run, run.traces, outcomes, run.samples, played, graded, before)


def stamp(path: Path) -> object:
    """What changes when a run's files do."""
    return tuple(file_stamp(path / file) for file in FILES)


def file_stamp(file: Path) -> tuple[int, int] | None:
    """What changes when a file does; None of one that is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
