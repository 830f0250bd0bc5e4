"""The data of the home page: a table for each benchmark, with its runs in groups, and a sentence on each ranking.

Every run is in the table of its benchmark, trusted or not; a badge says which, and why. A group has the runs of one
variant that were measured under the same conditions, in order. Runs are ranked within their group. Only trusted runs
get a place; if there are none, runs that lack only samples or a check of their judge get provisional places. The
functions are pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lotbench.errors import UsageError
from lotbench.report import trust
from lotbench.report.bounds import ABOUT, in_words
from lotbench.report.leaderboard import Entry, alike, board, labels_of, short_name
from lotbench.report.markdown import counted
from lotbench.report.ranking_sections import remarked, summed_up
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
        of: The number of samples in the run's own metric; more than `n` if the ranked runs share only some of them.
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
    of: int = 0
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
        variant: The variant of the benchmark; None if it has only one.
        metric: The name of the metric by which the runs are ranked.
        ends: The smallest and largest possible value of the metric.
        about: The conditions, in a line.
        rows: The runs, best first.
        said: The ranking in one sentence; "" if there is none.
        notes: Further sentences.
    """

    variant: str | None
    metric: str
    ends: tuple[float, float]
    about: str
    rows: tuple[Row, ...]
    said: str = ""
    notes: tuple[str, ...] = ()
    tries: bool = False
    """Whether all its runs are of chosen samples or without a score, and other groups stand before it."""
    data: str = ""
    """The digest of the data."""

    @property
    def common(self) -> tuple[str, ...]:
        """The reasons in short for which none of the runs is trusted; empty for a single run."""
        shorts = [row.badge.in_short for row in self.rows]
        return tuple(why for why in shorts[0] if len(shorts) > 1 and all(why in other for other in shorts))


@dataclass(frozen=True)
class Board:
    """The table of a benchmark, the groups with most to say first."""

    benchmark: str
    groups: tuple[Group, ...]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All runs of the table."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def ends(self) -> tuple[float, float]:
        """The values at which the axis of the intervals begins and ends."""
        return min(group.ends[0] for group in self.groups), max(group.ends[1] for group in self.groups)

    def at(self, value: float) -> str:
        """Return the horizontal position of a value on the axis, as a number for SVG."""
        least, most = self.ends
        return f"{2 + WIDTH * (value - least) / (most - least):.1f}"


def start_time(run: str) -> str:
    """Return the date and time at which a run began, from the name of its folder; "" if the folder was renamed."""
    match = DATE.match(run)
    return "{}-{}-{} {}:{}".format(*match.groups()) if match else ""


def boards(entries: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]] | None = None) -> list[Board]:
    """Return a table for each benchmark, those with trusted runs first, then those with most runs; likewise their groups.

    Args:
        entries: The runs.
        summaries: The content of summary.json by run name, for costs and numbers of episodes; None for none.
    """
    by_benchmark: dict[str, list[Entry]] = {}
    # Trusted runs first: other runs then join the group of trusted runs with their conditions.
    for entry in sorted(entries, key=lambda entry: bool(entry.reasons)):
        by_benchmark.setdefault(entry.benchmark, []).append(entry)
    tables = []
    for name, every in by_benchmark.items():
        groups = [part for group in alike(every) for part in _scored_apart(_group(group, summaries or {}))]
        first, *rest = sorted(groups, key=lambda group: (_is_try(group), _weight(group)))
        tables.append(Board(name, (first, *(replace(group, tries=_is_try(group)) for group in rest))))
    return sorted(tables, key=_weight)


def _scored_apart(group: Group) -> list[Group]:
    """Return the runs with a score and those without as groups of their own."""
    scored, rest = ([row for row in group.rows if (row.value is None) is none] for none in (False, True))
    if not scored or not rest:
        return [group]
    return [replace(group, rows=tuple(scored)), replace(group, rows=tuple(rest), said="", notes=())]


def _is_try(group: Group) -> bool:
    return all(row.value is None or "chosen samples" in row.badge.in_short for row in group.rows)


def _weight(table: Board | Group) -> tuple[bool, int]:
    """Return a sort key: trusted runs first, then many runs."""
    return not any(row.trusted for row in table.rows), -len(table.rows)


def across(tables: Sequence[Board]) -> dict[str, list[Row | None]]:
    """Return, by the name of each model with a value in two or more tables, its first row in each table (None if absent).

    Only the first group of a table counts: the others were measured otherwise.
    """
    best: dict[str, list[Row | None]] = {}
    for at, table in enumerate(tables):
        for row in reversed(table.groups[0].rows):
            if row.value is not None:
                best.setdefault(row.model, [None] * len(tables))[at] = row
    return {model: rows for model, rows in sorted(best.items()) if sum(row is not None for row in rows) > 1}


def variant(entry: Entry) -> str | None:
    """Return the variant of its benchmark that a run played; None if the benchmark has only one."""
    settings: Any = entry.conditions["settings"]
    value = entry.arm or settings.get("arm")
    return None if value is None else str(value)


def badge(reasons: Sequence[str] | None) -> Badge:
    """Return whether a run is trusted, and every reason why it is not; `reasons` is None for a run that has not ended."""
    name = "not ended" if reasons is None else "not trusted" if reasons else "trusted"
    return Badge(name, tuple(reasons or ()))


def _group(group: Sequence[Entry], summaries: Mapping[str, Mapping[str, Any]]) -> Group:
    trusted = [entry for entry in group if not entry.reasons]
    # If no run is trusted, runs that lack only samples or a check of their judge are ranked.
    minor = [entry for entry in group if trust.MINOR.issuperset(trust.in_short(entry.reasons))]
    provisional = [] if trusted else minor
    ranked_of = trusted or (provisional if len(provisional) > 1 else [])
    sentence, notes = "", []
    try:
        ranking = board(ranked_of) if ranked_of else None
    except UsageError as error:
        ranking, notes = None, [str(error)]
    places = {place.entry.name: place for place in ranking.places} if ranking else {}
    if ranking is not None:
        ranked = [place for place in places.values() if not place.entry.abstained]
        sentence = summed_up(ranking)
        if len(ranked) == 1:
            sentence = sentence or "Nobody to compare with yet: one trusted run."
        elif ranked:
            which, shared = "ranked" if provisional else "trusted", counted(ranking.shared, "sample")
            notes.append(f"{ranking.metric} over the {shared} that every {which} run has.")
        notes += remarked(ranking)
    rows = []
    for entry, label in zip(group, labels_of(group), strict=True):
        place = places.get(entry.name)
        row = _row(entry, summaries, place.mean if place else entry.metric.whole())
        number = ranking.number(place) if ranking and place else None
        rows.append(replace(row, label=label, place=number, provisional=bool(provisional)))
    # The best first, trusted or not; runs that abstained stay last.
    rows.sort(key=lambda row: (row.abstained, row.value is None, -row.mean))
    notes += [ABOUT] if any(row.bounds for row in rows) else []
    arm, metric, about = variant(group[0]), group[0].metric, describe_group(group[0])
    return Group(
        arm,
        metric.name,
        metric.ends,
        about,
        tuple(rows),
        sentence,
        tuple(notes),
        data=str(group[0].conditions["data"]),
    )


def _row(entry: Entry, summaries: Mapping[str, Mapping[str, Any]], metric: Metric) -> Row:
    """Return the row of a run; `metric` is its metric over its own samples, or over those that all ranked runs share."""
    summary = summaries.get(entry.name, {})
    return Row(
        run=entry.name,
        model=short_name(entry.model),
        label=entry.model,
        value=metric.value,
        low=None if entry.person else metric.low,
        high=None if entry.person else metric.high,
        badge=badge(entry.reasons),
        n=metric.n,
        of=len(entry.metric.records),
        failed=entry.failed,
        cost=summary.get("usage", {}).get("cost_usd"),
        person=entry.person,
        abstained=entry.abstained,
        bounds=in_words(metric.bounds) or "",
    )


def describe_group(entry: Entry) -> str:
    """Return the conditions of a run, in a line: the models of its other roles and its data set."""
    conditions: Mapping[str, Any] = entry.conditions
    parts = []
    for role, from_config in conditions["roles"].items():
        # The address says where a model was called, not which model it is.
        names = [short_name(name.partition("@http")[0]) for name in entry.ids.get(role) or from_config]
        parts.append(f"{role} {', '.join(names)}")
    return "; ".join([*parts, entry.data_set or f"data {str(conditions['data'])[:8]}"])
