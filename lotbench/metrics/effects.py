"""Severity of judges: the additive model of scores, idea plus judge, fitted by least squares.

Judges see different ideas, so a judge's mean score says little. The model compares scores on the same ideas.
"""

from collections.abc import Sequence

import numpy as np

from lotbench.metrics.intervals import Floats


def severities(items: Sequence[int], raters: Sequence[int], scores: Sequence[float]) -> Floats | None:
    """Return the effect of each rater in the model score = item + rater + error.

    Args:
        items: The item of each score.
        raters: The rater of each score, from 0 without gaps.
        scores: The scores.

    Returns:
        The effects [raters], which sum to 0; severe raters are below 0. None if the shared items do not connect the
        raters.
    """
    count = max(raters, default=-1) + 1
    if count < 2:
        return None
    place = np.unique(np.asarray(items), return_inverse=True)[1]
    design = np.eye(count)[np.asarray(raters)]
    sizes = np.bincount(place)
    counts = np.zeros((len(sizes), count))
    np.add.at(counts, (place, np.asarray(raters)), 1)
    # Subtracting item means from both sides eliminates the items (Frisch, Waugh and Lovell).
    centred = design - (counts / sizes[:, None])[place]
    values = np.asarray(scores, dtype=float)
    residuals = values - (np.bincount(place, values) / sizes)[place]
    # The minimum-norm solution is the one whose effects sum to 0.
    effects, _, rank, _ = np.linalg.lstsq(centred, residuals, rcond=None)
    # Rounding removes numerical noise, which would be printed as a severity.
    return effects.round(12) + 0.0 if rank == count - 1 else None
