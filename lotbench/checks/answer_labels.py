"""Labels of people on the answers of a run: rows to fill in, and the check of filled-in rows before the run folder keeps them.

The rows do not show the verdicts of judges. A label is kept only if the run has its answer, word for word; later reports
use it. Several people may label one answer, each under a name (`who`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lotbench.config.experiment import Limits
from lotbench.errors import UsageError, at, faults_of, refuse_faults
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.evidence import Evidence
from lotbench.run.loading import Run, planned
from lotbench.run.plan import Plan
from lotbench.run.results import LABELS
from lotbench.storage import export, run_folder
from lotbench.storage.jsonl import tables
from lotbench.types import JSON


def rows(run: Run) -> Sequence[Mapping[str, JSON]]:
    """Return the answers of a run as rows for people to label; the fields to fill in are None.

    Raises:
        UsageError: The benchmark has nothing for people to label.
    """
    return [{**row, "who": None} for row in _rows(planned(run, Limits()), run)]


def keep(run: Run, files: Sequence[Path]) -> str:
    """Check filled-in rows against a run's answers, write them to its folder in place of earlier labels, and return their counts.

    With several files, a row without `who` counts as labelled by the person after whom its file is named.

    Raises:
        DataError: A row is no answer of the run, differs from it, is wrongly filled in, or is a person's second one on an
            answer; all such rows are listed.
        UsageError: No file has a label, or the benchmark has nothing for people to label.
    """
    plan = planned(run, Limits())
    answer_rows = {str(row["row"]): row for row in _rows(plan, run)}
    faults: list[str] = []
    labels: dict[tuple[str, str], dict[str, JSON]] = {}
    for file in files:
        for number, row in tables(file):
            name = row.get("row") if isinstance(row, Mapping) else None
            if not isinstance(name, str) or name not in answer_rows:
                faults.append(at(file, number, "row") + ": is no answer of this run")
                continue
            if all(row.get(key) is None for key, value in answer_rows[name].items() if value is None):
                continue
            who = row.get("who") or (file.stem if len(files) > 1 else "")
            faults += _faults(plan.benchmark, {**row, "who": who}, answer_rows[name], at(file, number))
            if (name, str(who)) in labels:
                of_whom = f" by {who!r}" if who else "; `who` says which of several people labelled it"
                faults.append(at(file, number, "row") + f": {name!r} comes twice{of_whom}")
            labels[name, str(who)] = {**row, "who": who}
    refuse_faults(faults)
    if not labels:
        raise UsageError(f"{', '.join(map(str, files))}: no row has a label yet")
    with run_folder.Folder(run.path) as place:
        place.write(LABELS, export.text(list(labels.values()), ".jsonl"))
    answers, people = (len({pair[at] for pair in labels}) for at in (0, 1))
    by_people = f"{len(labels)} labels by {people} people on " if people > 1 else ""
    return f"{by_people}{answers} of {len(answer_rows)} answers, {run.path / LABELS}"


def _rows(plan: Plan, run: Run) -> Sequence[Mapping[str, JSON]]:
    if plan.benchmark.review is None:
        why = "" if plan.benchmark.judged else "no judge decides anything in it, so "
        raise UsageError(f"{plan.benchmark.name}: {why}nothing of a run is for people to label")
    samples = Evidence(samples=plan.by_id, candidate=plan.names["candidate"][0].text)
    return plan.benchmark.review.rows(run.traces, plan.settings, samples)


def _faults(
    benchmark: Benchmark, row: Mapping[str, Any], answer: Mapping[str, JSON], place: str
) -> list[str]:
    """Return the faults of a filled-in row: fields that differ from the run's answer, or else values that are no valid labels."""
    changed = [
        at(place, field=name) + ": is not what the run has"
        for name, value in answer.items()
        if value not in (None, row.get(name))
    ]
    if benchmark.review is None or changed:
        return changed
    try:
        benchmark.review.Label.model_validate(row)
    except ValidationError as error:
        return faults_of(error, place)
    return []
