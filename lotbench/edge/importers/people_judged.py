"""What people judged, as judge sets: a folder with rows, samples and set.toml for each benchmark that reads it.

Nothing of it comes with lotbench; a set that is made here brings its own samples, so a judge check needs the one folder.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from lotbench import benchmarks
from lotbench.edge.files import atomic_write
from lotbench.edge.importers.published import Files
from lotbench.errors import UsageError
from lotbench.harness.judge_validation import Validation
from lotbench.harness.published import JudgedSet


def readers() -> Mapping[str, Mapping[str, Validation]]:
    """Which benchmarks read what others have published of people's judgments, by its name."""
    found: dict[str, dict[str, Validation]] = {}
    for name in benchmarks.names():
        validation = benchmarks.get(name).judges.validation
        if validation is not None:
            for source in validation.published:
                found.setdefault(source, {})[name] = validation
    return found


def bring(name: str, source: Path, dest: Path) -> list[str]:
    """Make the judge sets of a source, in folders of the benchmarks' names if several read it; a line on each.

    Raises:
        UsageError: A judge set is there already, or cannot be written.
        DataError: A file cannot be read, or a line of it is not what it should be.
    """
    reading = readers()[name]
    told = []
    for benchmark, validation in reading.items():
        found = validation.published[name](Files(source))
        folder = dest / benchmark if len(reading) > 1 else dest
        _write(folder, benchmark, found)
        rows = sum(map(len, found.rows.values()))
        told.append(f"{folder}: {rows} rows on {len(found.samples)} samples, for judges of {benchmark}")
    return told


def _write(folder: Path, benchmark: str, found: JudgedSet) -> None:
    """Write a judge set with its samples; set.toml comes last, so that a folder with one is whole."""
    if (folder / "set.toml").exists():
        raise UsageError(f"{folder / 'set.toml'} is there already")
    try:
        for name, rows in {"samples.jsonl": found.samples, **found.rows}.items():
            lines = [one.model_dump_json(exclude_defaults=True) + "\n" for one in rows]
            atomic_write.write(folder / name, lines)
        if found.blank:
            blank = io.BytesIO()
            Image.new("RGB", (64, 64), "white").save(blank, "PNG")
            atomic_write.write(folder / found.blank, blank.getvalue())
        about = f'benchmark = "{benchmark}"\ndata = "{folder.name}"\nlabels = "people"\n'
        atomic_write.write(folder / "set.toml", about)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror or error}") from None
