"""The bounds of a metric over all possible outcomes of the episodes that broke off, in words.

Bounds are a field of `Metric` and of a score in summary.json. `least` and `most` are the metric if each broken episode had
ended in the worst or in the best way; `low` and `high` are the same with sampling error. `broken` is the number of broken
episodes, `of` that of all episodes.
"""

from collections.abc import Mapping
from typing import Any

from lotbench.report.markdown import interval, number, places

Bounds = Mapping[str, float | None]

ABOUT = (
    "Bounds: the metric if every task that broke off (or answer that is missing) had ended at once in the best way, and if "
    "every one had in the worst; in brackets with sampling error. The 95 % interval takes these tasks to be no easier and no "
    "harder than the others."
)


def in_words(bounds: Bounds) -> str | None:
    """Return bounds as text: `least` to `most`, in brackets `low` to `high`; None if no episode broke off."""
    if not bounds:
        return None
    range_text = f"{_end(bounds['least'])} to {_end(bounds['most'])}"
    return f"{range_text} ({_end(bounds['low'])} to {_end(bounds['high'])})"


def score_text(score: Mapping[str, Any]) -> str:
    """Return a score of summary.json as text: its value, which is not None, with its interval and bounds."""
    text = interval(score["value"], score["low"], score["high"], places(score["n"]))
    range_text = in_words(score.get("bounds", {}))
    return f"{text}, bounds {range_text}" if range_text else text


def moving(name: str, bounds: Bounds, low: float | None, high: float | None) -> str | None:
    """Return a warning if `least` or `most` of the metric `name` lies outside its 95 % interval (`low` to `high`).

    It is None if they lie inside, or if a bound or an end of the interval is unknown.
    """
    least, most = bounds.get("least"), bounds.get("most")
    if least is None or most is None or low is None or high is None or (low <= least and most <= high):
        return None
    return (
        f"{name} may move further than its interval: {bounds['broken']} of {bounds['of']} tasks broke off, and if that has to "
        f"do with how they would have ended it may be {in_words(bounds)}."
    )


def _end(value: float | None) -> str:
    return "open" if value is None else number(value)
