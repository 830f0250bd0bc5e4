"""The sections of a LiveIdeaBench report: replies, categories, lengths, judges, and ideas to read."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from lotbench.benchmarks.liveideabench.candidate import STATUSES
from lotbench.benchmarks.liveideabench.judged import FLUENCY, Idea, Keyword, keyword_of, read_keyword
from lotbench.benchmarks.liveideabench.people import agreement
from lotbench.benchmarks.liveideabench.relations import lengths
from lotbench.benchmarks.liveideabench.score import Sheet, composite_ends, sheet
from lotbench.benchmarks.liveideabench.settings import Settings, Version
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.effects import severities
from lotbench.report.markdown import share
from lotbench.report.sections import Cell, Excerpt, Grid, Section, Table
from lotbench.types import Metric, Trace

REFUSED_READ = 5


def sections(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> list[Section]:
    """Return the sections of a run's report."""
    version = settings.rules
    keywords = [read_keyword(trace, version) for trace in traces]
    parts = [
        _replies(keywords),
        _categories(keywords, version),
        lengths(keywords, version),
        _severity(keywords, version),
        _readings(keywords, version, evidence),
    ]
    if evidence.labels:
        parts.append(agreement(keywords, version, evidence.labels))
    return parts


def answers(trace: Trace, settings: Settings) -> list[str]:
    """Return the texts of the ideas of an episode."""
    return [idea.text for idea in read_keyword(trace, settings.rules).ideas if idea.ok]


def _replies(keywords: Sequence[Keyword]) -> Section:
    ideas = [idea for keyword in keywords for idea in keyword.ideas]
    seen = Counter(idea.status for idea in ideas)
    rows: list[tuple[Cell, ...]] = [
        (status, seen[status], share(seen[status], len(ideas))) for status in STATUSES
    ]
    declining = sum(idea.declines for idea in ideas)
    rows.append(("of the ok: refusals, judged as answers", declining, share(declining, seen["ok"])))
    whole = sum(idea.unmarked for idea in ideas)
    rows.append(("of the ok: judged as a whole, without the marker", whole, share(whole, seen["ok"])))
    judged = sum(bool(idea.rows) for idea in ideas)
    rows.append(("of the ok: with a verdict", judged, share(judged, seen["ok"])))
    note = "A reply that is not ok is no idea: it is left out of every mean, and shown here."
    return Section("Replies", (note,), (Table(("reply", "count", "share"), tuple(rows)),))


def _categories(keywords: Sequence[Keyword], version: Version) -> Section:
    """Return the section on the mean scores in each category, with intervals over its keywords."""
    names = sorted({keyword.category for keyword in keywords})
    groups = {name: [keyword for keyword in keywords if keyword.category == name] for name in names}
    columns = (*version.dimensions, FLUENCY, "composite")
    cells = tuple(category_row(group, version) for group in groups.values())
    note = (
        "Composite: the mean of the other columns, over the keywords that have them all. A category has few "
        "keywords; see the interval of a cell before two cells are compared."
    )
    grid = Grid("dimension", "category", columns, tuple(names), cells, "Means by category")
    return Section("By category", (note,), grids=(grid,), brief=True)


def category_row(keywords: Sequence[Keyword], version: Version) -> tuple[Metric, ...]:
    """Return the metrics of these keywords in order: judged dimensions, fluency and composite."""
    table = sheet(keywords, version, "keyword")
    ends = composite_ends(version)
    cells = [_cell(table, name, ends) for name in table.names]
    composed = np.isin(np.arange(len(table.values)), table.owner)
    return (*cells, table.metric(table.composite, composed, "no keyword has every dimension judged", ends))


def _cell(table: Sheet, name: str, ends: tuple[float, float]) -> Metric:
    column = ~np.isnan(table.values[:, table.names.index(name)])
    return table.metric(table.mean(name), column, f"nothing was judged for {name}", ends)


def severity(keywords: Sequence[Keyword], dimension: str) -> dict[int, float] | None:
    """Return by judge's index how many points a judge gives above the panel's mean for the same ideas; below 0 is severe.

    None for a single judge, or if the judges share too few ideas (`metrics.effects.severities`).
    """
    rows = [
        (number, row.index, row.scores[dimension])
        for number, idea in enumerate(idea for keyword in keywords for idea in keyword.ideas)
        for row in idea.rows
    ]
    indexes = sorted({index for _, index, _ in rows})
    places = {index: place for place, index in enumerate(indexes)}
    effects = severities(
        [n for n, _, _ in rows], [places[index] for _, index, _ in rows], [s for _, _, s in rows]
    )
    return None if effects is None else dict(zip(indexes, map(float, effects), strict=True))


def _severity(keywords: Sequence[Keyword], version: Version) -> Section:
    effects = {name: severity(keywords, name) for name in version.dimensions}
    rows = [row for keyword in keywords for idea in keyword.ideas for row in idea.rows]
    seen, names = Counter(row.index for row in rows), {row.index: row.model for row in rows}
    table = Table(
        ("judge", "verdicts", *version.dimensions),
        tuple(
            (names[index], seen[index], *(None if by is None else by[index] for by in effects.values()))
            for index in sorted(seen)
        ),
        "Points above the mean of the panel; below zero is severe",
    )
    unread = sum(idea.unread for keyword in keywords for idea in keyword.ideas)
    notes = [
        "Severity: score = idea + judge, by least squares, so that a judge is held against those who saw the same ideas. No "
        "score is adjusted by it.",
        f"Verdicts that could not be read, after a second asking: {unread} of {unread + len(rows)}. They are left out.",
    ]
    if any(by is None for by in effects.values()):
        notes.append("The judges did not meet on enough ideas to show differences between their severities.")
    return Section("Severity of judges", tuple(notes), (table,))


def _readings(keywords: Sequence[Keyword], version: Version, evidence: Evidence) -> Section:
    """Return the section with the best, the median and the worst idea by quality, and some refusals."""
    judged = [(keyword, idea) for keyword in keywords for idea in keyword.ideas if idea.rows]
    judged.sort(key=lambda pair: -pair[1].quality(version))
    last = len(judged) - 1
    titles = {last: "Worst", last // 2: "Median", 0: "Best"} if judged else {}
    texts = [_make_reading(titles[place], *judged[place], version, evidence) for place in sorted(titles)]
    every = [(keyword, idea) for keyword in keywords for idea in keyword.ideas]
    refused = [pair for pair in every if pair[1].refuses]
    for keyword, idea in refused[:REFUSED_READ]:
        title = f"Refused: {keyword_of(keyword, evidence)}"
        texts.append(Excerpt(title, (("reply", idea.text),), keyword.sample, keyword.repeat))
    return Section("Ideas to read", readings=tuple(texts))


def _make_reading(title: str, keyword: Keyword, idea: Idea, version: Version, evidence: Evidence) -> Excerpt:
    scores = "; ".join(
        f"{row.model}: " + ", ".join(f"{name} {row.scores[name]}" for name in version.dimensions)
        for row in idea.rows
    )
    return Excerpt(
        f"{title}: {keyword_of(keyword, evidence)} ({idea.quality(version):.2f})",
        (("idea", idea.text), ("scores", scores)),
        keyword.sample,
        keyword.repeat,
    )
