"""The level at which each of several looks at growing data is tested, so that all of them together err as seldom as one.

The looks spend alpha as O'Brien and Fleming's bounds do, by the function of Lan and DeMets (1983): of each side's alpha / 2,
`2 - 2 Phi(z / sqrt(t))` once a fraction t of the data is in, with z the quantile of 1 - alpha / 4. A bound is found by following
the part of a Brownian motion that no earlier look has stopped (Armitage, McPherson and Rowe 1969).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

_STEPS = 2001
"""Points of the motion that are followed between the bounds of a look."""


def spent(fraction: float, alpha: float = 0.05) -> float:
    """Return what may have been spent of alpha once this fraction of the data is in."""
    return float(4 * scipy.special.ndtr(scipy.special.ndtri(alpha / 4) / np.sqrt(fraction)))


def levels(fractions: Sequence[float], alpha: float = 0.05) -> list[float]:
    """Return the two-sided level of each look; `fractions` rise to at most 1. For quarters .000015, .0030, .0183 and .0440."""
    result: list[float] = []
    where, density, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for at in fractions:
        step, due = np.sqrt(at - before), spent(at, alpha) - used

        def crossed(
            bound: float, spread: float = step, x: np.ndarray = where, f: np.ndarray = density
        ) -> float:
            return float(
                f @ (scipy.special.ndtr((x - bound) / spread) + scipy.special.ndtr((-bound - x) / spread))
            )

        bound = scipy.optimize.brentq(lambda x: crossed(x) - due, 0.0, 12 * np.sqrt(at), xtol=1e-10)  # noqa: B023 - it is called here
        result.append(float(2 * scipy.special.ndtr(-bound / np.sqrt(at))))
        grid = np.linspace(-bound, bound, _STEPS)
        moved = np.exp(-(((grid[:, None] - where) / step) ** 2) / 2) @ density
        weights = np.full(_STEPS, grid[1] - grid[0])
        weights[[0, -1]] /= 2
        where, density = grid, moved * weights / (step * np.sqrt(2 * np.pi))
        before, used = at, spent(at, alpha)
    return result
