"""What the report of a HIC-Bench run says beside its metrics: both readings of every class, fields, likeness.

Every share stands with the numbers it was made of, and a note under each table works its definition out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from lotbench.benchmarks.hicbench import reviewing, similarity
from lotbench.benchmarks.hicbench.keywords import precision
from lotbench.benchmarks.hicbench.ratings import (
    MARKS,
    READINGS,
    RULES,
    Booleans,
    Ratings,
    classify,
    ratings,
    together,
)
from lotbench.benchmarks.hicbench.score import (
    fluency,
    ifs,
    mean_mark,
    overlap,
    rescaled,
    sampling_part,
    shares,
    task_originality,
)
from lotbench.benchmarks.hicbench.settings import Settings
from lotbench.evidence import NOTHING, Evidence
from lotbench.metrics.agreement import kappa
from lotbench.section import Plot, Reading, Section, Table
from lotbench.types import Trace

Cell = str | float | int | None

VARIANTS = {"IIFS": 0.9, "RIFS": 0.1}
"""w1 of the variants that weigh invention or reliability higher."""
SHOWN = 3
"""Answers of each class that are shown."""


def sections(
    traces: Sequence[Trace], settings: Settings, evidence: Evidence = NOTHING
) -> tuple[Section, ...]:
    """The sections of a report; those that have nothing to say are left out."""
    rated = ratings(traces)
    made = [_answers(traces, settings)]
    if rated.texts:
        made += [
            _judges(rated, settings),
            _readings(rated, settings),
            _balance(rated, settings),
            _spread(rated, evidence),
            _likeness(rated, settings, evidence),
            _fields(rated, settings, evidence),
        ]
    if rated.texts and settings.dhp:
        made.append(_orders(rated, settings, evidence))
    if rated.texts and evidence.labels:
        made.append(reviewing.section(rated, settings, evidence.labels))
    if rated.texts:
        made.append(_shown(rated, settings, evidence))
    return tuple(made)


def _answers(traces: Sequence[Trace], settings: Settings) -> Section:
    """What became of the answers."""
    step = "answer" if settings.one_call else "respond"
    values: list[Any] = [one["value"] for trace in traces for one in trace.steps if one["step"] == step]
    seen = Counter(value["status"] for value in values)
    rows: list[tuple[Cell, ...]] = [
        (status, seen[status], _over(seen[status], len(values)))
        for status in ("ok", "refused", "truncated", "unparsed")
    ]
    long = sum(bool(value["over_length"]) for value in values)
    rows.append(("of the ok: over length", long, _over(long, seen["ok"])))
    note = (
        f"Over length: more than {settings.answer_tokens} words and marks, of which there are hardly more than tokens; "
        f"with answer_cap=cut, cut off by the server. answer_cap is {settings.answer_cap}."
    )
    return Section("Replies", (note,), (Table(("answers", "count", "share"), tuple(rows)),))


def _judges(rated: Ratings, settings: Settings) -> Section:
    """Each judge alone, and how far two of them agree."""
    rows: list[tuple[Cell, ...]] = []
    for seat in range(rated.judges):
        alone = replace(
            rated,
            marks=rated.marks[:, [seat]],
            hallucinated=rated.hallucinated[:, [seat]],
        )
        read = int((~np.isnan(alone.hallucinated)).sum())
        marks = [mean_mark(alone, at) for at in range(3)]
        ih, dh = shares(alone, "mean_of_rates", settings.classes)
        rows.append((seat + 1, read, len(rated.texts) - read, *map(_finite, (*marks, ih, dh))))
    tables = [Table(("judge", "verdicts", "unread", *MARKS, "IH", "DH"), tuple(rows))]
    if rated.judges > 1:
        columns = ("judges", "class", "agree", "of", "kappa", "low", "high")
        tables.append(Table(columns, tuple(_pairs(rated, settings))))
    note = "An unread verdict was asked for twice and is a gap: the answer counts with its other judges."
    notes = (note,) if rated.judges > 1 else (note, "Only one judge sat.")
    return Section("Judges", notes, tuple(tables))


def _pairs(rated: Ratings, settings: Settings) -> Iterator[tuple[Cell, ...]]:
    """Cohen's kappa of every two judges on IH and on DH."""
    both = classify(rated.marks, rated.hallucinated, settings.classes)
    for one, other in combinations(range(rated.judges), 2):
        read = ~np.isnan(rated.hallucinated[:, [one, other]]).any(axis=1)
        tasks = [rated.tasks[task] for task in rated.task[read]]
        for name, of in zip(("IH", "DH"), both, strict=True):
            found = kappa([bool(hit) for hit in of[read, one]], [bool(hit) for hit in of[read, other]], tasks)
            pair = f"{one + 1} and {other + 1}"
            yield pair, name, found.hits, found.n, found.value, found.low, found.high


def _readings(rated: Ratings, settings: Settings) -> Section:
    """IH, DH and IFS by every panel rule and both readings of the classes, and how far the classes overlap."""
    rows: list[tuple[Cell, ...]] = []
    for rule in RULES:
        for classes in READINGS:
            ih, dh = shares(rated, rule, classes)
            both = overlap(rated, rule)
            mark = "this run" if (rule, classes) == (settings.panel_rule, settings.classes) else ""
            neutral = 1 - ih - dh + (both if classes == "overlapping" else 0.0)
            values = (ih, dh, both, neutral, ifs(ih, dh, settings.w1))
            rows.append((rule, classes, *map(_finite, values), mark))
    notes = (
        "IH: originality 4 or more, feasibility 3 or more, value 4 or more. DH: a hallucination. Exclusive: a "
        "hallucinated answer is a DH and no IH; overlapping: it can be both, and overlap is the share of "
        "answers that are. IFS takes 1 - DH - IH as the neutral share in either reading (Eq. 3).",
        "mean_of_rates: each judge classifies, ratios are averaged. mean_then_threshold: marks are averaged, "
        "and half of the judges make a hallucination. majority: a class needs more than half of the judges, "
        "which is both of two.",
    )
    columns = ("panel rule", "classes", "IH", "DH", "overlap", "neutral", "IFS", "")
    return Section("Readings of IH and DH", notes, (Table(columns, tuple(rows)),))


def _balance(rated: Ratings, settings: Settings) -> Section:
    """IFS with other weights, between its least and its most, and as a curve over w1."""
    ih, dh = shares(rated, settings.panel_rule, settings.classes)
    if np.isnan(ih):
        return Section("IFS by weight", ("No verdict could be read.",))
    named = {"IFS": settings.w1, **VARIANTS}
    rows = tuple(
        (name, w1, 1 - w1, ifs(ih, dh, w1), rescaled(ifs(ih, dh, w1), w1, settings.classes))
        for name, w1 in named.items()
    )
    curve = tuple((step / 10, ifs(ih, dh, step / 10)) for step in range(11))
    notes = (
        f"IFS = w1 IH + w2 (1 - DH - IH); here IH = {ih:.4g} and DH = {dh:.4g}. Rescaled: 0 is the least and "
        "1 the most that the weights can give.",
        f"IFS rises with w1 where IH is more than the neutral share, and falls where it is less: by "
        f"{2 * ih + dh - 1:.4g} for each unit of w1.",
    )
    return Section(
        "IFS by weight",
        notes,
        (
            Table(("variant", "w1", "w2", "value", "rescaled"), rows),
            Table(("w1", "IFS"), curve, "Sensitivity to w1"),
        ),
        (Plot("line", "w1", "IFS", {"IFS": curve}, "IFS by the weight of IH"),),
    )


def _spread(rated: Ratings, evidence: Evidence) -> Section:
    """Flexibility with its sampling part, and kwPrec."""
    found = task_originality(rated)
    total = float(np.var(found[~np.isnan(found)])) if (~np.isnan(found)).any() else None
    noise = sampling_part(rated)
    less = None if total is None or noise is None else total - noise
    kept = _keywords(rated, evidence)
    rows: tuple[tuple[Cell, ...], ...] = (
        ("flexibility: variance over tasks of mean originality", total),
        ("of it, sampling of answers", noise),
        ("flexibility less sampling", less),
        ("kwPrec", float(np.mean(kept)) if kept else None),
    )
    notes = (
        "Sampling: the mean over tasks of the variance within a task divided by its answers, which would be "
        "there if all tasks were alike. A difference below 0 says that nothing more than sampling is seen.",
        "kwPrec: the share of an answer's keywords (stems of words that are no function words) that stand in "
        f"the knowledge text of its task; the mean over {len(kept)} answers. It is high for answers that "
        "keep to the text, and says nothing of whether they are true.",
    )
    return Section("Flexibility and keywords", notes, (Table(("measure", "value"), rows),))


def _keywords(rated: Ratings, evidence: Evidence) -> list[float]:
    tasks = (evidence.samples.get(rated.tasks[task]) for task in rated.task)
    found = (precision(text, task.knowledge) for text, task in zip(rated.texts, tasks, strict=True) if task)
    return [value for value in found if value is not None]


def _likeness(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """How alike all answers, IH and DH are, over pairs of different tasks and over all pairs (Table 9)."""
    title, vectors = "Similarity of answers", similarity.matrix(rated.texts, evidence.vectors)
    if vectors is None:
        return Section(title, (f"There is none: {evidence.why or 'the answers are not embedded'}.",))
    ih, dh = classes_of(rated, settings)
    rows = []
    for name, chosen in (("all", np.ones(len(vectors), dtype=bool)), ("IH", ih), ("DH", dh)):
        mine, tasks = vectors[chosen], rated.task[chosen]
        rows.append((name, int(chosen.sum()), similarity.across(mine, tasks), similarity.every(mine)))
    columns = ("answers", "count", "pairs of different tasks", "all pairs")
    notes = (
        f"Mean cosine of embeddings by {evidence.encoder}, each answer embedded once. The literal reading of "
        "the similarity among IH (or DH) takes all pairs, also those of answers to one task, which are alike "
        "because they answer one question; the third column leaves them out.",
        "The class of an answer is that of the judges' mean marks, exclusive or overlapping as set.",
    )
    return Section(title, notes, (Table(columns, tuple(rows)),))


def _fields(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """Every measure by field, as a table and as bars (Fig. 3 and 5)."""
    names = [_field(task, evidence) for task in rated.tasks]
    fields = sorted(set(names))
    by_answer = np.array([fields.index(names[task]) for task in rated.task])
    rows: list[tuple[Cell, ...]] = []
    for index, name in enumerate(fields):
        mine = part(rated, by_answer == index)
        marks = [mean_mark(mine, at) for at in range(3)]
        ih, dh = shares(mine, settings.panel_rule, settings.classes)
        values = (*marks, float(np.mean(marks)), ih, dh, ifs(ih, dh, settings.w1))
        rows.append((name, len(mine.texts), *map(_finite, values)))
    measures = (*MARKS, "mean of the three", "IH", "DH", "IFS")
    plots = tuple(
        Plot("bar", "field", measure, {measure: _bars(rows, at)}, f"{measure} by field", tuple(fields))
        for at, measure in enumerate(measures, 2)
    )
    return Section("Fields", (), (Table(("field", "answers", *measures), tuple(rows)),), plots)


def _bars(rows: Sequence[Sequence[Cell]], at: int) -> tuple[tuple[float, float], ...]:
    """A column of numbers as points, rows without one left out."""
    return tuple((float(x), row[at]) for x, row in enumerate(rows) if isinstance(row[at], float))  # type: ignore[misc]


def _orders(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """What came of each order of the tasks."""
    repeats = np.array([rated.walks[walk].repeat for walk in rated.walk])
    rows: list[tuple[Cell, ...]] = []
    for repeat in sorted(set(repeats.tolist())):
        mine = part(rated, repeats == repeat)
        ih, dh = shares(mine, settings.panel_rule, settings.classes)
        alike = fluency(mine, evidence).value
        rows.append((repeat, len(mine.texts), *map(_finite, (ih, dh, ifs(ih, dh, settings.w1))), alike))
    note = (
        "The examples that a prompt shows come of the tasks before it, so the result depends on the order; "
        "the intervals above do not contain that. A walk that failed leaves the examples as they were."
    )
    return Section(
        "Orders", (note,), (Table(("order", "answers", "IH", "DH", "IFS", "fluency"), tuple(rows)),)
    )


def _shown(rated: Ratings, settings: Settings, evidence: Evidence) -> Section:
    """The IH with the highest marks, and some DH, to be read."""
    ih, dh = classes_of(rated, settings)
    totals = together(rated.marks, rated.hallucinated)[0][:, 0].sum(axis=-1)
    best = sorted(np.flatnonzero(ih).tolist(), key=lambda at: (-totals[at], at))
    worst = sorted(np.flatnonzero(dh).tolist(), key=lambda at: (totals[at], at))
    names = reviewing.names(rated)

    def reading(kind: str, at: int) -> Reading:
        task, walk = rated.tasks[rated.task[at]], rated.walks[rated.walk[at]]
        sample = evidence.samples.get(task)
        asked = (("question", sample.question),) if sample else ()
        return Reading(f"{kind}: {names[at]}", (*asked, ("answer", rated.texts[at])), task, walk.repeat)

    chosen = (("IH", best[:SHOWN]), ("DH", worst[:SHOWN]))
    readings = tuple(reading(kind, at) for kind, places in chosen for at in places)
    return Section("Answers to read", (f"{int(ih.sum())} IH and {int(dh.sum())} DH.",), readings=readings)


def classes_of(rated: Ratings, settings: Settings) -> tuple[Booleans, Booleans]:
    """The class of each answer, by the judges' mean marks: IH [A] and DH [A]."""
    ih, dh = classify(*together(rated.marks, rated.hallucinated), settings.classes)
    return ih[:, 0], dh[:, 0]


def part(rated: Ratings, chosen: Booleans) -> Ratings:
    """Some of the answers, with the numbering of tasks and walks as it was."""
    return replace(
        rated,
        texts=tuple(text for text, kept in zip(rated.texts, chosen, strict=True) if kept),
        task=rated.task[chosen],
        walk=rated.walk[chosen],
        draw=rated.draw[chosen],
        marks=rated.marks[chosen],
        hallucinated=rated.hallucinated[chosen],
    )


def _field(task: str, evidence: Evidence) -> str:
    sample = evidence.samples.get(task)
    return "unknown" if sample is None else str(sample.field)


def _finite(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _over(part: int, whole: int) -> float | None:
    return part / whole if whole else None
