"""Blind plays beside a data set: read, and a report's section on where runs stand beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lotbench.edge.files import datasets
from lotbench.edge.files.jsonl import rows
from lotbench.errors import DataError, UsageError, at
from lotbench.harness.benchmark import Benchmark, Runs
from lotbench.harness.calibration import Calibration
from lotbench.report.sections import Section
from lotbench.types import JSON

FILE = "calibration.jsonl"


def declared(benchmark: Benchmark) -> Calibration:
    """How a benchmark's data sets are calibrated.

    Raises:
        UsageError: They are not.
    """
    if benchmark.data.calibration is None:
        raise UsageError(f"{benchmark.name}: its data sets have no blind plays")
    return benchmark.data.calibration


def read(folder: Path, benchmark: Benchmark) -> list[Any]:
    """The plays beside a data set; none without calibration.jsonl.

    Raises:
        DataError: Every line that is no play, of a sample that the data set lacks, or stands there twice.
    """
    path = folder / FILE
    if not path.is_file():
        return []
    faults: list[str] = []
    found: list[Any] = []
    seen: dict[tuple[JSON, ...], int] = {}
    samples = datasets.lines(folder)
    for number, play in rows(path, declared(benchmark).Play.model_validate, faults):
        if play.sample not in samples:
            faults.append(at(path, number, "sample") + f": no sample {play.sample!r} in the data set")
        if (first := seen.setdefault(play.name, number)) != number:
            faults.append(at(path, number) + f": is the play of line {first}")
        found.append(play)
    if faults:
        raise DataError(faults)
    return found


def tiers(folder: Path, benchmark: Benchmark) -> dict[str, JSON]:
    """How many plays and players a data set has, and how many samples of each tier; empty without plays."""
    plays = read(folder, benchmark)
    if not plays:
        return {}
    found = declared(benchmark).tiers(plays)
    counts: dict[str, JSON] = {"plays": len(plays), "players": len({one.player for one in plays})}
    for tier in (*dict.fromkeys(one for one in found.values() if one), None):
        counts[tier or "no tier yet"] = sum(one == tier for one in found.values())
    return counts


def sections(benchmark: Benchmark, homes: Mapping[str, tuple[Path, str, str]], runs: Runs) -> list[Section]:
    """Where runs stand beside the plays of the data set that each was made on; its own are none beside it.

    Args:
        benchmark: Of all the runs.
        homes: The data set of each run, the name of the run's folder, and the digest of its prompts.
        runs: The walks and settings of each, by the same names.
    """
    if benchmark.data.calibration is None:
        return []
    made: list[Section] = []
    plays: dict[Path, list[Any]] = {}
    for folder in dict.fromkeys(folder for folder, *_ in homes.values()):
        try:
            plays[folder] = read(folder, benchmark)
        except DataError as error:
            told = f"{folder / FILE} has faults, the first: {str(error).splitlines()[0]}"
            made.append(Section("Beside blind plays", (told,)))
    beside = {
        name: [one for one in plays.get(folder, ()) if one.run != own]
        for name, (folder, own, _) in homes.items()
    }
    if any(beside.values()):
        others = _of_other_prompts(homes, beside)
        stand = benchmark.data.calibration.standing(runs, beside)
        made += [replace(section, notes=(*section.notes, *others)) for section in stand]
    return made


def _of_other_prompts(
    homes: Mapping[str, tuple[Path, str, str]], beside: Mapping[str, list[Any]]
) -> list[str]:
    """Of which run's plays some were made with other prompts than its own, which nothing else would tell."""
    found = {name: sum(one.prompts != homes[name][2] for one in plays) for name, plays in beside.items()}
    return [
        f"{count} of the {len(beside[name])} plays beside {name} were made with other prompts than it has."
        for name, count in found.items()
        if count
    ]
