"""The power of a run: the smallest gap to another model that it can detect, and the samples that a given gap needs.

Power is that of the paired t test. The other model's scores are assumed to vary as this run's do, and to be
independent of them. If both models find the same samples easy, smaller gaps are detected.
"""

import math
from bisect import bisect_left

import numpy as np
import scipy

from lotbench.metrics.compare import ALPHA
from lotbench.metrics.intervals import Floats
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted
from lotbench.report.markdown import counted, number
from lotbench.report.sections import Section
from lotbench.types import JSON

TITLE = "What this can show"
POWER = 0.8
GAP = 0.05
"""The gap for which the needed samples are computed, as a share of the range of scores."""


def section(primary_metric: PrimaryMetric) -> Section:
    """Return the section on the smallest detectable gap, and the samples needed for a gap of 5 % of the range of scores."""
    low, high = primary_metric.ends
    gap, n = GAP * (high - low), len(primary_metric.records)
    numbers: dict[str, JSON] = {"metric": primary_metric.name, "samples": n, "gap": gap}
    sd, units = _spread(primary_metric), f"{primary_metric.unit}s"
    if sd is None:
        why = f"{counted(n, primary_metric.unit)} {'does' if n == 1 else 'do'} not show how much scores vary from one to another"
        numbers["why"] = why
        return Section(TITLE, (f"Not known: {why}.",), name="shows", numbers=numbers, brief=True)
    # The standard deviation of the difference between two models with independent scores.
    paired = math.sqrt(2) * sd
    difference, takes = detectable(n) * paired, _needed(gap / paired)
    seen = "no gap" if difference > high - low else f"a gap of {difference:.2g}"
    notes = (
        f"{n} {units} show {seen} in {primary_metric.name} to another model on the same {units}, with a power of {POWER:.0%} at the "
        f"level of {ALPHA:.0%} (paired t test).",
        f"A gap of {number(gap)} takes {takes:,} {units}.",
        f"This assumes that the other model's scores vary as these do (standard deviation {sd:.2g} over {units}) and are "
        "independent of them. If both find the same samples easy, smaller gaps show too: see lotbench compare.",
    )
    numbers |= {"detectable": difference, "samples_needed": takes, "sd": sd}
    return Section(TITLE, notes, name="shows", numbers=numbers, brief=True)


def detectable(n: int, level: float = ALPHA) -> float:
    """Return the smallest effect, in standard deviations of the differences, that a paired t test on n >= 2 samples detects."""
    most = 1.0
    while _power(most, n, level) < POWER:
        most *= 2
    return float(scipy.optimize.brentq(lambda effect: _power(effect, n, level) - POWER, 0, most))


def _needed(effect: float) -> int:
    """Return the smallest number of samples with which a paired t test detects an effect (in standard deviations)."""
    return bisect_left(range(1 << 32), POWER, lo=2, key=lambda n: _power(effect, n, ALPHA))


def _power(effect: float, n: int, level: float) -> float:
    """Return the chance that a paired t test finds an effect (in standard deviations), by the noncentral t distribution."""
    # The one-sided test ignores the chance of a significant gap in the wrong direction, which is negligible here.
    critical = scipy.special.stdtrit(n - 1, 1 - level / 2)
    return float(1 - scipy.special.nctdtr(n - 1, effect * math.sqrt(n), critical))


def _spread(primary_metric: PrimaryMetric) -> float | None:
    """Return the standard deviation over samples of their contributions to the metric; None if it is not known or 0."""
    records = list(primary_metric.records.values())
    if len(records) < 2:
        return None
    weighted = primary_metric.weighted
    values = np.asarray(records if weighted is None else _pseudo_values(weighted(records), len(records)))
    sd = float(values.astype(float).std(ddof=1))
    return sd if math.isfinite(sd) and sd > 0 else None


def _pseudo_values(metric: Weighted, n: int) -> Floats:
    """Return the jackknife pseudo-values, [n], of a metric of n records: their contributions to it (Quenouille 1956)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, without = metric(np.ones((1, n)))[0], metric(1.0 - np.eye(n))
    return np.asarray(n * whole - (n - 1) * without)
