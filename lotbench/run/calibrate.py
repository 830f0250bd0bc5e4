"""`lotbench data calibrate`: the games of finished runs become blind plays beside the data set that they were made on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.config.experiment import validate
from lotbench.edge.files import atomic_write, datasets
from lotbench.errors import RunFolderError, UsageError
from lotbench.run import calibration, recorded
from lotbench.run.results import Run

_DAY = re.compile(r"(\d{4})(\d{2})(\d{2})-")


@dataclass(frozen=True, slots=True)
class Added:
    """What came of it: the file, plays that are new, and those that stood there already."""

    path: Path
    new: int
    there: int


def calibrate(runs: Sequence[Run], folder: Path | None = None, player: str = "") -> Added:
    """Add the games of finished runs to the plays of their data set; a game that broke off is none.

    Args:
        runs: All of one data set.
        folder: Where calibration.jsonl is, beside samples.jsonl; by default the data set of the first run.
        player: Who played; by default the id that the candidate's model returned.

    Raises:
        UsageError: A run is of a benchmark without plays, is not complete, or was made on other samples.
        DataError: What stands there has faults.
        RunFolderError: The file cannot be written.
    """
    homes = [recorded.home(run.path, run.config, folder) for run in runs]
    folder = folder or homes[0].folder
    declared = benchmarks.get(runs[0].config.benchmark)
    known = calibration.read(folder, declared)
    names = {play.name for play in known}
    new, there = [], 0
    for run, home in zip(runs, homes, strict=True):
        _refuse(run, folder, home.changed)
        for play in _plays(run, player):
            there += play.name in names
            new += [] if play.name in names else [play]
            names.add(play.name)
    path = folder / calibration.FILE
    lines = [play.model_dump_json() + "\n" for play in (*known, *new)]
    try:
        atomic_write.write(path, "".join(lines))
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}") from None
    return Added(path, len(new), there)


def _refuse(run: Run, folder: Path, changed: Sequence[str]) -> None:
    """Raise UsageError unless all games of a run were played on this data set as it is."""
    if not run.summary.get("complete"):
        raise UsageError(f"{run.path}: is not complete: a play that was left out may be the hard one")
    lacking = set(run.samples) - set(datasets.lines(folder))
    if lacking or changed:
        what = f"no sample {min(lacking)!r}" if lacking else f"changed: {', '.join(changed)}"
        raise UsageError(f"{run.path}: was not played on {folder} as it is ({what})")


def _plays(run: Run, player: str) -> Sequence[Any]:
    declared = benchmarks.get(run.config.benchmark)
    who = player or " + ".join(run.summary["models"]["candidate"])
    about = {
        "player": who,
        "prompts": run.digests["prompts"],
        "date": _day(run.path),
        "run": run.path.name,
    }
    settings = validate(declared.Settings, run.config.settings)
    return calibration.declared(declared).plays(run.traces, settings, about)


def _day(path: Path) -> str:
    """The day on which a run began, by the name of its folder, else by its run.json."""
    if found := _DAY.match(path.name):
        return "-".join(found.groups())
    return datetime.fromtimestamp((path / "run.json").stat().st_mtime, UTC).strftime("%Y-%m-%d")
