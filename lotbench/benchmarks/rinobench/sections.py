"""The sections of a RINoBench report (Table 3, scores, justifications, replies, texts) and of a comparison.

Every share is shown with its counts. The texts show each argument of an answer with its gold matches and its grounds, so
that a number can be checked by hand.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np

from lotbench.benchmarks.rinobench import score
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.readings import readings
from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.benchmarks.rinobench.score import Judged
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.harness.benchmark import Runs
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics import classification
from lotbench.metrics.intervals import Floats
from lotbench.report.sections import Cell, Grid, Section, Table
from lotbench.types import Metric, Trace

STATUSES = ("ok", "invalid", "unparsed", "refused", "truncated")
COLUMNS = (
    "F1 macro", *(f"F1 {label}" for label in LABELS), "MAE", "ALI", "recall KA", "recall NA", "add. KA",
    "add. NA", "hall. KA", "hall. NA",
)  # fmt: skip
"""The columns of the paper's Table 3."""


def sections(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> list[Section]:
    """Return the sections of a report that have data, first the row of the paper's Table 3."""
    answers = score.judged_answers(traces)
    parts = (
        _paper(answers, settings) if answers else None,
        _classes(answers) if answers else None,
        _justifications(answers) if any(answer.counts for answer in answers) else None,
        _replies(traces, answers, settings, evidence),
        readings(traces, evidence),
    )
    return [section for section in parts if section is not None]


def _paper(answers: Sequence[Judged], settings: Settings) -> Section:
    """Return the section with the run as a row of the paper's Table 3, in the paper's units."""
    note = "F1, recall, additional ratio and hallucination rate in per cent, as the paper prints them."
    return Section(
        "The paper's columns", (note,), (Table(COLUMNS, (_paper_row(answers, settings),)),), brief=True
    )


def _paper_row(answers: Sequence[Judged], settings: Settings) -> tuple[Cell, ...]:
    """Return the cells of COLUMNS for the answers of one run, in the order of its metrics; F1 and ratios are in per cent."""
    by_class = classification.f1(score.tables(answers).sum(axis=0)).tolist()
    macro, mae, alignment, *ratios = (metric.value for metric in score.measured(answers, settings).values())
    return *_percent(macro, *by_class), mae, alignment, *_percent(*ratios)


def _percent(*shares: float | None) -> list[float | None]:
    return [None if share is None else 100 * share for share in shares]


def across(runs: Runs) -> Sequence[Section]:
    """Return the section with Table 3; runs without an answer are left out."""
    answered = {
        name: (answers, settings)
        for name, (traces, settings) in runs.items()
        if (answers := score.judged_answers(traces))
    }
    if not answered:
        return ()
    rows = tuple((name, *_paper_row(answers, settings)) for name, (answers, settings) in answered.items())
    notes = (
        "F1, recall, additional ratio and hallucination rate in per cent, as the paper prints them. KA: known aspects, "
        "NA: novelty aspects.",
    )
    return (Section("Table 3 of the paper", notes, (Table(("run", *COLUMNS), rows),)),)


def _classes(answers: Sequence[Judged]) -> Section:
    """Return the section on F1 of each novelty score, with the confusion matrix."""
    counts = score.tables(answers).sum(axis=0)
    rows = []
    for place, label in enumerate(LABELS):
        metric = score.of_scores(answers, partial(_f1_of, place=place))
        predicted = int(counts[:, label].sum())
        rows.append((label, int(counts[place].sum()), predicted, metric.value, metric.low, metric.high))
    table = Table(("score", "gold", "predicted", "F1", "low", "high"), tuple(rows), "F1 by score")
    names = (*map(str, LABELS), "none")
    grid = Grid(
        x="predicted",
        y="gold",
        columns=names,
        rows=tuple(map(str, LABELS)),
        cells=tuple(tuple(Metric(float(row[at]), n=int(row.sum())) for at in (*LABELS, 0)) for row in counts),
        caption="Answers by gold and predicted score",
    )
    note = "Low and high: 95 % interval, drawing the ideas again."
    return Section("By novelty score", (note,), (table,), grids=(grid,))


def _f1_of(counts: Floats, place: int) -> Floats:
    return np.asarray(classification.f1(counts)[..., place])


def _justifications(answers: Sequence[Judged]) -> Section:
    """Return the section on the ratios of Eq. 1-3, with both rules of hallucination, and coverage."""
    rows = []
    for name, ratio in (
        ("recall (claims in the gold / gold arguments, at most 1)", score.recall),
        ("coverage recall (gold arguments that a claim matches)", score.coverage),
        ("additional ratio", score.additional),
        ("hallucination rate, paper", partial(score.hallucination, rule="paper")),
        ("hallucination rate, code", partial(score.hallucination, rule="code")),
    ):
        most = None if ratio is score.additional else 1.0
        metrics = [score.of_justifications(answers, score.by_kind(kind, ratio), most=most) for kind in KINDS]
        cells = [cell for metric in metrics for cell in (metric.value, metric.low, metric.high)]
        rows.append((name, *cells, metrics[0].n))
    columns = ("mean over ideas", "known", "low", "high", "novelty", "low", "high", "n")
    notes = (
        "Recall can reach 1 with every claim on the same gold argument; coverage recall cannot.",
        "A claim that is not grounded is a hallucination in the paper's equation, though it may be in the gold; the "
        "public script counts those alone that are in the gold neither.",
    )
    return Section("Justifications", notes, (Table(columns, tuple(rows)),), brief=True)


def _replies(
    traces: Sequence[Trace], answers: Sequence[Judged], settings: Settings, evidence: Evidence
) -> Section:
    """Return the section that counts replies by status, and abstracts of related works that were cut."""
    seen = Counter(answer.status for answer in answers)
    rows: list[tuple[Cell, ...]] = [(status, seen[status], len(answers)) for status in STATUSES]
    rows.append(("no reply", len(traces) - len(answers), len(traces)))
    rows.append(("judge failures", sum(trace.outcome == "judge_failed" for trace in traces), len(traces)))
    cut, works = sum(answer.shortened for answer in answers), sum(answer.works for answer in answers)
    some = sum(bool(answer.shortened) for answer in answers)
    notes = [
        f"Abstracts cut to keep related works within {settings.works_chars:,} characters: {cut} of {works}, in "
        f"{some} of {len(answers)} prompts; the longest gave way first, each at the end of a word.",
        "An answer that could not be read has no claims and no part in the justification metrics.",
    ]
    if settings.join == "position" and evidence.candidate.startswith("file:"):
        notes.insert(
            0,
            "WARNING: predictions were joined to ideas by position; nothing shows that they are of these ideas.",
        )
    return Section("Replies", tuple(notes), (Table(("what", "count", "of"), tuple(rows)),))
