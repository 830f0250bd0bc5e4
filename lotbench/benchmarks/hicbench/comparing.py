"""Comparison of runs: IH ratios (App. B.3, Table 6), scientific fields (Fig. 3, 5), IFS by weight (Fig. 4).

The test of two ratios pairs tasks and flips the sign of each task's difference.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy

from lotbench.benchmarks.hicbench.ratings import ratings
from lotbench.benchmarks.hicbench.score import MEASURES, by_field, ifs, shares, task_shares
from lotbench.harness.benchmark import Runs
from lotbench.metrics.intervals import Floats
from lotbench.report.sections import Cell, Grid, Section, Table

SCENARIOS = {"IIFS": 0.9, "BIFS": 0.6, "RIFS": 0.1}
"""The weight w1 of IH in IFS (Eq. 3) in the paper's three scenarios, from most to least weight (Sec. 4.3)."""


def across(runs: Runs) -> Sequence[Section]:
    """Return the sections that compare runs: IH ratios pair by pair, measures by scientific field, IFS under three weights."""
    return _significance(runs), *_fields(runs), _weights(runs)


def _significance(runs: Runs) -> Section:
    shares = {
        name: task_shares(ratings(traces), settings.panel_rule, settings.classes)
        for name, (traces, settings) in runs.items()
    }
    flips = max((settings.flips for _, settings in runs.values()), default=0)
    rows: list[tuple[Cell, ...]] = []
    for run, other in combinations(shares, 2):
        tasks = sorted(shares[run].keys() & shares[other].keys())
        ahead = np.array([shares[run][task] - shares[other][task] for task in tasks])
        rows.append((run, other, *_tested(ahead, flips), len(tasks)))
    columns = ("run", "other run", "IH ratio, difference", "standard error", "p", "", "tasks")
    note = (
        f"Two-sided paired permutation test on the IH ratio of each task: {flips:,} seeded flips of the signs "
        "of the differences (all of them where there are fewer). The standard error is that of the mean difference over tasks. The p of each pair stands alone: it is not "
        "corrected for the number of pairs. *** p < 0.01, ** p < 0.05, * p < 0.1."
    )
    return Section("Significance of the IH ratio", (note,), (Table(columns, tuple(rows)),))


def _tested(ahead: Floats, flips: int) -> tuple[float | None, float | None, float | None, str]:
    """Return the mean difference of two runs, its standard error, p of the sign-flip test, and the asterisks for p.

    With a single task, all but the mean is unknown: None, and no asterisks. With no task, the mean is None too.

    Args:
        ahead: [tasks] the IH ratio of one run less that of the other.
        flips: The maximum number of sign flips.
    """
    if len(ahead) < 2:
        return float(ahead[0]) if len(ahead) else None, None, None, ""
    result = scipy.stats.permutation_test(
        (ahead,), np.mean, permutation_type="samples", n_resamples=flips, rng=np.random.default_rng(0)
    )
    p = float(result.pvalue)
    return (
        float(ahead.mean()),
        float(scipy.stats.sem(ahead)),
        p,
        "*" * sum(p < level for level in (0.01, 0.05, 0.1)),
    )


def _fields(runs: Runs) -> tuple[Section, ...]:
    """Return the section with a heat map of each measure by run and scientific field; empty if no answer has a field."""
    metrics = {name: by_field(ratings(traces), settings) for name, (traces, settings) in runs.items()}
    fields = sorted({field for run_metrics in metrics.values() for field in run_metrics})
    if not fields:
        return ()
    grids = tuple(
        Grid(
            x="field",
            y="run",
            columns=tuple(fields),
            rows=tuple(runs),
            cells=tuple(
                tuple(run_metrics[field][measure] if field in run_metrics else None for field in fields)
                for run_metrics in metrics.values()
            ),
            caption=f"{measure} by field",
        )
        for measure in MEASURES
    )
    notes = (
        "Originality and IH (Fig. 3), feasibility, value, the mean of the three marks and DH (Fig. 5). 95 % intervals over "
        "the tasks of a field; the mean of the three has none.",
    )
    return (Section("Runs by field", notes, grids=grids),)


def _weights(runs: Runs) -> Section:
    """Return the section on the IFS of each run for each value in SCENARIOS of w1, the weight of the ratio of IH (Eq. 3)."""
    rows: list[tuple[Cell, ...]] = []
    for name, (traces, settings) in runs.items():
        ih, dh = shares(ratings(traces), settings.panel_rule, settings.classes)
        if np.isnan(ih):
            rows.append((name, None, None, None, None, None))
            continue
        rows.append((name, ih, dh, *(ifs(ih, dh, w1) for w1 in SCENARIOS.values())))
    notes = (
        "; ".join(f"{name}: w1 = {w1}" for name, w1 in SCENARIOS.items())
        + ". IFS = w1 IH + (1 - w1) (1 - DH - IH).",
    )
    return Section("IFS of runs by weight", notes, (Table(("run", "IH", "DH", *SCENARIOS), tuple(rows)),))
