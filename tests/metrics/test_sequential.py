"""The bounds of several looks: those of the literature, and the share of motions that cross them."""

import numpy as np
import pytest
from scipy.stats import norm

from lotbench.metrics.sequential import alpha_spent, levels


def test_four_looks_have_the_bounds_of_o_brien_and_fleming_by_lan_and_demets() -> None:
    # Table 2 of ldbounds and of every text: 4.3326, 2.9631, 2.3590, 2.0141.
    found = norm.isf(np.array(levels([0.25, 0.5, 0.75, 1.0])) / 2)
    assert found == pytest.approx([4.3326, 2.9631, 2.3590, 2.0141], abs=1e-3)
    assert levels([1.0]) == pytest.approx([0.05], abs=1e-9)
    assert alpha_spent(1.0, 0.01) == pytest.approx(0.01)


@pytest.mark.parametrize("fractions", [[0.25, 0.5, 0.75, 1.0], [2 / 7, 4 / 7, 6 / 7, 1.0], [0.5, 1.0]])
def test_all_looks_together_cross_as_seldom_as_one(fractions: list[float]) -> None:
    steps = np.sqrt(np.diff([0.0, *fractions]))
    motion = np.random.default_rng(0).normal(size=(400_000, len(fractions))) * steps
    z = np.abs(motion.cumsum(axis=1)) / np.sqrt(fractions)
    crossed = (z > norm.isf(np.array(levels(fractions)) / 2)).any(axis=1).mean()
    assert crossed == pytest.approx(0.05, abs=0.0015)
