"""Human review: ideas for people to score, and the judges' agreement with them (v2, Supplementary Note 7).

A row holds an idea as the judges saw it, and nothing of their verdicts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from lotbench.benchmarks.liveideabench.judged import Idea, Keyword, keyword_of, mean, read_keyword
from lotbench.benchmarks.liveideabench.settings import Settings, Version
from lotbench.harness.evidence import Evidence
from lotbench.metrics.agreement import icc
from lotbench.metrics.correlation import coefficient
from lotbench.metrics.people_agreement import against, between
from lotbench.report.sections import Cell, Section, Table
from lotbench.types import JSON, Trace


class Label(BaseModel, frozen=True, extra="ignore"):
    """One person's scores of one idea, 1 to 10; None for a dimension that the person left out.

    `row` is the name of the idea; see `name`.
    """

    row: str
    who: str = ""
    originality: int | None = Field(default=None, ge=1, le=10)
    feasibility: int | None = Field(default=None, ge=1, le=10)
    clarity: int | None = Field(default=None, ge=1, le=10)


def review(traces: Sequence[Trace], settings: Settings, evidence: Evidence) -> list[Mapping[str, JSON]]:
    """Return one row for every idea of a run; the dimensions, which people score from 1 to 10, are None."""
    rows: list[Mapping[str, JSON]] = []
    for keyword in (read_keyword(trace, settings.rules) for trace in traces):
        blanks: dict[str, JSON] = dict.fromkeys(settings.rules.dimensions)
        rows += [
            {
                "row": name(keyword, idea),
                "keyword": keyword_of(keyword, evidence),
                "idea": idea.text,
                **blanks,
            }
            for idea in keyword.ideas
            if idea.ok
        ]
    return rows


def name(keyword: Keyword, idea: Idea) -> str:
    """Return the name of an idea in a table of labels: `sample/repeat/number`."""
    return f"{keyword.sample}/{keyword.repeat}/{idea.number}"


def agreement(keywords: Sequence[Keyword], version: Version, labels: Sequence[Mapping[str, Any]]) -> Section:
    """Return the section on the agreement of people and judges in each dimension: Pearson, Spearman and ICC(2,1)."""
    judged = {name(keyword, idea): idea for keyword in keywords for idea in keyword.ideas}
    by_row: dict[str, list[Label]] = {}
    for label in (Label.model_validate(row) for row in labels):
        if label.row in judged:
            by_row.setdefault(label.row, []).append(label)
    rows = [_row(dimension, judged, by_row) for dimension in version.dimensions]
    notes = (
        f"{sum(map(len, by_row.values()))} labels on {len(by_row)} ideas of this run.",
        "People: the mean over those who labelled an idea; judges: the mean over its judges. ICC(2,1): absolute "
        "agreement of the two as single raters, 1 at best; a judge who gives two points more than people agrees less.",
    )
    columns = ("dimension", "ideas", "people, mean", "judges, mean", "Pearson", "Spearman", "ICC(2,1)")
    return Section(
        "People and judges",
        notes,
        (Table(columns, tuple(rows)), *_ceiling(version, judged, by_row)),
        brief=True,
    )


def _ceiling(
    version: Version, judged: Mapping[str, Idea], by_row: Mapping[str, Sequence[Label]]
) -> tuple[Table, ...]:
    """Return a table on the agreement of two people, and of the judges with one person.

    Empty unless two people labelled the same idea.
    """
    if all(len(labels) < 2 for labels in by_row.values()):
        return ()
    rows: list[tuple[Cell, ...]] = []
    for dimension in version.dimensions:
        labels = {
            row: {label.who: float(mark) for label in own if (mark := getattr(label, dimension)) is not None}
            for row, own in by_row.items()
        }
        means = {row: mark for row in by_row if (mark := judged[row].mean(dimension)) is not None}
        for who, pairs in (
            ("one person and another", between(labels)),
            ("the judges and one person", against(labels, means)),
        ):
            rows.append((dimension, who, len(pairs), *_together([pair[1:] for pair in pairs])))
    columns = ("dimension", "who", "pairs of scores", "Pearson", "Spearman", "ICC(2,1)")
    title = "People among themselves: the ceiling of what judges can agree with them"
    return (Table(columns, tuple(rows), title),)


def _together(pairs: Sequence[tuple[float, float]]) -> tuple[Cell, Cell, Cell]:
    """Return Pearson, Spearman and ICC(2,1) of pairs of scores.

    All are None for fewer than three pairs, or if one side is constant.
    """
    table = np.array(pairs, dtype=float).reshape(-1, 2)
    first, other = table.T.tolist()
    pearson, spearman = coefficient("pearson", first, other), coefficient("spearman", first, other)
    return pearson.value, spearman.value, None if pearson.value is None else icc(table)


def _row(dimension: str, judged: Mapping[str, Idea], rows: Mapping[str, Sequence[Label]]) -> tuple[Cell, ...]:
    both = []
    for row, labels in rows.items():
        people, judges = mean(getattr(label, dimension) for label in labels), judged[row].mean(dimension)
        if people is not None and judges is not None:
            both.append((people, judges))
    coefficients = _together(both)
    means = np.array(both).mean(axis=0).tolist() if coefficients[0] is not None else (None, None)
    return dimension, len(both), *means, *coefficients
