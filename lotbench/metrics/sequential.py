"""Group sequential tests: the level of each interim test on growing data, so that all tests together have error rate alpha.

Alpha is spent by the O'Brien-Fleming type function of Lan and DeMets (1983): on each side `2 - 2 Phi(z / sqrt(t))` at a
fraction t of the data, with z the quantile of 1 - alpha / 4. Bounds come from the density of a Brownian motion that no
earlier test has stopped (Armitage, McPherson and Rowe 1969).
"""

from collections.abc import Sequence

import numpy as np
import scipy

_STEPS = 2001
"""The number of grid points of the density between the bounds of a test."""


def alpha_spent(fraction: float, alpha: float = 0.05) -> float:
    """Return the part of alpha that all tests up to this fraction of the data may spend."""
    return float(4 * scipy.special.ndtr(scipy.special.ndtri(alpha / 4) / np.sqrt(fraction)))


def levels(fractions: Sequence[float], alpha: float = 0.05) -> list[float]:
    """Return the two-sided level of each interim test, at rising fractions of the data (quarters: .000015, .0030, .0183, .0440)."""
    result: list[float] = []
    where, density, before, used = np.zeros(1), np.ones(1), 0.0, 0.0
    for at in fractions:
        step, due = np.sqrt(at - before), alpha_spent(at, alpha) - used

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
        before, used = at, alpha_spent(at, alpha)
    return result
