"""What a run's diagnostics rest on: the variance of its headline, its labels, its answers with their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lotbench.edge.calls import embeddings
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.judge_validation import JudgeQuality, Place
from lotbench.metrics import variance
from lotbench.metrics.headline import Headline
from lotbench.metrics.judge_part import JudgePart
from lotbench.metrics.planning import Cost
from lotbench.report import uncertainty
from lotbench.report.likeness import Said
from lotbench.report.report import Spent
from lotbench.report.sections import Section
from lotbench.run.plan import Plan
from lotbench.types import Trace

VECTORS = "vectors.npz"


def in_order(
    judges: Sequence[Section], uncertainty: Section, own: Sequence[Section], others: Sequence[Section]
) -> list[Section]:
    """The sections of a report: what the score rests on first, the benchmark's own, and what is long to read last."""
    last = max((at for at, one in enumerate(own) if one.readings), default=len(own))
    return [*judges, uncertainty, *own[:last], *others, *own[last:]]


def uncertainty_of(
    made: Plan, run: str, traces: Sequence[Trace], headline: Headline, quality: JudgeQuality, price: Cost
) -> Section:
    """Where the uncertainty of a run's headline comes from; of the one corrected by people's labels, if it has them.

    Args:
        made: The run's plan.
        run: The name of its folder.
        traces: Its walks.
        headline: Theirs.
        quality: What is known of its judges.
        price: Of a walk.
    """
    settings, comparison = made.settings, made.benchmark.comparison
    labels = labelled_verdicts(quality.used, run)
    by_labels = comparison.by_labels(traces, settings, labels) if labels else None
    measured = by_labels or comparison.headline
    whole = by_labels(traces, settings) if by_labels else headline
    if whole.noise is None:
        judge = made.benchmark.judges.part(traces, settings, quality.flips)
    else:
        draws = whole.noise(list(whole.records.values()))
        about = (
            f"The score is corrected by {whole.judgements} labels of this run's own verdicts; what so few leave open is a "
            "source of its own."
        )
        judge = JudgePart(about, None, float(draws.var()) * whole.judgements, whole.judgements, "labels")
    found = variance.components(variance.of_walks(measured, traces, settings))
    return uncertainty.section(whole.name, found, judge, price, made.of)


def price_of(spent: Mapping[str, Spent], walks: int) -> Cost:
    """What a walk took, on the average, of all roles together."""
    whole = sum(spent.values(), start=Spent())
    n = max(1, walks)
    return Cost(whole.calls / n, None if whole.cost_usd is None else whole.cost_usd / n)


def said(path: Path, traces: Sequence[Trace], declared: Benchmark, settings: Any) -> Said:
    """What the candidate said, with the vectors that the folder has of it: no encoder is loaded to compare."""
    encoder = declared.comparison.encoder(settings)
    answers = declared.comparison.answers(traces, settings)
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
