"""compare.html: the page of a comparison."""

from __future__ import annotations

from lotbench.report.comparison import Comparison
from lotbench.report.html.page import rendered


def page(comparison: Comparison) -> str:
    """Return a comparison as one self-contained HTML file."""
    content = {
        "heading": comparison.title,
        "runs": comparison.runs,
        "sections": comparison.sections,
        "summary": comparison.said,
    }
    return rendered("board.html", content)
