"""The section of a ranking's paired differences, with their tests and the smallest detectable differences."""

from collections.abc import Mapping
from typing import Any

from lotbench.metrics.compare import smallest_p
from lotbench.report import what_it_shows
from lotbench.report.leaderboard import Board, Pair
from lotbench.report.markdown import interval
from lotbench.report.sections import Cell, Section, Table


def detectable(pair: Pair) -> float | None:
    """Return the smallest detectable difference of two runs at the level of their test; None if it is not defined."""
    seen = pair.difference
    if seen.sd is None or seen.n < 2 or smallest_p(seen.n) >= pair.level:
        return None
    return what_it_shows.detectable(seen.n, pair.level) * seen.sd


def section(ranking: Board) -> Section:
    """Return the section of paired differences."""
    rows: list[tuple[Cell, ...]] = []
    for pair in ranking.pairs:
        seen, apart = pair.difference, "yes" if pair.apart else "no"
        measured = seen.n, seen.mean, seen.low, seen.high, seen.p
        rows.append((pair.better, pair.other, *measured, pair.p, apart, detectable(pair)))
    columns = (
        "better", "than", "samples", "difference", "low", "high", "p", "p (Holm)", "clearly different", "detectable",
    )  # fmt: skip
    notes = [
        "Paired by sample; p of the two-sided paired t test, below eight samples of the exact permutation test; corrected after "
        "Holm for all pairs; clearly different: below 0.05. Low and high are Student's 95 % interval of a pair by itself: with "
        "several pairs, or few samples, it may leave out 0 for one that is not clearly different.",
        "Detectable: the difference that these very runs show with a power of 80 % (paired t test), after Holm; none where the "
        "smallest p that so few samples can have does not pass.",
        *_judge(ranking),
    ]
    return Section("Differences", tuple(notes), (Table(columns, tuple(rows)),))


def _judge(ranking: Board) -> list[str]:
    """Return notes on how the judge's error rates affect the differences."""
    rates = {_rate(place.entry.checked) for place in ranking.places if place.entry.checked} - {""}
    if not rates and any(place.entry.metric.least for place in ranking.places):
        return ["The judge was not checked: what it accepts wrongly may be the whole difference."]
    return [
        f"The judge's FPR, checked on hard negatives: {rate}; p allows for its upper end."
        for rate in sorted(rates)
    ]


def _rate(rate: Mapping[str, Any]) -> str:
    if rate["value"] is None:
        return ""
    return f"{interval(rate['value'], rate['low'], rate['high'])}, n = {rate['n']}"
