"""Report sections on the judges: counts of verdicts, severity, and letters of fluency that depend on the order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lotbench.benchmarks.liveideabench.judged import Keyword
from lotbench.benchmarks.liveideabench.settings import Version
from lotbench.metrics.effects import severities
from lotbench.report.sections import Section, Table


def judges(keywords: Sequence[Keyword], version: Version) -> tuple[Section, Section]:
    """Return the section on the severity of judges and the section on fluency."""
    return _severity(keywords, version), _fluency(keywords)


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


def _fluency(keywords: Sequence[Keyword]) -> Section:
    """Return the section on fluency: the counts of the letters A to D, and of pairs whose letter depends on the order."""
    comparisons = [comparison for keyword in keywords for comparison in keyword.comparisons]
    letters = Counter(letter for comparison in comparisons for letter in comparison.letters)
    both = [comparison for comparison in comparisons if len(comparison.letters) == 2]
    differ = sum(len(set(comparison.letters)) == 2 for comparison in both)
    rows = tuple((letter, letters[letter]) for letter in "ABCD")
    unread = sum(comparison.unread for comparison in comparisons)
    notes = (
        "A: different ideas and problems; D: academically identical. A pair is worth the mean of its letters.",
        f"Pairs compared in both orders: {len(both)}; the letter depended on the order in {differ}. Identical word for word, and D without a call: "
        f"{sum(comparison.identical for comparison in comparisons)}. Comparisons that could not be read: {unread}.",
    )
    return Section("Fluency", notes, (Table(("letter", "times"), rows),))
