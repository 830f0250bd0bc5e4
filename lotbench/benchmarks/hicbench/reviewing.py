"""Human review: answers for people to label, and how far the judges' classes IH and DH agree with people's (App. C).

People see the question and the answer, and nothing of the verdicts. The same thresholds turn the marks of people and of
judges into classes; several judges count as one (`ratings.together`).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from lotbench.benchmarks.hicbench import ratings
from lotbench.benchmarks.hicbench.ratings import MARKS, Booleans, Ratings, classify, together
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.harness.evidence import NOTHING, Evidence
from lotbench.metrics.agreement import rate
from lotbench.metrics.intervals import Floats
from lotbench.metrics.people_agreement import ceiling
from lotbench.report.sections import Cell, Section, Table
from lotbench.types import JSON, FrozenModel, Trace

Mark = Annotated[int, Field(strict=True, ge=1, le=5)]


class Span(FrozenModel):
    """A passage of an answer that a person marked, with their note."""

    text: str = Field(min_length=1)
    note: str


class Label(FrozenModel):
    """A row of the review that one person filled in.

    `row` is the name of the answer (see `names`), and `who` is the name of the person.
    """

    row: str
    who: str = ""
    field: str
    question: str
    answer: str
    originality: Mark
    feasibility: Mark
    value: Mark
    hallucination: bool = Field(strict=True)
    spans: tuple[Span, ...] | None = None

    @model_validator(mode="after")
    def _spans_are_there(self) -> Self:
        if missing := [span.text for span in self.spans or () if span.text not in self.answer]:
            raise ValueError(f"spans: the answer does not say {missing[0]!r}")
        return self


def rows(
    traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING
) -> list[Mapping[str, JSON]]:
    """Return a row for each readable answer of the scored episodes; the fields that people fill in are None."""
    rated = ratings.ratings(traces)
    empty = dict.fromkeys((*MARKS, "hallucination", "spans"))
    return [
        {
            "row": row,
            "field": evidence.samples[task].field,
            "question": evidence.samples[task].question,
            "answer": text,
            **empty,
        }
        for row, task, text in zip(names(rated), _tasks(rated), rated.texts, strict=True)
    ]


def names(rated: Ratings) -> list[str]:
    """Return the name of each answer in a review: `task/repeat/number`, numbers from 1."""
    return [
        f"{rated.episodes[episode].sample}/{rated.episodes[episode].repeat}/{draw + 1}"
        for episode, draw in zip(rated.episode, rated.draw, strict=True)
    ]


def section(rated: Ratings, settings: Settings, labels: Sequence[Mapping[str, Any]]) -> Section:
    """Return the section on precision and recall of the judges' IH and DH, with people's classes as the truth (Table 8).

    Several people who labelled one answer count as one person: their marks are averaged, and the answer hallucinates if at
    least half of them say so.
    """
    place = {name: index for index, name in enumerate(names(rated))}
    usable = [label for label in labels if label["row"] in place]
    indexes = np.array(list(dict.fromkeys(place[label["row"]] for label in usable)), dtype=np.intp)
    table, who = _marks_table(usable, [names(rated)[index] for index in indexes])
    people = together(table[..., :3], table[..., 3])
    judges = together(rated.marks[indexes], rated.hallucinated[indexes])
    read = ~np.isnan(judges[1][:, 0])
    people_classes, judge_classes = classify(*people, settings.classes), classify(*judges, settings.classes)
    tasks = np.array(_tasks(rated), dtype=object)[indexes]
    rows: list[tuple[Cell, ...]] = []
    for name, true, predicted in zip(("IH", "DH"), people_classes, judge_classes, strict=True):
        rows += _agreement(name, true[read, 0], predicted[read, 0], tasks[read])
    notes = (
        f"{len(indexes)} of {len(rated.texts)} answers are labelled, {int(read.sum())} of them with a verdict "
        "of the judges; the class of an answer is that of the judges' mean marks. Intervals are Wilson's at "
        "the size that the answers are worth once those to one task are counted as alike.",
        f"{sum(len(label.get('spans') or ()) for label in usable)} spans are marked.",
    )
    means = Table(
        ("evaluator", *MARKS, "IH", "DH"),
        (_means("people", *people, people_classes), _means("judges", *judges, judge_classes)),
    )
    columns = ("class", "measure", "value", "low", "high", "hits", "of")
    ceilings = _ceiling(table, judge_classes, read, tasks, settings) if len(who) > 1 else ()
    return Section("Human review", notes, (Table(columns, tuple(rows)), means, *ceilings), brief=True)


def _marks_table(labels: Sequence[Mapping[str, Any]], answers: Sequence[str]) -> tuple[Floats, list[str]]:
    """Return the labels as an array [answers, people, 4], and the people's names.

    The last axis is the three marks and the hallucination (0 or 1); NaN where a label is missing.
    """
    who = sorted({str(label.get("who") or "") for label in labels})
    table = np.full((len(answers), len(who), 4), np.nan)
    place = {name: index for index, name in enumerate(answers)}
    for label in labels:
        marks = [label[name] for name in (*MARKS, "hallucination")]
        table[place[label["row"]], who.index(str(label.get("who") or ""))] = marks
    return table, who


def _ceiling(
    table: Floats, judge_classes: tuple[Booleans, Booleans], read: Booleans, tasks: Any, settings: Settings
) -> tuple[Table, ...]:
    """Return a table of kappa between two people, and between the judges and one person, for IH and for DH.

    Return an empty tuple unless two people labelled the same answer.

    Args:
        table: [answers, people, 4] the labels; see `_marks_table`.
        judge_classes: Two arrays [answers, 1]: whether the judges, taken as one, put an answer into IH, and into DH.
        read: [answers] whether a verdict of the judges could be read.
        tasks: [answers] the task of each answer.
        settings: The settings of the run.
    """
    classes = classify(table[..., :3], table[..., 3], settings.classes)
    there = ~np.isnan(table[..., 3])
    rows: list[tuple[Cell, ...]] = []
    for name, labelled, judged in zip(("IH", "DH"), classes, judge_classes, strict=True):
        labels = {
            row: {str(who): bool(labelled[row, who]) for who in np.flatnonzero(there[row])}
            for row in range(len(table))
        }
        verdicts = {row: bool(judged[row, 0]) for row in np.flatnonzero(read).tolist()}
        rates = ceiling(labels, verdicts, {row: str(task) for row, task in enumerate(tasks)})
        for pair, rate_ in zip(
            ("one person and another", "the judges and one person"), rates or (), strict=False
        ):
            rows.append((name, pair, rate_.hits, rate_.n, rate_.value, rate_.low, rate_.high))
    columns = ("class", "who", "agree", "of", "kappa", "low", "high")
    title = "People among themselves: the ceiling of what judges can agree with them"
    return (Table(columns, tuple(rows), title),) if rows else ()


def _agreement(name: str, true: Booleans, predicted: Booleans, tasks: Any) -> list[tuple[Cell, ...]]:
    """Return the table rows on the precision and the recall of the judges for one class.

    Args:
        name: The class, IH or DH.
        true: [answers] whether people put the answer into the class.
        predicted: [answers] whether the judges do.
        tasks: [answers] the task of each answer.
    """
    rows: list[tuple[Cell, ...]] = []
    for measure, of, hit in (("precision", predicted, true), ("recall", true, predicted)):
        estimate = rate([(bool(hit[i]), str(tasks[i])) for i in np.flatnonzero(of)])
        rows.append((name, measure, estimate.value, estimate.low, estimate.high, estimate.hits, estimate.n))
    return rows


def _means(
    name: str, marks: Floats, hallucinated: Floats, classes: tuple[Booleans, Booleans]
) -> tuple[Cell, ...]:
    read = ~np.isnan(hallucinated)
    if not read.any():
        return (name, *[None] * 5)
    values = [float(ratings.mean(marks[:, 0, at])) for at in range(3)]
    return (name, *values, *(float(hits[read].mean()) for hits in classes))


def _tasks(rated: Ratings) -> list[str]:
    return [rated.tasks[task] for task in rated.task]
