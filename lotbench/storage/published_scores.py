"""Published scores for comparison (`--table`): a CSV file with one model per row."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from lotbench.errors import DataError, UsageError, at

NO_VALUE = ("", "-", "–", "n/a")
"""Cells that mean a missing value."""


def read_published_scores(path: Path) -> dict[str, dict[str, float]]:
    """Return the numeric columns of a CSV file: for each column name the value of each model.

    The model names stand in the column `model`, or else in the first column. A column without any number is left out.

    Raises:
        UsageError: The file cannot be read, or has no numeric column.
        DataError: A cell of a numeric column is not a number, or a model has two rows; with line and column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns = list(reader.fieldnames or ())
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    model = next(
        (name for name in columns if name.strip().casefold() == "model"), columns[0] if columns else ""
    )
    table: dict[str, dict[str, float]] = {}
    faults: list[str] = []
    for column in dict.fromkeys(columns):
        cells = [(line, (row[model] or "").strip(), (row[column] or "").strip()) for line, row in rows]
        if column != model and any(_number(text) is not None for _, _, text in cells):
            table[column] = _column(path, column, cells, faults)
    if faults:
        raise DataError(faults)
    if not table:
        raise UsageError(f"{path}: needs a header, a column of models, and one or more columns of numbers")
    return table


def _column(
    path: Path, column: str, cells: list[tuple[int, str, str]], faults: list[str]
) -> dict[str, float]:
    """Return the values of a column by model; add the faults of its cells to `faults`.

    A cell is (line number, model, text).
    """
    values: dict[str, float] = {}
    for line, model, text in cells:
        value = _number(text)
        if text.casefold() in NO_VALUE:
            continue
        if value is None or not math.isfinite(value):
            faults.append(f"{at(path, line, column)}: not a number: {text!r}")
        elif model in values:
            faults.append(f"{at(path, line, column)}: a second row of {model}")
        else:
            values[model] = value
    return values


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
