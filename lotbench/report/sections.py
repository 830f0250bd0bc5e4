"""What a report is made of: metrics, tables, plots, heat maps, readings, and sections of them; data, no markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lotbench.types import JSON, Metric

Cell: TypeAlias = str | float | int | None
"""What stands in a cell of a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report; every row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a report, as data: named series of (x, y) points.

    Attributes:
        x: What the horizontal axis shows, with its unit; `y` likewise.
        names: What stands at x = 0, 1, ... where the horizontal axis has names and no numbers.
        bands: The 95 % interval of each point's y, by series; (nan, nan) where there is none.
        labels: A label of each point, by series.
    """

    kind: Literal["line", "step", "bar", "scatter"]
    x: str
    y: str
    series: Mapping[str, tuple[tuple[float, float], ...]]
    caption: str = ""
    names: tuple[str, ...] = ()
    bands: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grid:
    """A heat map, as data: a metric in each cell of rows and columns; None where there is nothing."""

    x: str
    y: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[Metric | None, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """Something of a run that is worth reading: a title and named texts, as models wrote them."""

    title: str
    texts: tuple[tuple[str, str], ...]
    sample: str | None = None
    repeat: int | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report that a benchmark contributes: data to lay out, no markup.

    Attributes:
        name: Of its numbers among the diagnostics of summary.json; "" if it has none there.
        numbers: What programs read of it; finite numbers or null.
        brief: Whether a report without --full has it: what everybody reads, the paper's tables first.
    """

    title: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    grids: tuple[Grid, ...] = ()
    readings: tuple[Reading, ...] = ()
    name: str = ""
    numbers: Mapping[str, JSON] = field(default_factory=dict)
    brief: bool = False
