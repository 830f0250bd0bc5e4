"""The score of a task and the metrics of a run: marks, IH and DH ratios, IFS, fluency, flexibility (Sec. 3.2).

Every interval is over tasks, since the answers to one task are alike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeVar

import numpy as np
import scipy

from lotbench.benchmarks.hicbench import ratings, similarity
from lotbench.benchmarks.hicbench.ratings import MARKS, Classes, Ratings, Rule, read_answered
from lotbench.benchmarks.hicbench.settings import Settings, TaskEpisode
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.intervals import (
    Ends,
    Floats,
    Method,
    Statistic,
    bounded,
    divided,
    estimated,
    finite,
    ratio,
    studentised,
)
from lotbench.metrics.primary_metric import PrimaryMetric, Weighted, by_sample, missing, of_sums
from lotbench.types import JSON, Metric, Score, Trace

NO_ANSWERS = "no answer was judged"
Ratio = TypeVar("Ratio", float, Floats)
MEASURES = (*MARKS, "mean of the three", "IH", "DH")
"""The measures in the tables by scientific field (Fig. 3 and 5)."""


def grade(episode: TaskEpisode) -> Score:
    """Return the score of one episode: its IFS, and as parts the ratios of IH and DH, mean marks and counts.

    The value is None, with the reason, if the episode did not end as scored.
    """
    state, settings = episode.state, episode.settings
    if state["outcome"] != "scored":
        return Score(None, why=state["why"])
    trace = Trace(
        episode.sample.id, episode.repeat, "", "scored", Score(None), tuple(state["steps"]), None, {}
    )
    rated = ratings.ratings([trace])
    ih, dh = shares(rated, settings.panel_rule, settings.classes)
    marks: dict[str, JSON] = {name: finite(mean_mark(rated, at)) for at, name in enumerate(MARKS)}
    over_length = sum(answer.over_length for answer in read_answered(state["steps"]))
    parts: dict[str, JSON] = {
        "field": episode.sample.field,
        "answers": len(rated.texts),
        "over_length": over_length,
    }
    return Score(ifs(ih, dh, settings.w1), parts={**parts, "ih_ratio": ih, "dh_ratio": dh, **marks})


def ifs(ih: Ratio, dh: Ratio, w1: float) -> Ratio:
    """Return IFS = w1 IH + (1 - w1) (1 - DH - IH) (Eq. 3), where IH and DH are ratios of all answers."""
    return w1 * ih + (1 - w1) * (1 - dh - ih)


def extremes(w1: float, classes: Classes) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the ratios of IH and DH at which IFS is lowest, and those at which it is highest.

    IFS is linear in these ratios, so each extreme has all answers in one class: neither, IH, or DH. If the classes overlap,
    all answers may also be IH and DH at once.
    """
    corners = [(0, 0), (1, 0), (0, 1), *([(1, 1)] if classes == "overlapping" else [])]
    ordered = sorted(corners, key=lambda corner: float(ifs(corner[0], corner[1], w1)))
    return ordered[0], ordered[-1]


def ends(w1: float, classes: Classes) -> Ends:
    """Return the lowest and the highest possible IFS."""
    lowest, highest = extremes(w1, classes)
    return float(ifs(*lowest, w1)), float(ifs(*highest, w1))


def shares(rated: Ratings, rule: Rule, classes: Classes) -> tuple[float, float]:
    """Return the ratio of IH and the ratio of DH among all answers (Eq. 1, 2); NaN without a verdict."""
    sums = ratings.counts(rated, rule, classes).sum(axis=0)
    return float(_share(sums, 1)), float(_share(sums, 2))


def mean_mark(rated: Ratings, index: int) -> float:
    """Return the mean of the mark MARKS[index] over each judge's answers, then over the judges; NaN without a verdict."""
    return float(ratings.mean(ratings.mean(rated.marks[..., index], axis=0)))


def task_originality(rated: Ratings) -> Floats:
    """Return the mean originality of the answers to each of T tasks, [T]; NaN for a task without a verdict."""
    values = ratings.mean(rated.marks[..., 0], axis=1)
    there = ~np.isnan(values)
    sums = ratings.by_task(np.stack([there, np.nan_to_num(values)], axis=-1).astype(float), rated)
    return divided(sums[..., 1], sums[..., 0])


def task_shares(rated: Ratings, rule: Rule, classes: Classes) -> Mapping[str, float]:
    """Return the ratio of IH of each task, by the task's id; tasks without a verdict are left out."""
    ratios = _share(ratings.by_task(ratings.counts(rated, rule, classes), rated), 1).tolist()
    return {task: ratio for task, ratio in zip(rated.tasks, ratios, strict=True) if not math.isnan(ratio)}


def metrics(traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING) -> dict[str, Metric]:
    """Return the metrics of a run by name; their `n` is the number of tasks, `observations` that of readable answers."""
    rated, w1 = ratings.ratings(traces), settings.w1
    measures = by_measure(rated, settings)
    by_name = {name: measures[name] for name in MARKS} | {
        "ih_ratio": measures["IH"],
        "dh_ratio": measures["DH"],
        "ifs": _balance(_table(rated, settings), settings, len(rated.texts)),
        "fluency": fluency(rated, evidence, settings.encoder),
        "flexibility": flexibility(rated, settings.flexibility == "less_sampling"),
    }
    neutral = {"ih_ratio": 0.0, "dh_ratio": 0.0, "ifs": 1 - w1, "fluency": 1.0}
    return {
        name: replace(metric, baselines={"one neutral answer, repeated": neutral.get(name)})
        for name, metric in by_name.items()
    }


def by_measure(rated: Ratings, settings: Settings) -> Mapping[str, Metric]:
    """Return each of MEASURES over these answers, with its interval over tasks.

    The mean of the three marks has no interval.
    """
    table, n = _table(rated, settings), len(rated.texts)
    marks = {name: _marks(rated, at) for at, name in enumerate(MARKS)}
    means = [mark.value for mark in marks.values() if mark.value is not None]
    three = (
        Metric(float(np.mean(means)), n=marks["value"].n) if len(means) == 3 else Metric(None, why=NO_ANSWERS)
    )
    return {
        **marks,
        "mean of the three": three,
        "IH": _estimate(table, lambda sums: _share(sums, 1), n),
        "DH": _estimate(table, lambda sums: _share(sums, 2), n, "lower"),
    }


def by_field(rated: Ratings, settings: Settings) -> dict[str, Mapping[str, Metric]]:
    """Return each of MEASURES for each scientific field, by field and measure."""
    of = np.array([str(rated.episodes[episode].score.parts.get("field") or "") for episode in rated.episode])
    fields = sorted(set(of.tolist()) - {""})
    return {field: by_measure(ratings.select_answers(rated, of == field), settings) for field in fields}


def primary_metric(traces: Sequence[Trace], settings: Settings) -> PrimaryMetric:
    """Return IFS as the primary metric, with one record of counts for each task (`_stacked` says which).

    In a task with a verdict, only the answers that could not be read are missing. In a task without one, all answers are
    missing, and all counts are 0.
    """
    records: dict[str, Floats] = {}
    shares: list[float] = []
    tasks_read = []
    for name, episodes in by_sample(traces):
        rated, expected = ratings.ratings(episodes), settings.answers * len(episodes)
        tasks_read.append((name, _table(rated, settings), len(rated.texts), expected))
    judges = max((table.shape[1] for _, table, *_ in tasks_read), default=0)
    for name, table, judged, expected in tasks_read:
        counted = table[0] if table.any() else np.zeros((judges, 3))
        lacking = expected - judged if table.any() else expected
        shares.append(lacking / expected)
        records[name] = np.pad(counted, ((0, 0), (0, 1)), constant_values=lacking)

    def weighted(tasks: Sequence[Floats]) -> Weighted:
        return of_sums(_stacked(tasks), lambda sums: balance(sums, settings.w1))

    def measure(tasks: Sequence[Floats]) -> Metric:
        return _balance(_stacked(tasks)[..., :3], settings, 0)

    lowest, highest = extremes(settings.w1, settings.classes)
    return PrimaryMetric(
        "ifs",
        records,
        measure,
        weighted,
        missing(shares),
        ends=ends(settings.w1, settings.classes),
        lacks=["only one judge sits"] if settings.judges == 1 else [],
        played=len(shares),
        least=lambda tasks, _: [_filled(record, (1, *lowest, -1)) for record in tasks],
        most=lambda tasks: [_filled(record, (1, *highest, -1)) for record in tasks],
    )


def _filled(record: Floats, verdict: Sequence[float]) -> Floats:
    """Return a task's record [R, 4] (see `_stacked`) with `verdict` added for each missing answer.

    `verdict` is a row of four numbers like those of the record.
    """
    return record + record[:, 3:] * np.array(verdict) if record[:, 3].any() else record


def _stacked(tasks: Sequence[Floats]) -> Floats:
    """Return the records of T tasks and R judges as one array, [T, R, 4].

    The first three numbers are the counts of `_table`, the fourth is the number of missing answers. A judge without
    verdicts on a task has four zeros.
    """
    judges = max((len(table) for table in tasks), default=0)
    stack = np.zeros((len(tasks), judges, 4))
    for place, table in enumerate(tasks):
        stack[place, : len(table)] = table
    return stack


def _table(rated: Ratings, settings: Settings) -> Floats:
    """Return the sums of `ratings.counts` over the answers to each of T tasks, [T, R, 3]."""
    return ratings.by_task(ratings.counts(rated, settings.panel_rule, settings.classes), rated)


def _balance(table: Floats, settings: Settings, n: int) -> Metric:
    """Return the IFS of n answers to T tasks, with its interval, from the table [T, R, 3] of `_table`."""
    span = ends(settings.w1, settings.classes)
    return _estimate(table, lambda sums: balance(sums, settings.w1), n, ends=span)


def balance(sums: Floats, w1: float) -> Floats:
    """Return IFS (Eq. 3), [...], from counts [..., R, 3] that are summed over answers; see `ratings.counts`."""
    return np.asarray(ifs(_share(sums, 1), _share(sums, 2), w1))


def fluency(rated: Ratings, evidence: Evidence, encoder: str) -> Metric:
    """Return the mean cosine between the answers of one episode, averaged over tasks; lower is more diverse.

    Its value is None if no vectors of the answers by this encoder are in `evidence`, or if no episode has two answers.
    """
    vectors = similarity.matrix(rated.texts, evidence.vectors)
    if vectors is None or encoder != evidence.encoder:
        why = NO_ANSWERS if not rated.texts else evidence.why or f"the answers are not embedded by {encoder}"
        return Metric(None, better="lower", why=why, instrument=encoder, observations=len(rated.texts))
    alike = similarity.within(vectors, rated.episode, len(rated.episodes))
    place = {name: index for index, name in enumerate(rated.tasks)}
    table = np.zeros((len(rated.tasks), 2))
    for trace, value in zip(rated.episodes, alike, strict=True):
        if not np.isnan(value):
            table[place[trace.sample]] += (value, 1)
    # Each task counts once, however many episodes it has.
    table[:, 0], table[:, 1] = np.nan_to_num(ratio(table)), table[:, 1] > 0
    metric = _estimate(table[table[:, 1] > 0], ratio, len(rated.texts), "lower", studentised, (-1.0, 1.0))
    alone = "no task has two answers" if metric.value is None else None
    return replace(metric, instrument=encoder, why=alone)


MOST_VARIED = 4.0
"""The largest possible variance of marks from 1 to 5."""


def flexibility(rated: Ratings, less: bool = True) -> Metric:
    """Return the variance over tasks of the mean originality of their answers; lower is steadier.

    If `less` is true, it is the unbiased variance minus `sampling_part`. If false, it is the paper's population variance,
    which exceeds 0 even if all tasks are alike. The interval is the chi-square interval for the variance of normal means,
    with the same part subtracted if `less` is true (Tukey 1951).
    """
    means = task_originality(rated)
    values, n = means[~np.isnan(means)], len(rated.texts)
    if not len(values):
        return Metric(None, better="lower", why=NO_ANSWERS, observations=n)
    added, free = (sampling_part(rated) or 0.0) if less else 0.0, len(values) - 1
    squares = float(((values - values.mean()) ** 2).sum())
    value = max(squares / (max(free, 1) if less else len(values)) - added, 0.0)
    if not squares:
        return Metric(value, n=len(values), better="lower", observations=n)
    low, high = np.clip(
        squares / scipy.special.chdtri(free, np.array([0.025, 0.975])) - added, 0.0, MOST_VARIED
    )
    return Metric(value, float(low), float(high), len(values), "lower", observations=n)


def sampling_part(rated: Ratings) -> float | None:
    """Return the part of the variance over tasks that sampling few answers adds.

    For each task, the unbiased variance of its answers is divided by their number; the part is the mean over tasks. Tasks
    with fewer than two rated answers are left out. None if no task is left.
    """
    values = ratings.mean(rated.marks[..., 0], axis=1)
    parts = [
        np.var(own, ddof=1) / len(own)
        for task in range(len(rated.tasks))
        if len(own := values[(rated.task == task) & ~np.isnan(values)]) > 1
    ]
    return float(np.mean(parts)) if parts else None


def answers(trace: Trace, settings: Settings) -> list[str]:
    """Return the readable answers of an episode; an empty list if it did not end as scored."""
    if trace.outcome != "scored":
        return []
    return [answer.text for answer in read_answered(trace.steps) if answer.status == "ok"]


def _marks(rated: Ratings, index: int) -> Metric:
    there = ~np.isnan(rated.marks[..., index])
    values = np.stack([there, np.nan_to_num(rated.marks[..., index])], axis=-1).astype(float)
    return _estimate(
        ratings.by_task(values, rated),
        lambda sums: ratings.mean(divided(sums[..., 1], sums[..., 0])),
        len(rated.texts),
        interval=studentised,
        ends=(1.0, 5.0),
    )


def _estimate(
    table: Floats,
    statistic: Statistic,
    n: int,
    better: Literal["higher", "lower"] = "higher",
    interval: Method = bounded,
    ends: Ends = (0.0, 1.0),
) -> Metric:
    """Return a statistic of sums over tasks, with its interval.

    Args:
        table: [T, ...] one row of sums for each of T tasks; rows of zeros alone are left out.
        statistic: Maps rows, or sums of rows, to values.
        n: The number of answers.
        better: Whether higher or lower values are better.
        interval: The function for the interval over tasks.
        ends: The smallest and largest possible value.
    """
    rows = table[table.any(axis=tuple(range(1, table.ndim)))]
    metric = estimated(rows, statistic, ends, NO_ANSWERS, interval=interval, observations=n)
    return replace(metric, better=better)


def _share(sums: Floats, index: int) -> Floats:
    """Return the share of readable verdicts with class `index`, [...], from sums [..., R, 3] of `ratings.counts`.

    It is the mean of the R judges' shares.
    """
    return ratings.mean(divided(sums[..., index], sums[..., 0]))
