"""Rendering of HTML pages: each is one self-contained file without scripts.

The template engine escapes each string and replaces invisible characters. The content security policy allows only the
page's own style sheet, by its digest, and inline pictures: no script, no inline style, no other resource.
"""

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
"""The maximum length of a text outside readings; longer texts are cut and marked. report.md has more of them."""
BEGIN = re.compile(
    r'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" '
    r"""content="default-src 'none'; (?:img-src data:; )?style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'">"""
)
DIGEST = re.compile(r"#[0-9a-f]{8}\b(@python)?")
"""The digest in a name such as `python:judge#375f6d52`, which pages leave out."""
SHADES = 9
"""The number of colours of a heat map, `h0` to `h8` in the style sheet."""


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return a page: a template of this package, filled with values."""
    style = environment().get_template("style.css").render()
    return sealed(environment(), template, style, "", {"drawings": Drawings(), **values})[0]


def sealed(
    engine: Environment, template: str, style: str, script: str, values: Mapping[str, Any]
) -> tuple[str, str]:
    """Return a page with inline style sheet and script, and its content security policy, which allows both by digest.

    Args:
        engine: The template engine.
        template: The file name of the template.
        style: The style sheet.
        script: The script; "" allows none.
        values: The values of the template's variables.
    """
    pictures = "img-src 'self' data:" if script else "img-src data:"
    allowed = f"{pictures}; style-src 'sha256-{_digest(style)}'; "
    if script:
        allowed += f"connect-src 'self'; script-src 'sha256-{_digest(script)}'; "
    policy = f"default-src 'none'; {allowed}base-uri 'none'; form-action 'none'"
    marked = {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}
    return engine.get_template(template).render(**marked, **values), policy


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def harmless(begin: str) -> bool:
    """Return whether a page, given its first characters, has our own beginning: a policy without scripts and outside resources."""
    return BEGIN.match(begin) is not None


def section_drawings(sections: Sequence[Section]) -> Iterator[tuple[str, Plot | Grid]]:
    """Yield the plots and heat maps of sections, each with a name for its file."""
    for at, section in enumerate(sections, 1):
        both: tuple[Plot | Grid, ...] = (*section.plots, *section.grids)
        for place, drawing in enumerate(both, 1):
            yield f"{at:02}-{_slug(section.title)}-{place}", drawing


def files(
    drawings: Iterable[tuple[str, Plot | Grid]], form: str = "png"
) -> Iterator[tuple[str, str | bytes]]:
    """Yield the files of drawings, each with its name: the data as CSV and, for plots, a picture; empty plots are skipped.

    `form` is the format of the pictures, `png` or `pdf`.
    """
    for name, drawing in drawings:
        picture = plots.rendered(drawing, form) if isinstance(drawing, Plot) else b""
        if picture:
            yield f"{name}.{form}", picture
        if picture or isinstance(drawing, Grid):
            yield f"{name}.csv", number_tables.to_csv(data(drawing))


def data(drawing: Plot | Grid) -> Table:
    """Return the data of a drawing as a table."""
    return number_tables.of_grid(drawing) if isinstance(drawing, Grid) else number_tables.of_plot(drawing)


def _slug(title: str) -> str:
    letters = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower())
    return "-".join(letters.split())[:40]


class Drawings:
    """The drawings of one page: plots as SVG with numbered element ids, data as links, colours of heat maps."""

    def __init__(self) -> None:
        self._count = 0

    def svg(self, drawing: Plot) -> Markup:
        """Return a plot as inline SVG; matplotlib has escaped its texts."""
        self._count += 1
        return Markup(plots.svg(drawing, f"plot-{self._count}"))

    def link(self, table: Table) -> Markup:
        """Return a table as a data URL in CSV format."""
        text = base64.b64encode(number_tables.to_csv(table).encode()).decode()
        return Markup(f"data:text/csv;charset=utf-8;base64,{text}")

    def shades(self, grid: Grid) -> list[list[int | None]]:
        """Return the number of each cell's colour in a heat map, by row and column; None for a cell without a value."""
        values = [c.value for row in grid.cells for c in row if c and c.value is not None]

        def shade(value: float) -> int:
            return round(plots.place_of(value, values) * (SHADES - 1))

        return [[None if c is None or c.value is None else shade(c.value) for c in row] for row in grid.cells]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the template engine of all pages, which escapes texts and replaces invisible characters."""
    jinja = Environment(
        loader=PackageLoader("lotbench.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_limit_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {
        "number": number,
        "cell": cell,
        "counted": markdown.counted,
        "interval": interval,
        "rounded": lambda metric: f"{metric.value:.{markdown.places(metric.n)}f}",
        "breakable": _breakable,
        "undigested": lambda text: DIGEST.sub("", text),
        "whole": _long_text,
        "data": data,
        "shown": number_tables.cell_texts,
        "columns": number_tables.is_numeric,
        "values": number_tables.values,
    }
    return jinja


def _limit_text(value: object) -> object:
    """Return the value of a template expression; a text is cut to `LONGEST`, its invisible characters replaced."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return visible(markdown.cut(value, LONGEST))


def _long_text(text: str) -> Markup:
    """Return a text cut to `markdown.LONGEST` characters, for places where the page scrolls."""
    return Markup(str(escape(visible(markdown.cut(text, markdown.LONGEST)))))


def _breakable(text: str) -> Markup:
    """Return a name with possible line breaks after its underscores, and none before a per cent sign."""
    return Markup(str(escape(_limit_text(text))).replace("_", "_<wbr>").replace(" %", "&nbsp;%"))
