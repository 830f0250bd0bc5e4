"""The home page as plain records: a table for each benchmark and variant, its runs in order, and who beats whom; pure.

Every run stands in the table of what it played, whether it is trusted or not; a badge says which, and why. Places are
given to trusted runs alone, and only among those that were measured alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lotbench.errors import UsageError
from lotbench.report import trust
from lotbench.report.bounds import ABOUT, in_words
from lotbench.report.leaderboard import Entry, alike, board, labels_of
from lotbench.report.markdown import counted
from lotbench.report.ranking_sections import summed_up
from lotbench.types import Metric

WIDTH = 156
"""Of the line on which an interval is drawn."""
DATE = re.compile(r"(20\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)-")


@dataclass(frozen=True, slots=True)
class Badge:
    """Whether a run is trusted, and why it is not."""

    name: str
    why: tuple[str, ...] = ()

    @property
    def in_short(self) -> tuple[str, ...]:
        """Why it is not, in two or three words each."""
        return trust.in_short(self.why)

    @property
    def look(self) -> str:
        """Its class in the style sheet."""
        return "good" if self.name == "trusted" else "flat"


@dataclass(frozen=True, slots=True)
class Row:
    """A run in its table; `place` is None of a run that is not trusted, or stands alone with what it was measured by."""

    run: str
    model: str
    label: str
    badge: Badge
    value: float | None
    low: float | None = None
    high: float | None = None
    place: int | None = None
    provisional: bool = False
    """Whether its place is among runs whose judge was never checked."""
    n: int = 0
    failed: int = 0
    cost: float | None = None
    person: bool = False
    abstained: bool = False
    bounds: str = ""

    @property
    def mean(self) -> float:
        """The value, for a bar."""
        return self.value or 0.0

    @property
    def date(self) -> str:
        """When it was begun, as its folder says."""
        return start_time(self.run)

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against ranking it."""
        return self.badge.name == "trusted"


@dataclass(frozen=True, slots=True)
class Group:
    """Runs of a table that were measured alike: what by, the runs in order, and the sentence on them."""

    about: str
    rows: tuple[Row, ...]
    said: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """The table of a benchmark and a variant of it."""

    benchmark: str
    variant: str | None
    metric: str
    groups: tuple[Group, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All its runs."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def name(self) -> str:
        """Its title."""
        return f"{self.benchmark}, {self.variant}" if self.variant else self.benchmark

    @cached_property
    def least(self) -> float:
        """Where the axis of the intervals begins."""
        return min(0.0, *(row.mean if row.low is None else row.low for row in self.rows), 0.0)

    @cached_property
    def most(self) -> float:
        """Where it ends."""
        ends = [row.mean if row.high is None else row.high for row in self.rows]
        return max(self.least + 1e-9, 1.0 if max(ends) <= 1 else max(ends))

    def at(self, value: float) -> str:
        """Return the place of a value on the axis."""
        return f"{2 + WIDTH * (value - self.least) / (self.most - self.least):.1f}"


def start_time(run: str) -> str:
    """Return when a run was begun, as the name of its folder says; "" of one that was renamed."""
    match = DATE.match(run)
    return "{}-{}-{} {}:{}".format(*match.groups()) if match else ""


def boards(entries: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]] | None = None) -> list[Board]:
    """Return a table for each benchmark and variant, those with trusted runs first, then by how many there are.

    Args:
        entries: The runs.
        summaries: Of each by name, for what it cost.
    """
    by_variant: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        by_variant.setdefault((entry.benchmark, variant(entry)), []).append(entry)
    tables = [_board(name, arm, each, summaries or {}) for (name, arm), each in by_variant.items()]
    return sorted(tables, key=lambda table: (not any(row.trusted for row in table.rows), -len(table.rows)))


def across(tables: Sequence[Board]) -> dict[str, list[Row | None]]:
    """Return the models that stand in two tables or more, each with its best row of each table."""
    best: dict[str, list[Row | None]] = {}
    for at, table in enumerate(tables):
        for row in reversed(table.rows):
            if row.value is not None:
                best.setdefault(row.model, [None] * len(tables))[at] = row
    return {model: rows for model, rows in sorted(best.items()) if sum(row is not None for row in rows) > 1}


def variant(entry: Entry) -> str | None:
    """Return which variant of its benchmark a run played; None where there is one only."""
    settings: Any = entry.conditions["settings"]
    value = entry.arm or settings.get("arm")
    return None if value is None else str(value)


def badge(reasons: Sequence[str]) -> Badge:
    """Return whether a run is trusted, and every reason why it is not."""
    return Badge("not trusted" if reasons else "trusted", tuple(reasons))


def _board(
    benchmark: str, arm: str | None, entries: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]]
) -> Board:
    # Trusted ones first: what is not trusted stands with those that it was measured like.
    groups = alike(sorted(entries, key=lambda entry: bool(entry.reasons)))
    first = groups[0][0].metric
    return Board(benchmark, arm, first.name, tuple(_group(group, summaries) for group in groups))


def _group(group: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]]) -> Group:
    trusted = [entry for entry in group if not entry.reasons]
    # Where nobody is trusted, those are ranked that lack a check of their judge or samples alone.
    minor = [entry for entry in group if trust.MINOR.issuperset(trust.in_short(entry.reasons))]
    provisional = [] if trusted else minor
    ranked_of = trusted or (provisional if len(provisional) > 1 else [])
    label = dict(zip((entry.name for entry in group), labels_of(group), strict=True))
    rows = {
        entry.name: replace(_row(entry, summaries, entry.metric.whole()), label=label[entry.name])
        for entry in group
    }
    order, sentence, notes = list(rows), "", []
    try:
        ranking = board(ranked_of) if ranked_of else None
    except UsageError as error:
        ranking, notes = None, [str(error)]
    if ranking is not None:
        ranked = [place.entry.name for place in ranking.places if not place.entry.abstained]
        beaten = Counter(pair.other for pair in ranking.pairs if pair.apart)
        for place in ranking.places:
            name = place.entry.name
            rows[name] = replace(
                _row(place.entry, summaries, place.mean),
                label=label[name],
                # One place for models that are not clearly different.
                place=1 + beaten[place.label] if name in ranked else None,
                provisional=bool(provisional),
            )
        order = [place.entry.name for place in ranking.places]
        alone = "Nobody to compare with yet: one trusted run." if len(ranked) == 1 else ""
        sentence = summed_up(ranking) or alone
        if provisional and sentence:
            why = trust.in_short(reason for entry in provisional for reason in entry.reasons)
            sentence = f"Provisionally ({', '.join(why)}): {sentence}"
        which = "ranked" if provisional else "trusted"
        shared = counted(ranking.shared, "sample")
        notes += [f"{ranking.metric} over the {shared} that every {which} run has."] * (len(ranked) > 1)
    rest = sorted((name for name in rows if name not in order), key=lambda name: -rows[name].mean)
    every = [*order, *rest]
    # The best first, trusted or not; those that abstained stay last.
    every.sort(key=lambda name: (rows[name].abstained, rows[name].value is None, -rows[name].mean))
    notes += [ABOUT] if any(row.bounds for row in rows.values()) else []
    return Group(describe_group(group[0]), tuple(rows[name] for name in every), sentence, tuple(notes))


def _row(entry: Entry, summaries: Mapping[str, Mapping[str, Any]], metric: Metric) -> Row:
    """Return a run with its metric, over its own samples or those that it shares with others."""
    summary = summaries.get(entry.name, {})
    return Row(
        run=entry.name,
        model=entry.model,
        label=entry.model,
        value=metric.value,
        low=None if entry.person else metric.low,
        high=None if entry.person else metric.high,
        badge=badge(entry.reasons),
        n=metric.n,
        failed=entry.failed,
        cost=summary.get("usage", {}).get("cost_usd"),
        person=entry.person,
        abstained=entry.abstained,
        bounds=in_words(metric.bounds) or "",
    )


def describe_group(entry: Entry) -> str:
    """Return what the runs of a group have in common, in a line."""
    conditions: Mapping[str, Any] = entry.conditions
    parts = []
    for role, from_config in conditions["roles"].items():
        # The address would say where it was asked, not who it is.
        names = [name.partition("@http")[0] for name in entry.ids.get(role) or from_config]
        parts.append(f"{role} {', '.join(names)}")
    return "; ".join([*parts, f"data {str(conditions['data'])[:8]}"])
