"""duel.html: how far models are ahead of each other, and how the intervals narrowed."""

from __future__ import annotations

from collections.abc import Sequence

from lotbench.report.html.page import rendered
from lotbench.report.sections import Section


def page(benchmark: str, said: Sequence[str], runs: Sequence[str], sections: Sequence[Section]) -> str:
    """A duel as one self-contained HTML file.

    Args:
        benchmark: What is played.
        said: What came of it, in sentences, the first of them first.
        runs: The names of its run folders.
        sections: What it rests on.
    """
    values = {"benchmark": benchmark, "said": said, "runs": runs, "sections": sections}
    return rendered("duel.html", values)
