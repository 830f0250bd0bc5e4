"""A generalizability study of a ranking: would other samples and other repeats rank the models alike?

Models are what is measured; samples are drawn for all of them and repeats for each model and sample (a two-way random
effects design with repeats nested in its cells; Cronbach et al. 1972, Brennan 2001). From its variance components
follow the coefficients of this comparison and, in a decision study, those of comparisons with more samples or repeats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from lotbench.metrics.intervals import Floats, Interval

MODELS = 4
"""Models below which the variance between models is hardly known: four have three degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of the score of a walk; one that is estimated below 0 is 0.

    Attributes:
        model: Between models, over all samples: what a ranking is to see.
        sample: Between samples, over all models: some are harder.
        interaction: What samples do to single models. With one repeat alone it holds the repeats' part too.
        repeat: Between repeats of one model on one sample; None where no cell has two.
    """

    model: float
    sample: float
    interaction: float
    repeat: float | None


@dataclass(frozen=True, slots=True)
class Study:
    """What came of a study.

    Attributes:
        models: How many there were, on so many `samples` with so many `repeats` (their harmonic mean).
        relative: E rho^2, the share of the variance of the models' means that is between models, where an
            error is what changes their order: 1 for a ranking that any other samples would give again.
        absolute: Phi, the same where it is an error too that all samples are harder or easier than others.
    """

    models: int
    samples: int
    repeats: float
    components: Components
    relative: float
    relative_interval: Interval
    absolute: float
    absolute_interval: Interval

    def forecast(self, samples: float, repeats: float) -> float:
        """E rho^2 of a comparison of such models on so many samples with so many repeats (a decision study)."""
        parts = self.components
        noise = parts.interaction + (parts.repeat or 0.0) / repeats
        return parts.model / (parts.model + noise / samples) if parts.model else 0.0

    def needed(self, wanted: float, repeats: float) -> int | None:
        """Samples with which E rho^2 is as wanted, below 1; None where models do not differ."""
        parts = self.components
        if not parts.model:
            return None
        noise = parts.interaction + (parts.repeat or 0.0) / repeats
        return max(2, math.ceil(noise / parts.model * wanted / (1 - wanted) - 1e-9))


def study(scores: Sequence[Mapping[str, Sequence[float]]]) -> Study | None:
    """Study the scores of models, each by sample and repeat; samples that not every model has are left out.

    Unequal repeats are taken as so many as their harmonic mean (the analysis of unweighted means). None for fewer
    than two models or samples, or where nothing differs.
    """
    shared = [name for name in scores[0] if all(one.get(name) for one in scores)] if scores else []
    if len(scores) < 2 or len(shared) < 2:
        return None
    cells = [[np.asarray(one[name], dtype=float) for name in shared] for one in scores]
    means = np.array([[cell.mean() for cell in row] for row in cells])
    repeats = 1 / float(np.mean([[1 / len(cell) for cell in row] for row in cells]))
    rows, columns, left = mean_squares(means)
    if rows + columns + left < 1e-15:
        return None
    n, k = means.shape
    return Study(
        n, k, repeats, _components(cells, means, repeats),
        max(0.0, 1 - left / rows) if rows else 0.0, _relative_interval(rows, left, n, k),
        *_absolute(rows, columns, left, n, k),
    )  # fmt: skip


def mean_squares(table: Floats) -> tuple[float, float, float]:
    """Of rows, columns and what is left of a complete two-way table, [n, k]."""
    n, k = table.shape
    rows, columns, middle = table.mean(axis=1), table.mean(axis=0), table.mean()
    left = table - rows[:, None] - columns[None, :] + middle
    return (
        float(k * ((rows - middle) ** 2).sum() / (n - 1)),
        float(n * ((columns - middle) ** 2).sum() / (k - 1)),
        float((left**2).sum() / ((n - 1) * (k - 1))),
    )


def _components(cells: Sequence[Sequence[Floats]], means: Floats, repeats: float) -> Components:
    """The components by the method of moments."""
    n, k = means.shape
    rows, columns, left = mean_squares(means)
    squares = sum(float(((cell - cell.mean()) ** 2).sum()) for row in cells for cell in row)
    freedom = sum(len(cell) - 1 for row in cells for cell in row)
    within = squares / freedom if freedom else None
    return Components(
        max(0.0, (rows - left) / k),
        max(0.0, (columns - left) / n),
        max(0.0, left - (within or 0.0) / repeats),
        within,
    )


def _relative_interval(rows: float, left: float, n: int, k: int) -> Interval:
    """The 95 % interval of E rho^2, which is exact for normal scores (Feldt 1965)."""
    if not rows or not left:
        return None, None
    error, freedom = left / rows, (n - 1) * (k - 1)
    low, high = (1 - error * float(scipy.special.fdtri(n - 1, freedom, p)) for p in (0.975, 0.025))
    return max(0.0, low), max(0.0, high)


def _absolute(rows: float, columns: float, left: float, n: int, k: int) -> tuple[float, Interval]:
    """Phi, which is ICC(A,k), with its 95 % interval after Satterthwaite (McGraw and Wong 1996, Table 7)."""

    def stepped_up(single: float) -> float:
        return min(1.0, max(0.0, k * single / (1 + (k - 1) * single)))

    whole = rows + (k - 1) * left + k * (columns - left) / n
    single = max(0.0, (rows - left) / whole) if whole else 0.0
    value = stepped_up(single)
    if not left or single >= 1:
        return value, (None, None)
    a, b = k * single / (n * (1 - single)), 1 + k * single * (n - 1) / (n * (1 - single))
    top = (a * columns + b * left) ** 2
    freedom = top / ((a * columns) ** 2 / (k - 1) + (b * left) ** 2 / ((n - 1) * (k - 1)))
    above, below = (
        float(scipy.special.fdtri(n - 1, freedom, 0.975)),
        float(scipy.special.fdtri(freedom, n - 1, 0.975)),
    )
    rest = k * columns + (k * n - k - n) * left
    low = n * (rows - above * left) / (above * rest + n * rows)
    high = n * (below * rows - left) / (rest + n * below * rows)
    return value, (stepped_up(max(0.0, low)), stepped_up(max(0.0, high)))
