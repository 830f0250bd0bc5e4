"""What a score may be whatever had become of the tasks that broke off, in words: beside every primary metric.

Bounds are those of a Metric, or of a score in summary.json: `least` and `most`, the metric if every episode that broke off
had ended in the worst way or in the best; `low` and `high`, the same with sampling error; `broken` episodes, of `of`.
"""

from __future__ import annotations

from collections.abc import Mapping

from lotbench.report.markdown import number

Bounds = Mapping[str, float | None]

ABOUT = (
    "Bounds: the metric if every task that broke off had ended at once in the best way, and if every one had in the worst; "
    "in brackets with sampling error. The 95 % interval takes these tasks to be no easier and no harder than the others."
)


def in_words(bounds: Bounds) -> str | None:
    """Return both ends, and with sampling error; None where nothing broke off."""
    if not bounds:
        return None
    range_text = f"{_end(bounds['least'])} to {_end(bounds['most'])}"
    return f"{range_text} ({_end(bounds['low'])} to {_end(bounds['high'])})"


def moving(name: str, bounds: Bounds, low: float | None, high: float | None) -> str | None:
    """Return the sentence that a score may lie further off than its interval; None where it does not."""
    least, most = bounds.get("least"), bounds.get("most")
    if least is None or most is None or low is None or high is None or (low <= least and most <= high):
        return None
    return (
        f"{name} may move further than its interval: {bounds['broken']} of {bounds['of']} tasks broke off, and if that has to "
        f"do with how they would have ended it may be {in_words(bounds)}."
    )


def _end(value: float | None) -> str:
    return "open" if value is None else number(value)
