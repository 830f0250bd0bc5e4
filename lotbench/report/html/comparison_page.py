"""compare.html, and sections as the text of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from lotbench.report.comparison import Comparison
from lotbench.report.html import number_tables
from lotbench.report.html.page import rendered
from lotbench.report.markdown import visible
from lotbench.report.sections import Section, Table


def page(comparison: Comparison) -> str:
    """A comparison as one self-contained HTML file."""
    content = {
        "heading": comparison.title,
        "runs": comparison.runs,
        "sections": comparison.sections,
        "said": comparison.said,
    }
    return rendered("board.html", content)


def to_text(sections: Sequence[Section]) -> str:
    """Sections for a terminal: tables with aligned columns, then the notes."""
    blocks: list[str] = []
    for section in sections:
        blocks.append(f"{_line(section.title)}\n{'=' * cell_len(_line(section.title))}")
        blocks += ["\n".join(_aligned(one)) for one in section.tables if one.rows]
        blocks += ["\n".join(f"  {_line(note)}" for note in section.notes)] if section.notes else []
    return "\n\n".join(blocks) + "\n"


def _aligned(table: Table) -> Iterable[str]:
    """The lines of a table: numbers to the right, text to the left."""
    if table.caption:
        yield _line(table.caption)
    rows = [[_line(text) for text in row] for row in (table.columns, *number_tables.shown(table))]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    right = number_tables.is_numeric(table)
    for row in rows:
        padded = (_padded(*given) for given in zip(row, widths, right, strict=True))
        yield "  ".join(padded).rstrip()


def _padded(text: str, width: int, right: bool) -> str:
    space = " " * (width - cell_len(text))
    return space + text if right else text + space


def _line(text: str) -> str:
    """A text in one line of a terminal; nothing of it steers the terminal."""
    return " ".join(visible(text).split())
