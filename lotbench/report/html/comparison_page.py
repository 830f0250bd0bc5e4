"""compare.html: the page of a comparison."""

from lotbench.report.comparison import Comparison
from lotbench.report.html.page import rendered


def page(comparison: Comparison) -> str:
    """Return a comparison as one self-contained HTML file."""
    return rendered("board.html", {"comparison": comparison})
