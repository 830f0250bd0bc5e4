"""`lotbench compare`: runs ranked, what goes with the ranking, and the same as a page."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from lotbench.edge.files import atomic_write
from lotbench.errors import DataError, UsageError, at
from lotbench.report import leaderboard, ranking_sections
from lotbench.report.leaderboard import Board, Entry
from lotbench.report.sections import Grid, Plot, Section
from lotbench.run import results
from lotbench.run.results import load_run

NAMES = "model"
"""The column of a table that says which model a row is about."""


def compare(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench compare`."""
    from lotbench.report.html import comparison_page
    from lotbench.report.html.page import drawn as drawings

    runs = [load_run(name, Path(parsed.out)) for name in parsed.runs]
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise UsageError("a run is named twice")
    entries = [results.entry(run, curves=True) for run in runs]
    table = read_table(Path(parsed.table)) if parsed.table else {}
    if len(runs) < 2:
        raise UsageError("name two runs or more")
    boards = [leaderboard.board(group) for group in _by_benchmark(entries)]
    made = sections(boards, table)
    print(comparison_page.to_text(made), end="")
    folder = Path(parsed.to)
    title = " and ".join(one.benchmark for one in boards)
    page = comparison_page.page(f"{title}: {len(runs)} runs", [run.path.name for run in runs], made)
    try:
        atomic_write.write(folder / "compare.html", page)
    except OSError as error:
        raise UsageError(f"--to {folder}: {error.strerror}") from None
    print(f"\npage: {folder / 'compare.html'}")
    if parsed.png:
        drawn(folder / "plots", drawings(made))
    return 0


def drawn(folder: Path, drawings: Iterable[tuple[str, Plot | Grid]]) -> None:
    """Write drawings as PNG and CSV, and say where.

    Raises:
        UsageError: The folder cannot be written to.
    """
    from lotbench.report.html.page import files

    count = 0
    try:
        for name, content in files(drawings):
            atomic_write.write(folder / name, content)
            count += name.endswith(".png")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None
    print(f"plots: {folder} ({count} as PNG, and the data of each as CSV)")


def sections(boards: Sequence[Board], table: dict[str, dict[str, float]]) -> list[Section]:
    """Every board, and how they go together with each other and with a table's columns."""
    made: list[Section] = []
    for one in boards:
        for section in ranking_sections.sections(one):
            title = f"{one.benchmark}: {section.title}" if len(boards) > 1 else section.title
            made.append(Section(title, section.notes, section.tables, section.plots))
    for one, other in combinations(boards, 2):
        pair = [(f"mean score, {each.benchmark}", leaderboard.values(each)) for each in (one, other)]
        made.append(ranking_sections.correlations(f"{one.benchmark} and {other.benchmark}", *pair))
    for one in boards:
        ours = (f"mean score, {one.benchmark}", leaderboard.values(one))
        for column, values in table.items():
            theirs = (column, leaderboard.matched(values, one))
            made.append(ranking_sections.correlations(f"{one.benchmark} and {column}", ours, theirs))
    return made


def read_table(path: Path) -> dict[str, dict[str, float]]:
    """The columns of a CSV table of models, each a value by model; an empty cell is none.

    Raises:
        UsageError: The file cannot be read, or has no column `model` or no other.
        DataError: A cell is not a number, or a model has two rows, by line and column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    columns = [name for name in (rows[0] if rows else {}) if name is not None and name != NAMES]
    if not rows or NAMES not in rows[0] or not columns:
        raise UsageError(f"{path}: needs a header with a column {NAMES!r} and one or more columns of numbers")
    found: dict[str, dict[str, float]] = {name: {} for name in columns}
    faults = []
    for line, row in enumerate(rows, 2):
        for name in columns:
            text = (row[name] or "").strip()
            try:
                value = float(text) if text else None
            except ValueError:
                value = float("nan")
            if value is not None and abs(value) < float("inf"):
                if row[NAMES] in found[name]:
                    faults.append(f"{at(path, line, name)}: a second row of {row[NAMES]}")
                found[name][row[NAMES]] = value
            elif value is not None:
                faults.append(f"{at(path, line, name)}: not a number: {text!r}")
    if faults:
        raise DataError(faults)
    return found


def _by_benchmark(entries: Sequence[Entry]) -> list[list[Entry]]:
    names = dict.fromkeys(entry.benchmark for entry in entries)
    return [[entry for entry in entries if entry.benchmark == name] for name in names]
