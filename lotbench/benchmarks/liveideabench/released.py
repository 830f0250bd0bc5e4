"""Reader of the ideas and critiques that the authors released (v1, Table S.1; v2, Supp. Table S1), as episodes.

A row is one critic's verdict on one idea. Rows are grouped by model, keyword and text; the ideas of a keyword keep the
order of their first rows. Texts are not checked for refusals, and no row is left out.
"""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np

from lotbench.benchmarks.liveideabench.candidate import length
from lotbench.benchmarks.liveideabench.judged import FLUENCY, whole
from lotbench.benchmarks.liveideabench.score import PERCENTILE
from lotbench.benchmarks.liveideabench.settings import VERSIONS
from lotbench.errors import DataError, at, refuse_faults
from lotbench.harness.episode import remark
from lotbench.harness.published import Source
from lotbench.types import JSON

COLUMNS = {
    "keywords": ("keyword",),
    "idea_model": (),
    "critic_model": (),
    "idea": (),
    "parsed_scores": ("parsed_score",),
}
"""The required columns by v2's names, with other names that a release gives them. Optional columns: full_response,
parsed_reasoning, raw_critique, first_was_rejected, first_reject_response and, in v1, flue (fluency)."""


@dataclass(frozen=True, slots=True)
class Critique:
    """One critic's verdict on an idea.

    Attributes:
        critic: The name of the critic's model.
        analysis: The critic's text; may be empty.
        scores: The score of each dimension; None if they cannot be read.
        fluency: The fluency in the row; None in v2, or if it cannot be read.
    """

    critic: str
    analysis: str
    scores: Mapping[str, float] | None
    fluency: float | None


@dataclass(slots=True)
class Idea:
    """An idea with its critiques.

    Attributes:
        text: The idea.
        full: The full reply that contains the idea; may be empty.
        declined: The refusal of the first request; "" if there was none.
        critiques: The verdicts of the critics.
    """

    text: str
    full: str
    declined: str
    critiques: list[Critique] = field(default_factory=list)


Ideas = Mapping[str, Mapping[str, Sequence[Idea]]]
"""Ideas by model, then by keyword."""


def read_released(source: Source, name: str = "") -> tuple[str, Ideas]:
    """Return the version and the ideas of a CSV file of released rows; a file with a clarity score is v2.

    Args:
        source: The file, or the folder of it.
        name: The name of the file in the folder.

    Raises:
        DataError: The file cannot be read, lacks a column, or has a row without keyword, model or critic.
    """
    path = source.path / name if name else source.path
    rows = _rename(source.table(set(), name), str(path))
    version = "v2" if any("clarity" in _table(row["parsed_scores"]) for _, row in rows) else "v1"
    models: dict[str, dict[str, dict[str, Idea]]] = {}
    faults: list[str] = []
    for line, row in rows:
        if missing := sorted(
            column for column in ("critic_model", "idea_model", "keywords") if not row[column].strip()
        ):
            faults += [at(path, line, column) + ": empty" for column in missing]
            continue
        ideas = models.setdefault(row["idea_model"].strip(), {}).setdefault(row["keywords"].strip(), {})
        idea = ideas.setdefault(row["idea"], Idea(row["idea"], row.get("full_response", ""), _declined(row)))
        analysis = row.get("parsed_reasoning") or row.get("raw_critique") or ""
        scores = _scores(row["parsed_scores"], VERSIONS[version].dimensions)
        fluency = _number(row.get("flue"))
        idea.critiques.append(Critique(row["critic_model"].strip(), analysis, scores, fluency))
    refuse_faults(faults)
    return version, {
        model: {word: [*ideas.values()] for word, ideas in words.items()} for model, words in models.items()
    }


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


def _declined(row: Mapping[str, str]) -> str:
    """Return the refusal of the first request; "" if there was none, or if the row does not have its text."""
    reply = row.get("first_reject_response", "").strip()
    rejected = row.get("first_was_rejected", "").strip().lower() in ("1", "1.0", "true")
    return reply if rejected and len(reply) > 2 else ""


def _table(text: str) -> Mapping[str, Any]:
    """Return a table that is written as JSON or as a Python literal; empty if the text is neither."""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            # The last two come of deep nesting.
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _scores(text: str, dimensions: Iterable[str]) -> Mapping[str, float] | None:
    """Return the scores of a verdict by dimension; None unless each is a number."""
    table = _table(text)
    scores = {name: _number(table.get(name)) for name in dimensions}
    numbers = {name: value for name, value in scores.items() if value is not None}
    return numbers if len(numbers) == len(scores) else None


LARGEST = 1e6
"""The largest number that is a score; means of larger ones could overflow."""


def _number(cell: Any) -> float | None:
    try:
        value = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if abs(value) <= LARGEST else None


def leaderboard(version: str, ideas: Ideas) -> list[dict[str, JSON]]:
    """Return one row for each model with the numbers of the authors' leaderboard, the best average first.

    As in the authors' code, each number is over critiques: the mean of each dimension and of fluency, and flexibility, the
    30th percentile of the critiques' composites. A number is None if the rows lack its values.
    """
    rows: list[dict[str, JSON]] = []
    for model, by_word in ideas.items():
        every = [critique for ideas in by_word.values() for idea in ideas for critique in idea.critiques]
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


def steps(ideas: Sequence[Idea], indexes: Mapping[str, int], version: str) -> list[dict[str, Any]]:
    """Return the steps of an episode on one keyword, as if it had been played; their `call` is None.

    Args:
        ideas: One model's ideas on one keyword.
        indexes: The index of each critic on the panel.
        version: The version of the benchmark.
    """
    result: list[dict[str, Any]] = []
    for number, idea in enumerate(ideas, 1):
        if idea.declined:
            refused = {"status": "refused", "reason": "the release says so", "said": idea.declined}
            result.append(_step("respond", number, "candidate", 0, refused))
        words, characters = length(idea.text)
        value: dict[str, JSON] = {"status": "ok", "idea": idea.text, "words": words, "characters": characters}
        value["reasoning"] = max(0, len(idea.full.strip()) - len(idea.text.strip()))
        result.append(_step("fallback" if idea.declined else "respond", number, "candidate", 0, value))
        for draw, critique in enumerate(idea.critiques):
            verdict: dict[str, Any] = {"judge": indexes[critique.critic], "model": critique.critic}
            if critique.scores is None:
                verdict |= {"status": "unparsed", "reason": "the row has no scores"}
            else:
                verdict |= {"status": "ok", "analysis": critique.analysis, **critique.scores}
            result.append(_step("judge", number, "judge", draw, verdict))
    if letter := _letter(ideas, VERSIONS[version].grades):
        verdict = {"status": "ok", "grade": letter, "ideas": [1, 2], "judge": 0, "model": ""}
        result.append(_step("compare", 1, "judge", 0, verdict))
    return result


def _letter(ideas: Sequence[Idea], grades: Mapping[str, float]) -> str:
    """Return the letter of fluency of two or more ideas if all their critiques have its score (6.666666 is that of B); else ""."""
    values = {critique.fluency for idea in ideas for critique in idea.critiques}
    value = values.pop() if len(ideas) > 1 and len(values) == 1 else None
    near = (letter for letter, score in grades.items() if value is not None and abs(score - value) < 1e-5)
    return next(near, "")


def _step(step: str, number: int, role: str, draw: int, value: Mapping[str, JSON]) -> dict[str, JSON]:
    return remark(step, number, value) | {"role": role, "draw": draw}
