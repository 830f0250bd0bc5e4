"""Severity of judges: the two-way additive model of scores, idea plus judge, by least squares.

Every judge sees other ideas, so a judge's mean says little of the judge; what it gives beside the others who
saw the same idea does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lotbench.metrics.intervals import Floats


def severities(items: Sequence[int], raters: Sequence[int], scores: Sequence[float]) -> Floats | None:
    """Return what each rater gives above the mean of all raters, from scores = item + rater + error.

    Args:
        items: What each score is of.
        raters: Who gave each score, from 0 without gaps.
        scores: The scores.

    Returns:
        The effects [raters], which add up to zero (a severe judge is below it); None if the raters did not
        meet on enough items to be told apart.
    """
    count = max(raters, default=-1) + 1
    if count < 2:
        return None
    place = np.unique(np.asarray(items), return_inverse=True)[1]
    design = np.eye(count)[np.asarray(raters)]
    sizes = np.bincount(place)
    # Taking the item's mean from both sides leaves the raters alone (Frisch, Waugh and Lovell).
    centred = design - (_sums(design, place, len(sizes)) / sizes[:, None])[place]
    values = np.asarray(scores, dtype=float)
    residuals = values - (np.bincount(place, values) / sizes)[place]
    # The smallest of the solutions is the one whose effects add up to zero.
    effects, _, rank, _ = np.linalg.lstsq(centred, residuals, rcond=None)
    # What least squares leaves in the last digits would be printed as a severity.
    return effects.round(12) + 0.0 if rank == count - 1 else None


def _sums(rows: Floats, place: np.ndarray[tuple[int], np.dtype[np.intp]], count: int) -> Floats:
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, place, rows)
    return sums
