"""What a run's diagnostics rest on: its labels, its answers with their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.edge.calls import embeddings
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.judge_validation import Place
from lotbench.report.likeness import Said
from lotbench.report.sections import Section
from lotbench.types import Trace

VECTORS = "vectors.npz"


def in_order(
    judges: Sequence[Section], shows: Section, own: Sequence[Section], others: Sequence[Section]
) -> list[Section]:
    """The sections of a report: what the score rests on first, the benchmark's own, and what is long to read last."""
    last = max((at for at, one in enumerate(own) if one.readings), default=len(own))
    return [*judges, shows, *own[:last], *others, *own[last:]]


def said(path: Path, traces: Sequence[Trace], declared: Benchmark, settings: Any) -> Said:
    """What the candidate said, with the vectors that the folder has of it: no encoder is loaded to compare."""
    encoder = str(getattr(settings, "encoder", ""))
    answers = declared.answers_by_sample(traces, settings)
    wanted = [text for texts in answers.values() for text in texts]
    return Said(answers, embeddings.read_vectors(path / VECTORS, encoder, wanted) if encoder else {}, encoder)


def labelled_verdicts(records: Sequence[Mapping[str, Any]], run: str) -> dict[Place, bool]:
    """What people said of the run's own fillings, as its report has it."""
    found = [own for record in records for own in record.get("field", ()) if own["run"] == run]
    return {
        (sample, repeat, at): right
        for own in found[:1]
        for sample, repeat, at, right in own.get("labels", ())
    }
