"""IH, DH and IFS put right by people's labels: the judges' classes of all answers, moved by what people found of some.

An error of one verdict in ten on a class that one answer in five has moves its ratio by more than its interval. Where
people labelled answers both classes are known, so the judges' ratio over all answers is moved by the difference there:
the regression estimator of survey sampling (Cochran 1977, Sec. 7.3), in which verdicts that say nothing of the labels
count for nothing. It holds where the labelled answers are a random draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from lotbench.benchmarks.hicbench.ratings import Floats, Ratings, by_task, classify, counts, over, together
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.metrics.intervals import bounded
from lotbench.types import Metric

LEAST = 2
"""Labelled answers that a correction takes."""


def by_people(
    rated: Ratings, people: Floats, settings: Settings, ends: tuple[float, float]
) -> dict[str, Metric]:
    """The corrected metrics by name; n counts tasks with a labelled answer, observations such answers.

    Args:
        rated: The judges' ratings of A answers.
        people: [A, P, 4]: what each of P people said of each answer, marks and hallucination; NaN where nothing.
        settings: Of the run.
        ends: The least and the most that IFS can be.
    """
    values = _values(rated, people, settings)
    table, w1 = by_task(values, rated), settings.w1

    def balance(sums: Floats) -> Floats:
        ih, dh = ratio(sums, 0), ratio(sums, 1)
        return np.asarray(w1 * ih + (1 - w1) * (1 - dh - ih))

    return {
        "ih_ratio_corrected": _metric(table, partial(ratio, at=0), (0.0, 1.0)),
        "dh_ratio_corrected": _metric(table, partial(ratio, at=1), (0.0, 1.0), "lower"),
        "ifs_corrected": _metric(table, balance, ends),
    }


def ratio(sums: Floats, at: int) -> Floats:
    """The ratio of IH (at 0) or DH (at 1) of sums [..., 12] as `_values` has them; NaN without a labelled answer."""
    judged, labelled = sums[..., 0], sums[..., 3]
    said, true, both, squares = (over(sums[..., start + at], labelled) for start in (6, 4, 8, 10))
    spread = squares - said**2
    slope = np.clip(
        np.where(spread > 1e-12, over(both - true * said, np.maximum(spread, 1e-12)), 0.0), 0.0, 1.0
    )
    return np.asarray(true + slope * (over(sums[..., 1 + at], judged) - said))


def _values(rated: Ratings, people: Floats, settings: Settings) -> Floats:
    """What each answer adds, [A, 12].

    Whether it has a verdict, and the judges' IH and DH; whether it has a label too, then people's IH and DH, the
    judges', the products of both, and the squares of the judges'.
    """
    seen = counts(rated, settings.panel_rule, settings.classes).sum(axis=1)
    judged = seen[:, :1] > 0
    said = np.where(judged, over(seen[:, 1:3], np.maximum(seen[:, :1], 1)), 0.0)
    true = np.concatenate(classify(*together(people[..., :3], people[..., 3]), settings.classes), axis=1)
    labelled = judged & ~np.isnan(people[..., 3]).all(axis=1, keepdims=True)
    parts = (true, said, true * said, said**2)
    return np.concatenate([judged, said, labelled, *(labelled * part for part in parts)], axis=1).astype(
        float
    )


def _metric(
    table: Floats,
    statistic: Callable[[Floats], Floats],
    ends: tuple[float, float],
    better: Literal["higher", "lower"] = "higher",
) -> Metric:
    """A statistic of sums over tasks, with its interval."""
    sums = table.sum(axis=0)
    answers, tasks = int(sums[3]), int((table[:, 3] > 0).sum())
    if answers < LEAST:
        why = f"{answers} labelled answers have a verdict of the judges; a correction takes {LEAST}"
        return Metric(None, n=tasks, better=better, why=why, observations=answers)
    value = float(np.clip(statistic(sums), *ends))
    low, high = bounded(table, statistic, ends)
    return Metric(value, low, high, n=tasks, better=better, observations=answers)
