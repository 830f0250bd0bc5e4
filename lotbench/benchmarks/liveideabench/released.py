"""The leaderboard of the critiques that the authors released (v1, Table S.1; v2, Supp. Table S1).

A row is one critic's verdict on one idea. Texts are not checked for refusals, and no row is left out.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from lotbench.benchmarks.liveideabench.judged import FLUENCY, whole
from lotbench.benchmarks.liveideabench.score import PERCENTILE
from lotbench.benchmarks.liveideabench.settings import VERSIONS
from lotbench.errors import DataError, at
from lotbench.harness.published import Source
from lotbench.types import JSON

COLUMNS = {
    "idea_model": (),
    "critic_model": (),
    "parsed_scores": ("parsed_score",),
}
"""The required columns by v2's names, with other names that a release gives them; in v1 also flue (fluency)."""


@dataclass(frozen=True, slots=True)
class Critique:
    """One critic's verdict on an idea.

    Attributes:
        scores: The score of each dimension; None if they cannot be read.
        fluency: The fluency in the row; None in v2, or if it cannot be read.
    """

    scores: Mapping[str, float] | None
    fluency: float | None


Critiques = Mapping[str, Sequence[Critique]]
"""Critiques by the model that had the ideas."""


def read_released(source: Source) -> tuple[str, Critiques]:
    """Return the version and the critiques of a CSV file of released rows; a file with a clarity score is v2.

    Raises:
        DataError: The file cannot be read, lacks a column, or has a row without model or critic.
    """
    rows = _rename(source.table(set()), str(source.path))
    version = "v2" if any("clarity" in _table(row["parsed_scores"]) for _, row in rows) else "v1"
    models: dict[str, list[Critique]] = {}
    faults: list[str] = []
    for line, row in rows:
        if missing := [column for column in ("critic_model", "idea_model") if not row[column].strip()]:
            faults += [at(source.path, line, column) + ": empty" for column in missing]
            continue
        scores = _scores(row["parsed_scores"], VERSIONS[version].dimensions)
        critique = Critique(scores, _number(row.get("flue")))
        models.setdefault(row["idea_model"].strip(), []).append(critique)
    if faults:
        raise DataError(faults)
    return version, models


def _rename(rows: Sequence[tuple[int, dict[str, str]]], path: str) -> list[tuple[int, dict[str, str]]]:
    """Return the rows, each with its line number, with v2's names for their columns.

    Raises:
        DataError: There is no row, or a column is missing.
    """
    if not rows:
        raise DataError([f"{path}: no rows"])
    columns = {
        name: next((spelling for spelling in (name, *others) if spelling in rows[0][1]), "")
        for name, others in COLUMNS.items()
    }
    if missing := sorted(name for name, column in columns.items() if not column):
        raise DataError([at(path, 1, name) + ": the column is missing" for name in missing])
    return [(line, row | {name: row[column] for name, column in columns.items()}) for line, row in rows]


def _table(text: str) -> Mapping[str, Any]:
    """Return a table that is written as JSON or as a Python literal; empty if the text is neither."""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError):
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _scores(text: str, dimensions: Iterable[str]) -> Mapping[str, float] | None:
    """Return the scores of a verdict by dimension; None unless each is a number."""
    table = _table(text)
    scores = {name: _number(table.get(name)) for name in dimensions}
    numbers = {name: value for name, value in scores.items() if value is not None}
    return numbers if len(numbers) == len(scores) else None


def _number(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def leaderboard(version: str, released: Critiques) -> list[dict[str, JSON]]:
    """Return one row for each model with the numbers of the authors' leaderboard, the best average first.

    As in the authors' code, each number is over critiques: the mean of each dimension and of fluency, and flexibility, the
    30th percentile of the critiques' composites. A number is None if the rows lack its values.
    """
    rows: list[dict[str, JSON]] = []
    for model, every in released.items():
        critiques = [critique for critique in every if critique.scores]
        columns = {
            name: [critique.scores[name] for critique in critiques if critique.scores]
            for name in VERSIONS[version].dimensions
        }
        columns[FLUENCY] = [critique.fluency for critique in critiques if critique.fluency is not None]
        means = {name: fmean(values) if values else None for name, values in columns.items()}
        complete = bool(critiques) and len(columns[FLUENCY]) == len(critiques)
        composites = [fmean(each) for each in zip(*columns.values(), strict=True)] if complete else []
        means["flexibility"] = float(np.percentile(composites, 100 * PERCENTILE)) if complete else None
        average = whole([*means.values()])
        rows.append({"model": model, **means, "average": average, "critiques": len(critiques)})
    return sorted(rows, key=lambda row: (row["average"] is None, -float(row["average"] or 0)))  # type: ignore[arg-type]
