"""Two runs on the same samples: the sign-flip permutation test of their paired differences.

Under the null hypothesis each difference is as likely to have the other sign. The test is scipy's; what is
added is a seed, the standard error, and an answer for data that no test can be made of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats


@dataclass(frozen=True, slots=True)
class Flipped:
    """What came of a sign-flip test.

    Attributes:
        mean: Of the differences; None for none.
        error: The standard error of the mean, from the differences' unbiased variance; None below two.
        p: Two-sided; None below two differences.
        n: The number of differences.
    """

    mean: float | None
    error: float | None
    p: float | None
    n: int


def sign_flips(differences: NDArray[np.float64], flips: int = 10_000, seed: int = 0) -> Flipped:
    """Whether paired differences have a mean other than 0 (two-sided).

    Args:
        differences: [n], one a pair.
        flips: Random assignments of signs; all 2^n are taken where these are no more.
        seed: Of the random ones.
    """
    n = len(differences)
    if n < 2:
        return Flipped(float(differences[0]) if n else None, None, None, n)
    found = stats.permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=flips,
        batch=max(1, 4_000_000 // n),
        rng=np.random.default_rng(seed),
    )
    error = float(np.std(differences, ddof=1)) / math.sqrt(n)
    return Flipped(float(np.mean(differences)), error, float(found.pvalue), n)
