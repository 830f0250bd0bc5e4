"""Comparison of runs: the columns of the paper's Table 3, one row for each run, and F1 by score with intervals."""

from __future__ import annotations

from collections.abc import Sequence

from lotbench.benchmarks.rinobench import score
from lotbench.benchmarks.rinobench.sample import LABELS
from lotbench.benchmarks.rinobench.sections import COLUMNS, class_f1, paper_row
from lotbench.harness.benchmark import Runs
from lotbench.report.sections import Grid, Section, Table


def across(runs: Runs) -> Sequence[Section]:
    """Return the section with Table 3 and a heat map of F1 by run and score; runs without an answer are left out."""
    answered = {
        name: (answers, settings)
        for name, (traces, settings) in runs.items()
        if (answers := score.judged_answers(traces))
    }
    if not answered:
        return ()
    rows = tuple((name, *paper_row(answers, settings)) for name, (answers, settings) in answered.items())
    cells = tuple(tuple(class_f1(answers)) for answers, _ in answered.values())
    names = tuple(f"F1 {label}" for label in LABELS)
    grid = Grid("score", "run", names, tuple(answered), cells, "F1 by score")
    notes = (
        "F1, recall, additional ratio and hallucination rate in per cent, as the paper prints them. KA: known aspects, "
        "NA: novelty aspects. The heat map has F1 as a share, with 95 % intervals over ideas.",
    )
    return (Section("Table 3 of the paper", notes, (Table(("run", *COLUMNS), rows),), grids=(grid,)),)
