"""Answers with their judges' ratings as arrays, and their classes: intelligent and defective hallucinations (Sec. 3.2.2).

An intelligent hallucination (IH) has high marks. A defective one (DH) is an answer in which a judge sees a hallucination.

A verdict that could not be read is missing (NaN); every rate is over the verdicts that were read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics.intervals import Floats, divided
from lotbench.types import Trace

Booleans: TypeAlias = NDArray[np.bool_]
Rule: TypeAlias = Literal["mean_of_rates", "mean_then_threshold"]
Classes: TypeAlias = Literal["exclusive", "overlapping"]

MARKS = ("originality", "feasibility", "value")
LEAST = np.array([4.0, 3.0, 4.0])
"""The lowest marks of an IH, in the order of MARKS."""


class Rating(NamedTuple):
    """A judge's rating of an answer: three marks from 1 to 5, and a flag that is 1 for a hallucination, else 0."""

    originality: float
    feasibility: float
    value: float
    hallucination: float


UNREAD = Rating(np.nan, np.nan, np.nan, np.nan)


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer of an episode, with the judges' ratings.

    Attributes:
        number: The number of the answer, from 0.
        status: `ok`, or the reason why the answer cannot be judged.
        text: Empty unless the status is `ok`.
        over_length: Whether the answer is longer than the setting `answer_tokens`.
        ratings: The last rating by each judge, in the order of the judges; NaN where a verdict could not be read.
    """

    number: int
    status: str
    text: str
    over_length: bool
    ratings: tuple[Rating, ...]


@dataclass(frozen=True, slots=True)
class Ratings:
    """The A readable answers of a run's scored episodes, with the ratings by J judges.

    Attributes:
        tasks: The ids of the tasks of these episodes, sorted.
        texts: The texts of the answers, A of them.
        task: [A] index of each answer's task in `tasks`.
        episode: [A] index of each answer's episode in `episodes`.
        draw: [A] number of the answer within its episode, from 0.
        marks: [A, J, 3] marks 1 to 5, the last axis in the order of MARKS. NaN where a verdict could not be read.
        hallucinated: [A, J] 1 if the judge sees a hallucination, else 0. NaN where a verdict could not be read.
        episodes: The traces of the scored episodes.
    """

    tasks: tuple[str, ...]
    texts: tuple[str, ...]
    task: NDArray[np.intp]
    episode: NDArray[np.intp]
    draw: NDArray[np.intp]
    marks: Floats
    hallucinated: Floats
    episodes: tuple[Trace, ...] = field(repr=False)


def ratings(traces: Iterable[Trace]) -> Ratings:
    """Return the readable answers of all scored episodes, with their ratings."""
    episodes = tuple(trace for trace in traces if trace.outcome == "scored")
    tasks = sorted({trace.sample for trace in episodes})
    place = {name: index for index, name in enumerate(tasks)}
    rows = [
        (number, place[trace.sample], answer)
        for number, trace in enumerate(episodes)
        for answer in read_answered(trace.steps)
        if answer.status == "ok"
    ]
    judges = max((len(answer.ratings) for *_, answer in rows), default=0)
    table = np.full((len(rows), judges, 4), np.nan)
    for index, (*_, answer) in enumerate(rows):
        for judge, rating in enumerate(answer.ratings):
            table[index, judge] = rating
    return Ratings(
        tasks=tuple(tasks),
        texts=tuple(answer.text for *_, answer in rows),
        task=np.array([row[1] for row in rows], dtype=np.intp),
        episode=np.array([row[0] for row in rows], dtype=np.intp),
        draw=np.array([answer.number for *_, answer in rows], dtype=np.intp),
        marks=table[..., :3],
        hallucinated=table[..., 3],
        episodes=episodes,
    )


def read_answered(steps: Sequence[Mapping[str, Any]], role: str = "judge") -> list[Answered]:
    """Return the answers that the steps of an episode record, by number, with the last verdict of each judge of this role."""
    answers: dict[int, Mapping[str, Any]] = {}
    verdicts: dict[int, dict[int, Rating]] = {}
    for step in steps:
        value = step["value"]
        if step["step"] == "respond":
            answers[step["draw"]] = value
        elif step["role"] == role and "index" in value:
            rating = Rating(*(value[mark] for mark in Rating._fields)) if value["status"] == "ok" else UNREAD
            verdicts.setdefault(value["answer"], {})[value["index"]] = rating
    result = []
    for number, value in sorted(answers.items()):
        indexes = verdicts.get(number, {})
        rated = tuple(indexes.get(index, UNREAD) for index in range(max(indexes, default=-1) + 1))
        result.append(Answered(number, value["status"], value["answer"] or "", value["over_length"], rated))
    return result


def together(marks: Floats, hallucinated: Floats) -> tuple[Floats, Floats]:
    """Return the ratings by J judges as those of one judge.

    Args:
        marks: [A, J, 3] marks of A answers.
        hallucinated: [A, J] 0 or 1.

    Returns:
        The mean marks [A, 1, 3]; and [A, 1], 1 where at least half of the readable verdicts see a hallucination, else 0.
        NaN where no verdict could be read.
    """
    means, share = mean(marks, axis=1), mean(hallucinated, axis=1)
    seen = np.where(np.isnan(share), np.nan, (share >= 0.5).astype(float))
    return means[:, None, :], seen[:, None]


def classify(marks: Floats, hallucinated: Floats, classes: Classes) -> tuple[Booleans, Booleans]:
    """Return whether each answer is an IH, and whether it is a DH, by each judge: two arrays [A, J].

    A DH has a hallucination. In an IH each mark is at least the one in LEAST; if `classes` is `exclusive`, it also has no
    hallucination. An answer without a readable verdict is neither.

    Args:
        marks: [A, J, 3] marks of A answers by J judges.
        hallucinated: [A, J] 0 or 1.
        classes: Whether an answer can be IH and DH at once: `overlapping` or `exclusive`.
    """
    dh: Booleans = np.asarray(hallucinated == 1)
    # Comparisons with NaN are False, so a missing verdict has no class.
    ih: Booleans = np.asarray((marks >= LEAST).all(axis=-1) & ~np.isnan(hallucinated))
    return (ih & ~dh if classes == "exclusive" else ih), dh


def classes_of(rated: Ratings, classes: Classes) -> tuple[Booleans, Booleans]:
    """Return whether each answer is an IH [A] and whether it is a DH [A], with the judges taken as one (`together`)."""
    ih, dh = classify(*together(rated.marks, rated.hallucinated), classes)
    return ih[:, 0], dh[:, 0]


def select_answers(rated: Ratings, chosen: Booleans) -> Ratings:
    """Return the chosen answers alone; `tasks` and `episodes` stay whole, so that indices into them remain right.

    Args:
        rated: All answers, A of them.
        chosen: [A] whether an answer is chosen.
    """
    return replace(
        rated,
        texts=tuple(text for text, is_chosen in zip(rated.texts, chosen, strict=True) if is_chosen),
        task=rated.task[chosen],
        episode=rated.episode[chosen],
        draw=rated.draw[chosen],
        marks=rated.marks[chosen],
        hallucinated=rated.hallucinated[chosen],
    )


def counts(ratings: Ratings, rule: Rule, classes: Classes) -> Floats:
    """Return whether each answer has a readable verdict, is IH, and is DH: 0 or 1 as [A, R, 3].

    A is the number of answers. With the rule `mean_of_rates`, R is the number of judges. With `mean_then_threshold`, the
    judges count as one (`together`), so that R is 1.
    """
    marks, hallucinated = ratings.marks, ratings.hallucinated
    if rule == "mean_then_threshold":
        marks, hallucinated = together(marks, hallucinated)
    ih, dh = classify(marks, hallucinated, classes)
    return np.stack([~np.isnan(hallucinated), ih, dh], axis=-1).astype(float)


def by_task(values: Floats, ratings: Ratings) -> Floats:
    """Return the sums of values over the answers to each task: [A, ...] for A answers becomes [T, ...] for T tasks."""
    sums = np.zeros((len(ratings.tasks), *values.shape[1:]))
    np.add.at(sums, ratings.task, values)
    return sums


def mean(values: Floats, axis: int = -1) -> Floats:
    """Return the mean along an axis of the values that are not NaN; NaN where all are."""
    return divided(np.nansum(values, axis=axis), (~np.isnan(values)).sum(axis=axis))
