"""Runs side by side: one row a run, one column a metric, from runs that differ in one thing only.

Runs that differ in more say nothing about any of it, so they are refused with the list of what differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.config.experiment import differences
from lotbench.errors import UsageError
from lotbench.metrics.correlation import correlation
from lotbench.report.markdown import number
from lotbench.report.sections import Section, Table
from lotbench.types import JSON


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison needs of a run.

    Attributes:
        name: Of its folder.
        experiment: Its frozen configuration.
        digests: Of its data and prompts, and the version of its benchmark.
        summary: The content of its summary.json.
    """

    name: str
    experiment: Mapping[str, JSON]
    digests: Mapping[str, JSON]
    summary: Mapping[str, Any]


def labels(runs: Sequence[Compared]) -> tuple[str, dict[str, str]]:
    """The one thing in which runs differ, and what it is in each of them, by the run's name.

    Raises:
        UsageError: Fewer than two runs, or they differ in nothing, or in more than one thing.
    """
    if len(runs) < 2 or len({run.name for run in runs}) < len(runs):
        raise UsageError("a comparison needs two or more runs, each once")
    tables: list[JSON] = [{**run.experiment, **run.digests} for run in runs]
    found = list(dict.fromkeys(name for other in tables[1:] for name in differences(tables[0], other)))
    if not found:
        raise UsageError("the runs differ in nothing: they are the same experiment")
    if len(found) > 1:
        raise UsageError(
            "runs are compared if they differ in one thing; these differ in "
            + "; ".join(f"{name} ({', '.join(_shown(table, name) for table in tables)})" for name in found)
        )
    values = [_shown(table, found[0]) for table in tables]
    return found[0], {run.name: value for run, value in zip(runs, values, strict=True)}


def section(runs: Sequence[Compared]) -> Section:
    """The table of a comparison, and why runs in it may not be ranked.

    Raises:
        UsageError: See `labels`.
    """
    setting, values = labels(runs)
    metrics = list(dict.fromkeys(name for run in runs for name in run.summary.get("scores", {})))
    rows = tuple(
        (run.name, values[run.name], *(_cell(run.summary.get("scores", {}).get(name)) for name in metrics))
        for run in runs
    )
    notes = [
        f"{run.name}: not rankable: {'; '.join(run.summary['reasons'])}" for run in runs if _reasons(run)
    ]
    notes.append(
        "Each value has its 95 % interval. Intervals that overlap do not say that runs are alike: the samples "
        "are the same, so the runs are compared pair by pair."
    )
    return Section(f"Runs by {setting}", tuple(notes), (Table(("run", setting, *metrics), rows),))


def beside(runs: Sequence[Compared], table: Mapping[str, Mapping[str, float]]) -> Section:
    """How the runs' metrics go together with a table that the user gives, all metrics side by side.

    Args:
        runs: One for each model.
        table: Numbers by model, then by column; models are told by the last part of their names.
    """
    known = {_bare(name): columns for name, columns in table.items()}
    pairs = [(run, known[model]) for run in runs if (model := _bare(str(run.experiment["model"]))) in known]
    metrics = list(dict.fromkeys(name for run, _ in pairs for name in run.summary.get("scores", {})))
    columns = list(dict.fromkeys(name for _, row in pairs for name in row))
    rows = tuple((column, *(_together(pairs, metric, column) for metric in metrics)) for column in columns)
    missing = [run.name for run in runs if _bare(str(run.experiment["model"])) not in known]
    notes = [
        "Pearson's r where both sides pass the Shapiro-Wilk test (p >= 0.05), else Spearman's rho; p is two-sided.",
        *([f"Not in the table: {', '.join(missing)}."] if missing else []),
    ]
    return Section("Beside the table", tuple(notes), (Table(("column", *metrics), rows),))


def _together(pairs: Sequence[tuple[Compared, Mapping[str, float]]], metric: str, column: str) -> str:
    scores = [(run.summary.get("scores", {}).get(metric) or {"value": None})["value"] for run, _ in pairs]
    both = [
        (float(score), row[column])
        for score, (_, row) in zip(scores, pairs, strict=True)
        if score is not None and column in row
    ]
    found = correlation([one for one, _ in both], [other for _, other in both])
    if found.value is None:
        return f"none: {found.why}"
    return f"{found.method} {found.value:.3f} (p = {found.p:.3g}, n = {found.n})"


def _bare(model: str) -> str:
    return model.partition("@http")[0].rsplit("/", 1)[-1].lower()


def _reasons(run: Compared) -> bool:
    return bool(run.summary.get("reasons"))


def _cell(score: Mapping[str, Any] | None) -> str | None:
    if score is None or score["value"] is None:
        return None
    if None in (score["low"], score["high"]):
        return number(score["value"])
    return f"{number(score['value'])} ({number(score['low'])} to {number(score['high'])})"


def _shown(table: JSON, name: str) -> str:
    """A field of an experiment by its dotted name, for people."""
    value: Any = table
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list | tuple) and len(value) == 1:
        (value,) = value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
