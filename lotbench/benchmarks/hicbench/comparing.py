"""Runs against each other: is the difference of their IH ratios more than chance (App. B.3, Table 6)?

The tasks are paired: what is flipped is the sign of each task's difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from lotbench.benchmarks.hicbench.ratings import ratings
from lotbench.benchmarks.hicbench.score import task_shares
from lotbench.harness.benchmark import Runs
from lotbench.metrics.compare import sign_flips
from lotbench.report.sections import Section, Table

Cell = str | float | int | None


def across(runs: Runs) -> Sequence[Section]:
    """One section: every pair of runs, by the tasks that both have."""
    shares = {
        name: task_shares(ratings(traces), settings.panel_rule, settings.classes)
        for name, (traces, settings) in runs.items()
    }
    flips = max((settings.flips for _, settings in runs.values()), default=0)
    rows: list[tuple[Cell, ...]] = []
    for one, other in combinations(shares, 2):
        tasks = sorted(shares[one].keys() & shares[other].keys())
        found = sign_flips(np.array([shares[one][task] - shares[other][task] for task in tasks]), flips)
        rows.append((one, other, found.mean, found.error, found.p, _stars(found.p), found.n))
    columns = ("run", "other run", "IH ratio, difference", "standard error", "p", "", "tasks")
    note = (
        f"Two-sided paired permutation test on the IH ratio of each task: {flips:,} seeded flips of the signs "
        "of the differences (all of them where there are fewer). The p of each pair stands alone: it is not "
        "corrected for the number of pairs. *** p < 0.01, ** p < 0.05, * p < 0.1."
    )
    return (Section("Significance of the IH ratio", (note,), (Table(columns, tuple(rows)),)),)


def _stars(p: float | None) -> str:
    return "" if p is None else "*" * sum(p < level for level in (0.01, 0.05, 0.1))
