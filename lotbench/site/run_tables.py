"""What the pages of runs show, as plain records: a leaderboard's rows, a run's walks; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.lotbench.games import read_rounds
from lotbench.errors import UsageError
from lotbench.report.bounds import ABOUT, in_words
from lotbench.report.leaderboard import Entry, alike, board
from lotbench.types import Trace

WIDTH = 156
"""Of the line on which a row's interval is drawn."""


@dataclass(frozen=True, slots=True)
class Row:
    """A run on a leaderboard."""

    run: str
    label: str
    mean: float
    low: float | None
    high: float | None
    ties: str
    n: int
    failed: int
    person: bool = False
    abstained: bool = False
    bounds: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """Runs that were measured alike, best first; people stand among them without letters."""

    benchmark: str
    about: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def least(self) -> float:
        """Where the axis of the intervals begins."""
        return min(0.0, *(row.mean if row.low is None else row.low for row in self.rows))

    @property
    def most(self) -> float:
        """Where it ends."""
        ends = [row.mean if row.high is None else row.high for row in self.rows]
        return max(self.least + 1e-9, 1.0 if max(ends) <= 1 else max(ends))

    def at(self, value: float) -> str:
        """The place of a value on the axis."""
        return f"{2 + WIDTH * (value - self.least) / (self.most - self.least):.1f}"


@dataclass(frozen=True, slots=True)
class WalkRow:
    """A walk as a line in its run: `rounds` is None where the benchmark has none."""

    sample: str
    repeat: int
    outcome: str
    score: float | None
    rounds: int | None
    last: str
    language: str
    tier: str

    @property
    def file(self) -> str:
        """The name of its page."""
        return page_file(self.sample, self.repeat)


def page_file(sample: str, repeat: int) -> str:
    """The name of the page of a walk."""
    return f"{sample}-{repeat}.html"


def walk_row(trace: Trace, language: str, tier: str) -> WalkRow:
    """A walk, as its run lists it, with what its sample says of itself."""
    rounds = read_rounds(trace.steps)
    fillings = [one.filling for one in rounds if one.filling]
    return WalkRow(
        sample=trace.sample,
        repeat=trace.repeat,
        outcome=trace.outcome,
        score=trace.score.value,
        rounds=rounds[-1].number if rounds else None,
        last=str(fillings[-1])[:80] if fillings else "",
        language=language,
        tier=tier,
    )


def boards(entries: Sequence[Entry]) -> list[Board]:
    """A leaderboard for each group of runs that were measured alike; unrankable runs have no place there."""
    return [_board(group) for group in alike([one for one in entries if not one.reasons])]


def _board(group: Sequence[Entry]) -> Board:
    try:
        made = board(group)
    except UsageError as error:
        return Board(group[0].benchmark, about(group[0]), tuple(map(_alone, group)), (str(error),))
    rows = [
        Row(
            run=place.entry.name,
            label=place.label,
            mean=place.mean.value or 0.0,
            low=place.mean.low,
            high=place.mean.high,
            ties=place.ties,
            n=place.mean.n,
            failed=place.entry.failed,
            abstained=place.entry.abstained,
            bounds=in_words(place.mean.bounds) or "",
        )
        for place in made.places
    ]
    rows += [_alone(person) for person in made.people]
    notes = []
    if len(made.places) > 1:
        notes.append(
            f"{made.metric} over the {made.shared} samples that every run has. Models that share a letter were "
            "not told apart by paired differences; overlapping intervals alone do not say so."
        )
    if any(row.bounds for row in rows):
        notes.append(ABOUT)
    return Board(
        made.benchmark,
        about(group[0]),
        tuple(sorted(rows, key=lambda row: (row.abstained, -row.mean))),
        tuple(notes),
    )


def _alone(entry: Entry) -> Row:
    """A run by itself: its metric over its own samples."""
    own = entry.metric.whole()
    shown = in_words(own.bounds) or ""
    return Row(
        entry.name,
        entry.model,
        own.value or 0.0,
        None,
        None,
        "",
        own.n,
        entry.failed,
        entry.person,
        bounds=shown,
    )


def about(entry: Entry) -> str:
    """What the runs of a leaderboard have in common, in a line."""
    conditions: Mapping[str, Any] = entry.conditions
    parts = [f"data {str(conditions['data'])[:8]}"]
    parts += [f"{role} {', '.join(models)}" for role, models in conditions["roles"].items()]
    if arm := entry.arm or conditions["settings"].get("arm"):
        parts.append(f"arm {arm}")
    return "; ".join(parts)
