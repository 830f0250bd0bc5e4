"""Published scores for comparison (`--table`): a CSV file with one model per row."""

import math
from pathlib import Path

from lotbench.errors import UsageError, at, refuse_faults
from lotbench.storage.importers.published import Files

NO_VALUE = ("", "-", "–", "n/a")
"""Cells that mean a missing value."""


def read_published_scores(path: Path) -> dict[str, dict[str, float]]:
    """Return the numeric columns of a CSV file: for each column name the value of each model.

    The model names stand in the column `model`, or else in the first column. A column without any number is left out.

    Raises:
        UsageError: The file has no numeric column.
        DataError: The file cannot be read; or a cell of a numeric column is not a number, or a model has two rows, with line
            and column.
    """
    rows = Files(path).table(set())
    # A row with more cells than the header has a column None.
    columns = [name for name in rows[0][1] if name is not None] if rows else [""]
    model = next((name for name in columns if name.strip().casefold() == "model"), columns[0])
    table: dict[str, dict[str, float]] = {}
    faults: list[str] = []
    for column in columns:
        cells = [(line, row[model].strip(), row[column].strip()) for line, row in rows]
        if column != model and any(_number(text) is not None for _, _, text in cells):
            table[column] = _column(path, column, cells, faults)
    refuse_faults(faults)
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
