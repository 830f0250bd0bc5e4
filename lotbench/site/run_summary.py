"""One run, as far as it was looked at: its walks without their steps, and what was worked out of it.

A folder may come from somebody else: a walk whose sample has no name that can be part of an address is refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lotbench.edge.calls.journal import read_journal
from lotbench.edge.files.traces import Traces
from lotbench.errors import UsageError
from lotbench.report.leaderboard import Entry
from lotbench.run import recorded, results
from lotbench.run.results import Run
from lotbench.site import run_tables
from lotbench.types import Trace, Usage

NAME = re.compile(r"\w[\w.-]*")
FILES = ("run.json", "summary.json", "traces.jsonl")


@dataclass
class Shelf:
    """One run, as far as it was looked at.

    Attributes:
        run: Its traces are without their steps.
        traces: The whole traces, on disk.
        games: Its walks as lines, by sample and repeat.
    """

    run: Run
    traces: Traces
    games: dict[tuple[str, int], run_tables.WalkRow]
    stamp: object
    samples: Mapping[str, Mapping[str, Any]]
    entry: Entry | None = None

    @property
    def name(self) -> str:
        """Of its folder."""
        return self.run.path.name

    @property
    def label(self) -> str:
        """Its candidate."""
        return self.entry.model if self.entry else self.run.config.model

    @cached_property
    def used(self) -> Mapping[str, Usage]:
        """What each call used, by its key."""
        calls = self.run.path / "calls.jsonl"
        return {str(one.key): one.reply.usage for one in read_journal(calls)} if calls.is_file() else {}

    @cached_property
    def data(self) -> Path | None:
        """The folder of its data set, if it is still there."""
        try:
            folder = recorded.home(self.run.path, self.run.config).folder
        except UsageError:
            return None
        return folder if folder.is_dir() else None

    @property
    def group(self) -> str:
        """What runs on the same samples have in common, as part of an address."""
        return re.sub(r"[^\w.-]", "-", f"{self.run.config.benchmark}-{self.run.digests['data'][:12]}")

    @property
    def state(self) -> str:
        """How far the run has come, and whether it is ranked."""
        if not self.run.summary:
            return "not ended"
        if not self.run.summary.get("complete", True):
            return "not complete"
        return "not rankable" if self.run.summary.get("reasons") else "ranked"


def read_run(path: Path) -> Shelf:
    """Read a run folder.

    Raises:
        UsageError: It is damaged, or a sample's name can be no part of an address.
    """
    before = stamp(path)
    brief: list[Trace] = []
    games: dict[tuple[str, int], run_tables.WalkRow] = {}

    def seen(trace: Trace) -> None:
        if not NAME.fullmatch(trace.sample):
            raise UsageError(f"{trace.sample[:80]!r}: no sample's name, so no part of an address")
        games[trace.sample, trace.repeat] = run_tables.walk_row(trace)
        brief.append(replace(trace, steps=(), memory=None))

    run = results.load_run(path, seen=seen)
    traces, samples = run.traces, run.samples
    assert isinstance(traces, Traces)
    games = {key: run_tables.described(one, samples.get(key[0], {})) for key, one in games.items()}
    entry = results.entry(run) if run.summary else None
    return Shelf(replace(run, traces=brief), traces, games, before, samples, entry)


def stamp(path: Path) -> object:
    """What changes when a run's files do."""
    return tuple(_stamp(path / file) for file in FILES)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
