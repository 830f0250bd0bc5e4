"""The parts of a report as data, without markup: tables, plots, heat maps, excerpts of texts, and sections of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from lotbench.types import JSON, Metric

Cell: TypeAlias = str | float | int | None
"""The value of a table cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; every row has one cell per column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot, as named series of (x, y) points.

    Attributes:
        x: The title of the horizontal axis, with its unit; `y` likewise.
        names: The labels at x = 0, 1, ... of bars or dots that have names and not numbers.
        bands: The 95 % interval of each point's y, by series; (nan, nan) if there is none.
        labels: A label of each point, by series.
    """

    kind: Literal["step", "bar", "scatter"]
    x: str
    y: str
    series: Mapping[str, tuple[tuple[float, float], ...]]
    caption: str = ""
    names: tuple[str, ...] = ()
    bands: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def band(metric: Metric) -> tuple[float, float]:
    """Return the 95 % interval of a metric for a plot; (nan, nan) if an end is open."""
    return (math.nan, math.nan) if metric.low is None or metric.high is None else (metric.low, metric.high)


@dataclass(frozen=True, slots=True)
class Grid:
    """A heat map: `cells[row][column]` is a metric, or None in an empty cell; `x` and `y` are the titles of the axes."""

    x: str
    y: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[Metric | None, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Texts of models to read: a title and named texts, and the episode that they are from, if it is one.

    Attributes:
        shown: The number of texts to show at first.
    """

    title: str
    texts: tuple[tuple[str, str], ...]
    sample: str | None = None
    repeat: int | None = None
    shown: int = 1_000


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report.

    Attributes:
        notes: Sentences on the section.
        readings: Excerpts of model texts.
        name: The name of its numbers in the diagnostics of summary.json; empty if it has none.
        numbers: Its numbers for programs; finite, or null.
        brief: Whether a report without --full has the section.
        method: Sentences on how its numbers are computed; a report without --full leaves them out.
        solved: The number of games that each round solved, drawn beside the score.
    """

    title: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    grids: tuple[Grid, ...] = ()
    readings: tuple[Excerpt, ...] = ()
    name: str = ""
    numbers: Mapping[str, JSON] = field(default_factory=dict)
    brief: bool = False
    method: tuple[str, ...] = ()
    solved: tuple[int, ...] = ()
