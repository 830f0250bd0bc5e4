"""Who judged which of several runs, and how severe each judge is beside all others."""

from __future__ import annotations

from collections.abc import Sequence

from lotbench.benchmarks.liveideabench.across_ideas import Read
from lotbench.benchmarks.liveideabench.panels import Severities, fitted
from lotbench.errors import UsageError
from lotbench.report.sections import Section, Table


def on_one_scale(runs: Read) -> tuple[Read, Section]:
    """The runs as judges of one mean severity would have judged them, where they can be, and what was done."""
    found = _severities(runs)
    if isinstance(found, str):
        return runs, Section("Judges of all runs", (f"Scores are as they were given: {found}.",))
    made = {
        name: ([found.without(one) for one in keywords], settings)
        for name, (keywords, settings) in runs.items()
    }
    return made, _section(tuple(runs), found)


def _severities(runs: Read) -> Severities | str:
    """The severities of all judges over all runs, or why there are none."""
    versions = [settings.rules for _, settings in runs.values()]
    if any(version != versions[0] for version in versions):
        return "the runs are of two versions"
    records = {
        name: {str(number): [one] for number, one in enumerate(keywords)}
        for name, (keywords, _) in runs.items()
    }
    try:
        found = fitted(records, versions[0])
    except UsageError as error:
        return str(error)
    return found or "all runs have the same judges, and these cannot be told from each other"


def _section(runs: Sequence[str], found: Severities) -> Section:
    names = tuple(found.values)
    rows: tuple[tuple[str | float | int | None, ...], ...] = tuple(
        (
            judge,
            *(int(count) for count in found.verdicts[:, place]),
            *(float(found.values[name][place]) for name in names),
        )
        for place, judge in enumerate(found.judges)
    )
    note = (
        "Severity, fitted over all runs together: points above the mean of all judges; below zero is severe. The ranking "
        "and the tables below are of scores without it, and what is not known of it is in the intervals of differences. "
        "A judge whose ids bear several dates is one."
    )
    columns = ("judge", *(f"verdicts, {run}" for run in runs), *names)
    return Section("Judges of all runs", (note,), (Table(columns, rows),))
