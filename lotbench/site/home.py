"""The data of the home page: a table for each benchmark and variant, with its runs in order and a sentence on the ranking.

Every run is in the table of its variant, trusted or not; a badge says which, and why. Runs are ranked among those with
equal conditions. Only trusted runs get a place; if there are none, runs that lack only samples or a check of their judge
get provisional places. The functions are pure.
"""

from __future__ import annotations

import re
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
"""The length of the axis on which an interval is drawn, in units of its SVG."""
DATE = re.compile(r"(20\d\d)(\d\d)(\d\d)-(\d\d)(\d\d)-")


@dataclass(frozen=True, slots=True)
class Badge:
    """Whether a run is trusted (`name`), and the reasons why it is not (`why`)."""

    name: str
    why: tuple[str, ...] = ()

    @property
    def in_short(self) -> tuple[str, ...]:
        """The reasons why the run is not trusted, in two or three words each."""
        return trust.in_short(self.why)

    @property
    def look(self) -> str:
        """The class of the badge in the style sheet."""
        return "good" if self.name == "trusted" else "flat"


@dataclass(frozen=True, slots=True)
class Row:
    """A run as a row of its table.

    Attributes:
        run: The name of the run.
        label: The model's name, with the run's name if the ranking has several runs of the model.
        value: The primary metric with the ends of its interval, `low` and `high`; None if unknown.
        place: The place in the ranking, from 1; None for a run that is not ranked.
        n: The number of samples in the metric.
        games: The number of finished episodes.
        failed: The number of episodes that failed or have no score.
        cost: The cost of the run in US dollars; None if unknown.
        bounds: The bounds of the metric as text; "" if no episode broke off.
    """

    run: str
    model: str
    label: str
    badge: Badge
    value: float | None
    low: float | None = None
    high: float | None = None
    place: int | None = None
    provisional: bool = False
    """Whether the place is provisional: no run is trusted, and this one lacks only samples or a check of its judge."""
    n: int = 0
    failed: int = 0
    cost: float | None = None
    person: bool = False
    abstained: bool = False
    bounds: str = ""

    @property
    def mean(self) -> float:
        """The value, or 0 if there is none, for drawing and sorting."""
        return self.value or 0.0

    @property
    def date(self) -> str:
        """The time at which the run began (`start_time`)."""
        return start_time(self.run)

    @property
    def trusted(self) -> bool:
        """Whether the run is trusted."""
        return self.badge.name == "trusted"


@dataclass(frozen=True, slots=True)
class Group:
    """The runs of a table that were measured under the same conditions.

    Attributes:
        about: The conditions, in a line.
        rows: The runs, best first.
        said: The ranking in one sentence; "" if there is none.
        notes: Further sentences.
    """

    about: str
    rows: tuple[Row, ...]
    said: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Board:
    """The table of a benchmark and one variant of it (None if it has only one), ranked by `metric`."""

    benchmark: str
    variant: str | None
    metric: str
    groups: tuple[Group, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All runs of the table."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def name(self) -> str:
        """The title of the table."""
        return f"{self.benchmark}, {self.variant}" if self.variant else self.benchmark

    @cached_property
    def least(self) -> float:
        """The value at which the axis of the intervals begins, at most 0."""
        return min(0.0, *(row.mean if row.low is None else row.low for row in self.rows), 0.0)

    @cached_property
    def most(self) -> float:
        """The value at which the axis of the intervals ends, at least 1."""
        ends = [row.mean if row.high is None else row.high for row in self.rows]
        return max(self.least + 1e-9, 1.0 if max(ends) <= 1 else max(ends))

    def at(self, value: float) -> str:
        """Return the horizontal position of a value on the axis, as a number for SVG."""
        return f"{2 + WIDTH * (value - self.least) / (self.most - self.least):.1f}"


def start_time(run: str) -> str:
    """Return the date and time at which a run began, from the name of its folder; "" if the folder was renamed."""
    match = DATE.match(run)
    return "{}-{}-{} {}:{}".format(*match.groups()) if match else ""


def boards(entries: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]] | None = None) -> list[Board]:
    """Return a table for each benchmark and variant, those with trusted runs first, then those with most runs.

    Args:
        entries: The runs.
        summaries: The content of summary.json by run name, for costs and numbers of episodes; None for none.
    """
    by_variant: dict[tuple[str, str | None], list[Entry]] = {}
    for entry in entries:
        by_variant.setdefault((entry.benchmark, variant(entry)), []).append(entry)
    tables = [_board(name, arm, each, summaries or {}) for (name, arm), each in by_variant.items()]
    return sorted(tables, key=lambda table: (not any(row.trusted for row in table.rows), -len(table.rows)))


def across(tables: Sequence[Board]) -> dict[str, list[Row | None]]:
    """Return, by the name of each model with a value in two or more tables, its first row in each table (None if absent)."""
    best: dict[str, list[Row | None]] = {}
    for at, table in enumerate(tables):
        for row in reversed(table.rows):
            if row.value is not None:
                best.setdefault(row.model, [None] * len(tables))[at] = row
    return {model: rows for model, rows in sorted(best.items()) if sum(row is not None for row in rows) > 1}


def variant(entry: Entry) -> str | None:
    """Return the variant of its benchmark that a run played; None if the benchmark has only one."""
    settings: Any = entry.conditions["settings"]
    value = entry.arm or settings.get("arm")
    return None if value is None else str(value)


def badge(reasons: Sequence[str]) -> Badge:
    """Return whether a run is trusted, and every reason why it is not."""
    return Badge("not trusted" if reasons else "trusted", tuple(reasons))


def _board(
    benchmark: str, arm: str | None, entries: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]]
) -> Board:
    # Trusted runs first: other runs then join the group of trusted runs with their conditions.
    groups = alike(sorted(entries, key=lambda entry: bool(entry.reasons)))
    first = groups[0][0].metric
    return Board(benchmark, arm, first.name, tuple(_group(group, summaries) for group in groups))


def _group(group: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]]) -> Group:
    trusted = [entry for entry in group if not entry.reasons]
    # If no run is trusted, runs that lack only samples or a check of their judge are ranked.
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
        for place in ranking.places:
            name = place.entry.name
            rows[name] = replace(
                _row(place.entry, summaries, place.mean),
                label=label[name],
                place=ranking.number(place),
                provisional=bool(provisional),
            )
        order = [place.entry.name for place in ranking.places]
        alone = "Nobody to compare with yet: one trusted run." if len(ranked) == 1 else ""
        sentence = summed_up(ranking) or alone
        which = "ranked" if provisional else "trusted"
        shared = counted(ranking.shared, "sample")
        notes += [f"{ranking.metric} over the {shared} that every {which} run has."] * (len(ranked) > 1)
    rest = sorted((name for name in rows if name not in order), key=lambda name: -rows[name].mean)
    every = [*order, *rest]
    # The best first, trusted or not; runs that abstained stay last.
    every.sort(key=lambda name: (rows[name].abstained, rows[name].value is None, -rows[name].mean))
    notes += [ABOUT] if any(row.bounds for row in rows.values()) else []
    return Group(describe_group(group[0]), tuple(rows[name] for name in every), sentence, tuple(notes))


def _row(entry: Entry, summaries: Mapping[str, Mapping[str, Any]], metric: Metric) -> Row:
    """Return the row of a run; `metric` is its metric over its own samples, or over those that all ranked runs share."""
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
    """Return the conditions of a run, in a line: the models of its other roles and the digest of its data."""
    conditions: Mapping[str, Any] = entry.conditions
    parts = []
    for role, from_config in conditions["roles"].items():
        # The address says where a model was called, not which model it is.
        names = [name.partition("@http")[0] for name in entry.ids.get(role) or from_config]
        parts.append(f"{role} {', '.join(names)}")
    return "; ".join([*parts, f"data {str(conditions['data'])[:8]}"])
