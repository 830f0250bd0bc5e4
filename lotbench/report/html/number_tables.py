"""The data of plots and heat maps, as tables and as CSV."""

import csv
import io
import math
from collections.abc import Iterator, Sequence

from lotbench.report.markdown import cell, visible
from lotbench.report.sections import Cell, Grid, Plot, Table
from lotbench.types import Metric

DECIMALS = 3
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


def of_plot(plot: Plot) -> Table:
    """Return the points of a plot, one per row, with bands and labels if it has any."""
    banded, labelled = bool(plot.bands), any(plot.labels.values())
    columns = ["series", plot.x or "name", plot.y]
    columns += ["low", "high"] if banded else []
    columns += ["label"] if labelled else []
    return Table(tuple(columns), tuple(_points(plot, banded, labelled)), plot.caption)


def of_grid(grid: Grid) -> Table:
    """Return the cells of a heat map, one per row."""
    rows = tuple(
        (row, column, *_numbers(metric))
        for row, cells in zip(grid.rows, grid.cells, strict=True)
        for column, metric in zip(grid.columns, cells, strict=True)
    )
    return Table((grid.y, grid.x, "value", "low", "high", "n"), rows, grid.caption)


def cell_texts(table: Table) -> list[list[str]]:
    """Return the cells of a table as text, with the same number of decimals in each column."""
    columns = [_aligned(column) for column in zip(*table.rows, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def values(grid: Grid) -> list[list[str]]:
    """Return the values of a heat map as text, all with the same number of decimals."""
    numbers: list[Cell] = [None if shade is None else shade.value for row in grid.cells for shade in row]
    texts, width = _aligned(numbers), len(grid.columns)
    return [texts[at : at + width] for at in range(0, len(texts), width)]


def is_numeric(table: Table) -> list[bool]:
    """Return for each column of a table whether it has numbers and no texts."""
    return [
        all(isinstance(value, int | float | None) for value in column) and any(v is not None for v in column)
        for column in zip(*table.rows, strict=True)
    ]


def _aligned(column: Sequence[Cell]) -> list[str]:
    """Return the cells of a column as text; a number that would be rounded to 0 is written as `<0.0001`."""
    floats = [value for value in column if isinstance(value, float) and abs(value) < 1000]
    places = [len(cell(value).partition(".")[2]) for value in floats if "e" not in cell(value)]
    decimals = min(max(places, default=0), DECIMALS)
    texts = []
    for value in column:
        if not isinstance(value, float) or abs(value) >= 1000:
            texts.append(cell(value))
        elif value and round(abs(value), DECIMALS) == 0:
            texts.append(f"{'<' if value > 0 else '>-'}{10**-DECIMALS:.{DECIMALS}f}")
        else:
            texts.append(f"{value:.{decimals}f}")
    return texts


def to_csv(table: Table) -> str:
    """Return a table as CSV with a header; an apostrophe is put before a text that a spreadsheet would run as a formula."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerows(map(_safe, row) for row in (table.columns, *table.rows))
    return out.getvalue()


def _points(plot: Plot, banded: bool, labelled: bool) -> Iterator[tuple[Cell, ...]]:
    for name, points in plot.series.items():
        bands, labels = plot.bands.get(name, ()), plot.labels.get(name, ())
        for at, (x, y) in enumerate(points):
            row: list[Cell] = [name, _name(plot, x), _finite(y)]
            if banded:
                row += map(_finite, bands[at] if at < len(bands) else (math.nan, math.nan))
            if labelled:
                row.append(labels[at] if at < len(labels) else None)
            yield tuple(row)


def _name(plot: Plot, x: float) -> Cell:
    return plot.names[int(x)] if plot.names and x in range(len(plot.names)) else _finite(x)


def _numbers(metric: Metric | None) -> tuple[Cell, ...]:
    return (None, None, None, None) if metric is None else (metric.value, metric.low, metric.high, metric.n)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _safe(value: Cell) -> Cell:
    if not isinstance(value, str):
        return value
    return "'" + visible(value) if value.startswith(_FORMULA) else visible(value)
