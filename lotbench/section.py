"""What a report is made of: metrics, tables, plots and the sections that hold them; data, no markup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """A number over samples with its 95 % interval, or None with the reason why there is none.

    `baselines` are the values of chance, trivial players and the reference preset, by name.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    better: Literal["higher", "lower"] = "higher"
    baselines: Mapping[str, float | None] = field(default_factory=dict)
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report; every row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot of a report, as data: named series of (x, y) points."""

    kind: Literal["line", "step", "bar", "scatter"]
    x: str
    y: str
    series: Mapping[str, tuple[tuple[float, float], ...]]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report that a benchmark contributes: data to lay out, no markup."""

    title: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
