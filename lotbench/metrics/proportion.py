"""The share of hits among trials that come in clusters (games of a sample), with its interval over clusters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lotbench.metrics.intervals import Floats, Interval, bounded
from lotbench.types import JSON, Metric


def proportion(trials: Iterable[tuple[bool, str]]) -> Metric:
    """The share of hits; n counts clusters, observations are trials.

    Args:
        trials: Whether each is a hit, and the cluster that it belongs to.
    """
    sums: dict[str, list[float]] = {}
    for hit, cluster in trials:
        found = sums.setdefault(cluster, [0.0, 0.0])
        found[0] += hit
        found[1] += 1
    return ratio(np.array(list(sums.values())).reshape(-1, 2))


def ratio(counts: Floats) -> Metric:
    """What was counted over what was counted in, between 0 and 1; both by cluster, [clusters, 2]."""
    kept = counts[counts[:, 1] > 0]
    if not len(kept):
        return Metric(None, why="nothing was counted")
    top, bottom = kept.sum(axis=0)
    low, high = bounded(kept, _divided)
    return Metric(float(top / bottom), low, high, n=len(kept), observations=round(float(bottom)))


def told(one: Metric) -> dict[str, JSON]:
    """A share for programs: its value, interval and counts."""
    counts: dict[str, JSON] = {"n": one.n, "observations": one.observations}
    return {"value": one.value, **ends((one.low, one.high)), **counts}


def ends(interval: Interval) -> dict[str, JSON]:
    """An interval for programs."""
    low, high = interval
    return {"low": low, "high": high}


def _divided(sums: Floats) -> Floats:
    bottom = sums[..., 1]
    found: Floats = np.divide(sums[..., 0], bottom, out=np.full(bottom.shape, np.nan), where=bottom > 0)
    return found
