"""Pages from records: one self-contained file each, that loads nothing, runs nothing and shows text.

Every string is escaped by the template engine and shown with what cannot be seen made visible; the content
policy allows the page's one style sheet, by its digest, and nothing else: no script, no inline style.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from lotbench.report import markdown
from lotbench.report.html import number_tables, plots
from lotbench.report.markdown import cell, number, visible
from lotbench.report.report import interval
from lotbench.report.sections import Grid, Plot, Section, Table

LONGEST = 2_000
"""Characters of a text outside readings; what is longer is cut, and says so. report.md has more of it."""
BEGIN = re.compile(
    r'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
    r"""content="default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'">"""
)
SHADES = 9
"""Steps of a heat map's colour; `h0` to `h8` in the style sheet."""


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return a page from a template of this package and the values that it names."""
    style = environment().get_template("style.css").render()
    return sealed(environment(), template, style, "", {"drawn": Drawings(), **values})[0]


def sealed(
    engine: Environment, template: str, style: str, script: str, values: Mapping[str, Any]
) -> tuple[str, str]:
    """Return a page with its sheet and script in itself, and its content policy, which allows these two by their digests."""
    allowed = f"style-src 'sha256-{_digest(style)}'; "
    if script:
        allowed = (
            f"img-src 'self' data:; connect-src 'self'; {allowed}script-src 'sha256-{_digest(script)}'; "
        )
    policy = f"default-src 'none'; {allowed}base-uri 'none'; form-action 'none'"
    marked = {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}
    return engine.get_template(template).render(**marked, **values), policy


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def harmless(begin: str) -> bool:
    """Return whether a page begins as ours do, with a policy by which nothing that follows can run or load."""
    return BEGIN.match(begin) is not None


def drawn(sections: Sequence[Section]) -> Iterator[tuple[str, Plot | Grid]]:
    """Yield everything in sections that is drawn, with a name for its file."""
    for at, section in enumerate(sections, 1):
        both: tuple[Plot | Grid, ...] = (*section.plots, *section.grids)
        for place, drawing in enumerate(both, 1):
            yield f"{at:02}-{_slug(section.title)}-{place}", drawing


def files(
    drawings: Iterable[tuple[str, Plot | Grid]], form: str = "png"
) -> Iterator[tuple[str, str | bytes]]:
    """Yield drawings as files: the CSV of the data, and of a plot a picture, by name; none of what has nothing to draw."""
    draw = plots.pdf if form == "pdf" else plots.png
    for name, drawing in drawings:
        picture = draw(drawing) if isinstance(drawing, Plot) else b""
        if picture:
            yield f"{name}.{form}", picture
        if picture or isinstance(drawing, Grid):
            yield f"{name}.csv", number_tables.to_csv(data(drawing))


def data(drawing: Plot | Grid) -> Table:
    """Return the data beside a drawing."""
    return number_tables.of_grid(drawing) if isinstance(drawing, Grid) else number_tables.of_plot(drawing)


def _slug(title: str) -> str:
    letters = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower())
    return "-".join(letters.split())[:40]


class Drawings:
    """What the pictures of one page are drawn by; names them one after the other."""

    def __init__(self) -> None:
        self._count = 0

    def svg(self, drawing: Plot) -> Markup:
        """Return a plot as inline SVG; matplotlib escapes its text, and nothing else of it comes from outside."""
        self._count += 1
        return Markup(plots.svg(drawing, f"plot-{self._count}"))

    def link(self, table: Table) -> Markup:
        """Return the address of a table as CSV, which holds the whole of it."""
        text = base64.b64encode(number_tables.to_csv(table).encode()).decode()
        return Markup(f"data:text/csv;charset=utf-8;base64,{text}")

    def shades(self, grid: Grid) -> list[list[int | None]]:
        """Return the step of colour of each cell."""
        values = [c.value for row in grid.cells for c in row if c and c.value is not None]

        def shade(value: float) -> int:
            return round(plots.place_of(value, values) * (SHADES - 1))

        return [[None if c is None or c.value is None else shade(c.value) for c in row] for row in grid.cells]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the template engine of every page: escapes each text and shows what could not be seen."""
    jinja = Environment(
        loader=PackageLoader("lotbench.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_format_cell,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {
        "number": number,
        "cell": cell,
        "interval": interval,
        "breakable": _breakable,
        "whole": _one_line,
        "data": data,
        "shown": number_tables.shown,
        "columns": number_tables.is_numeric,
        "values": number_tables.values,
    }
    return jinja


def _format_cell(value: object) -> object:
    """Return what a template's expression puts on the page: text with nothing hidden in it, and not without end."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return visible(markdown.cut(value, LONGEST))


def _one_line(text: str) -> Markup:
    """Return a text as long as report.md has it, where the page lets it scroll."""
    return Markup(str(escape(visible(markdown.cut(text, markdown.LONGEST)))))


def _breakable(text: str) -> Markup:
    """Return a name that may be broken after its underscores, and not before a per cent sign."""
    return Markup(str(escape(_format_cell(text))).replace("_", "_<wbr>").replace(" %", "&nbsp;%"))
