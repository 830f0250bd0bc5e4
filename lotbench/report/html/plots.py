"""Plots drawn by matplotlib: as inline SVG for pages, as PNG and PDF for papers.

The SVG has no styles of its own. Its colours are the page's custom properties, so that it follows light and dark mode; its
text is text in the page's font. Named points run down the vertical axis, where long names can be read.
"""

import io
import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lotbench.report.html.svg import INK, MUTED, PAPER, RULE, SERIES, inline
from lotbench.report.markdown import visible
from lotbench.report.sections import Plot

MARKERS, LINES = ("o", "s", "^", "D", "v", "P"), ("-", "--", "-.", ":")
WIDTH = 5.0
"""The width of a plot in inches; small, so that text keeps its size on a phone."""
LONGEST = 40
"""The maximum length of a name in a plot; the table below it has full names."""
MOST_LABELS = 24
"""The maximum number of labelled points; if there are more, none is labelled."""
_Point = tuple[float, float, float, float, str]
"""x, y, the low and the high end of y's interval (NaN for none), a label."""
_LOOK = Path(__file__).with_suffix(".mplstyle")
_COLOURS: dict[Any, Any] = {
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "grid.color": RULE,
}


def svg(plot: Plot, name: str) -> str:
    """Return a plot as an inline SVG element; empty if it has no points.

    Args:
        plot: The plot; its caption is the title.
        name: A name that is unique on the page; the element's ids begin with it.
    """
    data = rendered(plot, "svg", name)
    title = plot.caption or f"{plot.y} by {plot.x}"
    return inline(data.decode("utf-8"), name, title, _describe(plot)) if data else ""


def rendered(plot: Plot, form: str, name: str = "") -> bytes:
    """Return a plot as a file, empty if it has no points: `png` with 200 dots per inch on white, `pdf`, or `svg`."""
    look = _COLOURS | {"svg.hashsalt": name} | ({"figure.facecolor": PAPER} if form == "png" else {})
    out = io.BytesIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        # The user's matplotlibrc must not change a report.
        matplotlib.rc_file(_LOOK)
        matplotlib.rcParams.update(look)
        # A character that the font lacks stays text in SVG, and the browser draws it.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure = _plot(plot)
        if figure is not None:
            meta = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
            figure.savefig(out, format=form, dpi=200, metadata=meta)
    return out.getvalue()


def _plot(plot: Plot) -> Figure | None:
    series = {name: _drawable_points(plot, name) for name in plot.series}
    series = {name: points for name, points in series.items() if points}
    if not series:
        return None
    down = bool(plot.names)
    rows = len(plot.names) * (len(series) if plot.kind == "bar" else 1)
    figure = Figure(figsize=(WIDTH, max(1.1, 0.26 * rows + 0.7) if down else 2.9), layout="constrained")
    axes = figure.add_subplot()
    draw = {"step": _steps, "bar": _bars, "scatter": _dots}[plot.kind]
    for at, (name, points) in enumerate(series.items()):
        draw(axes, plot, points, _Pen(at, len(series), _short(name), down))
    _axes(axes, plot, down)
    if len(series) > 1 and not (down and _one_series_each(series.values())):
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside upper left", ncols=2, frameon=False, fontsize=9
        )
    return figure


def _one_series_each(series: Iterable[Sequence[_Point]]) -> bool:
    """Return whether each name has a point of one series only, so that no legend is needed."""
    places = [x for points in series for x, *_ in points]
    return len(places) == len(set(places))


class _Pen:
    """The style of one of several series: colour, and marker or dashes."""

    def __init__(self, at: int, of: int, label: str, down: bool) -> None:
        self.at, self.of, self.down = at, of, down
        # A label that begins with an underscore would be left out of the legend.
        self.label = f" {label}" if label.startswith("_") or not label else label
        self.colour = SERIES[at % len(SERIES)]
        self.line = LINES[(at % len(SERIES) + at // len(SERIES)) % len(LINES)]
        self.marker = MARKERS[at % len(MARKERS)]


def _drawable_points(plot: Plot, name: str) -> list[_Point]:
    """Return the points of the series `name` that have finite coordinates."""
    bands, labels = plot.bands.get(name, ()), plot.labels.get(name, ())
    points = []
    for at, (x, y) in enumerate(plot.series[name]):
        low, high = bands[at] if at < len(bands) else (math.nan, math.nan)
        if math.isfinite(x) and math.isfinite(y):
            both = math.isfinite(low) and math.isfinite(high)
            ends = (low, high) if both else (math.nan, math.nan)
            points.append((float(x), float(y), *ends, labels[at] if at < len(labels) else ""))
    return points


def _steps(axes: Axes, plot: Plot, points: Sequence[_Point], pen: _Pen) -> None:
    x, y, low, high, _ = zip(*points, strict=True)
    # A single point needs a marker to be visible.
    marker = pen.marker if len(points) == 1 else None
    axes.step(x, y, pen.line, where="post", color=pen.colour, label=pen.label, lw=1.6, marker=marker, ms=4)
    axes.fill_between(x, low, high, step="post", color=pen.colour, alpha=0.15, lw=0)


def _bars(axes: Axes, plot: Plot, points: Sequence[_Point], pen: _Pen) -> None:
    x, y, low, high, _ = zip(*points, strict=True)
    thick = 0.76 / pen.of
    places = [each + (pen.at - (pen.of - 1) / 2) * thick for each in x]
    if pen.down:
        axes.barh(places, y, thick * 0.9, color=pen.colour, alpha=0.85, label=pen.label)
        axes.hlines(places, low, high, color=INK, lw=1.2)
    else:
        axes.bar(places, y, thick * 0.9, color=pen.colour, alpha=0.85, label=pen.label)
        axes.vlines(places, low, high, color=INK, lw=1.2)


def _dots(axes: Axes, plot: Plot, points: Sequence[_Point], pen: _Pen) -> None:
    x, y, low, high, labels = zip(*points, strict=True)
    if pen.down:
        axes.hlines(x, low, high, color=pen.colour, lw=2)
        axes.plot(y, x, pen.marker, color=pen.colour, ms=6, label=pen.label)
        return
    axes.vlines(x, low, high, color=pen.colour, lw=1, alpha=0.6)
    axes.plot(x, y, pen.marker, color=pen.colour, ms=5, alpha=0.8, label=pen.label)
    if sum(map(len, plot.series.values())) <= MOST_LABELS:
        for place, label in zip(zip(x, y, strict=True), labels, strict=True):
            axes.annotate(_short(label), place, (5, 3), textcoords="offset points", fontsize=8.5)


def _axes(axes: Axes, plot: Plot, down: bool) -> None:
    """Draw the names, titles and grid of the axes; if `down`, the plot's x runs down the vertical axis."""
    across, up = (plot.y, plot.x) if down else (plot.x, plot.y)
    axes.set_xlabel(_short(across))
    axes.set_ylabel(_short(up))
    axes.grid(axis="x" if down else "y")
    axes.set_axisbelow(True)
    names = [_short(name) for name in plot.names]
    if down:
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        if axes.dataLim.x0 >= 0:
            axes.set_xlim(0, 1 if axes.dataLim.x1 <= 1 else None)
        # More tick labels would overlap on a phone.
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.spines["left"].set_visible(False)
    places = [place for points in plot.series.values() for place in points if math.isfinite(place[1])]
    if not plot.names and all(x == round(x) for x, _ in places):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if plot.kind == "step" and all(0 <= y <= 1 for _, y in places):
        axes.set_ylim(0, 1.03)


def place_of(value: float, among: Sequence[float]) -> float:
    """Return where a value lies between the minimum (0) and the maximum (1) of `among`; 0.5 if these are equal."""
    least, most = min(among), max(among)
    return (value - least) / (most - least) if most > least else 0.5


def _short(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def _describe(plot: Plot) -> str:
    points = sum(map(len, plot.series.values()))
    names = ", ".join(name for name in plot.series if name)
    return f"{plot.y} against {plot.x or 'names'}: {points} points. {names}. The data stand beneath."
