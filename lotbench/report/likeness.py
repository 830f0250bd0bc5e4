"""Do they all make the same joke? How alike the answers of models are, laid out; and those of one model alone.

A benchmark says what its candidates said, by sample; short answers are compared as a whole, longer ones by their words
too, and by their meaning where the run has embedded them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics import likeness
from lotbench.metrics.likeness import Answers, Likeness, Measure, words
from lotbench.report.report import interval
from lotbench.report.sections import Grid, Section, Table
from lotbench.types import JSON, Metric

TITLE = "Likeness of answers"
NAME = "likeness"
SHOWN = 15
"""Answers that are shown of those that models share, or that a model gives again."""
FEW_WORDS = 3
"""Words up to which an answer is compared as a whole alone."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A way in which answers are compared: what it is called, the ends of its scale, what it means."""

    name: str
    measure: Measure
    about: str
    ends: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Said:
    """What a run's candidate said to each sample, and the vectors that there are of it, by text."""

    answers: Answers = field(default_factory=dict)
    vectors: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    encoder: str = ""

    @property
    def texts(self) -> list[str]:
        """All answers."""
        return [text for texts in self.answers.values() for text in texts]


SAME = Measured("same", likeness.equal, "same: the two are one text")
WORDS = Measured(
    "words", likeness.overlap, "words: of the different words of the two, the share that both have"
)


def across(runs: Mapping[str, Said]) -> Section:
    """Return how alike the answers of several models are; a run without answers is left out."""
    spoke = {name: said for name, said in runs.items() if said.texts}
    answers = {name: said.answers for name, said in spoke.items()}
    if len(answers) < 2:
        return Section(TITLE, ("Needs 2 models with answers to the same samples.",), name=NAME)
    measures = _measures(list(spoke.values()))
    found = {one: likeness.alike(answers, one.measure, one.ends) for one in measures}
    grids = tuple(_grid(one, pairs, tuple(answers)) for one, pairs in found.items())
    rows = tuple(
        (each.one, each.another, measured.name, each.same.value, interval(each.same), each.other, each.same.n)
        for measured, pairs in found.items()
        for each in pairs
    )
    columns = ("model", "and", "measure", "same sample", "95 %", "other samples", "samples")
    tables = [Table(columns, rows)]
    if shared := likeness.common(answers):
        caption = f"Answers of more than one model: {len(shared)}{_cut(shared)}"
        tables.append(Table(("sample", "answer", "models", "of"), tuple(shared[:SHOWN]), caption))
    said = (
        *_summed_up(found),
        *_about(measures, list(spoke.values())),
        "A model beside itself: pairs of its own answers to a sample. Other samples: answers that have no sample in "
        "common, which is the likeness that means nothing. Intervals are over samples.",
    )
    numbers: dict[str, JSON] = {one.name: [_numbers(each) for each in pairs] for one, pairs in found.items()}
    return Section(TITLE, said, tuple(tables), grids=grids, name=NAME, numbers=numbers)


def alone(said: Said) -> Section:
    """Return how alike the answers of one model are: of one sample, and of samples that have nothing in common."""
    rows, numbers = [], {}
    measures = _measures([said])
    for one in measures:
        (own,) = likeness.alike({"": said.answers}, one.measure, one.ends)
        rows.append((one.name, own.same.value, interval(own.same), own.other, own.same.n))
        numbers[one.name] = {"same_sample": _told(own.same), "other_samples": own.other}
    tables = [Table(("measure", "same sample", "95 %", "other samples", "samples"), tuple(rows))]
    if again := likeness.stock(said.answers):
        caption = f"Answers to more than one sample: {len(again)}{_cut(again)}"
        tables.append(Table(("answer", "samples"), tuple(again[:SHOWN]), caption))
    notes = (
        "Whether models make one joke needs 2 models: lotbench compare RUN RUN.",
        *_about(measures, [said]),
        "Same sample: pairs of answers of this model to one sample. Other samples: answers that have no sample in common.",
    )
    return Section(TITLE, notes, tuple(tables), name=NAME, numbers=numbers)


def _measures(runs: Sequence[Said]) -> list[Measured]:
    """Return what these answers can be compared by: words where they have several, meaning where all were embedded alike."""
    texts = [text for said in runs for text in said.texts]
    vectors = {text: vector for said in runs for text, vector in said.vectors.items()}
    made = [SAME]
    if any(len(words(text)) > FEW_WORDS for text in texts):
        made.append(WORDS)
    if vectors and len({said.encoder for said in runs}) == 1 and all(text in vectors for text in texts):
        about = f"meaning: the cosine of their embeddings by {runs[0].encoder}"
        made.append(Measured("meaning", likeness.meaning(vectors), about, (-1.0, 1.0)))
    return made


def _about(measures: Sequence[Measured], runs: Sequence[Said]) -> list[str]:
    """Return what each measure is, and why meaning is none of them where an encoder is named."""
    notes = [f"{one.about}." for one in measures]
    if any(said.encoder for said in runs) and "meaning" not in [one.name for one in measures]:
        notes.append(
            "No meaning: not every answer was embedded by one encoder; lotbench score RUN --embed does it."
        )
    return notes


def _grid(measured: Measured, pairs: Sequence[Likeness], names: tuple[str, ...]) -> Grid:
    # Intervals stand in the table: in as many cells as there are pairs of models they would hide the values.
    by_pair = {
        frozenset((each.one, each.another)): Metric(each.same.value, n=each.same.n, why=each.same.why)
        for each in pairs
    }
    cells = tuple(tuple(by_pair[frozenset((row, column))] for column in names) for row in names)
    caption = f"Likeness of answers to the same sample: {measured.name}"
    return Grid("model", "model", names, names, cells, caption)


def _cut(rows: Sequence[object]) -> str:
    return f", the first {SHOWN}" if len(rows) > SHOWN else ""


def _summed_up(found: Mapping[Measured, Sequence[Likeness]]) -> list[str]:
    """Return the mean likeness between models beside that of a model with itself, by each measure."""
    notes = []
    for measured, pairs in found.items():
        between = [each for each in pairs if each.one != each.another]
        same = [each.same.value for each in between if each.same.value is not None]
        apart = [each.other for each in between if each.other is not None]
        inside = [
            each.same.value for each in pairs if each.one == each.another and each.same.value is not None
        ]
        if same:
            said = f"Two models, {measured.name}: {fmean(same):.3f} on the same sample"
            said += f", {fmean(apart):.3f} on different ones" if apart else ""
            said += f"; a model with itself {fmean(inside):.3f}" if inside else ""
            pairs_of = f"{len(same)} pairs" if len(same) > 1 else "1 pair"
            notes.append(f"{said} (means over {pairs_of} of models).")
    return notes or ["No two models answered the same sample."]


def _numbers(each: Likeness) -> dict[str, JSON]:
    return {"models": [each.one, each.another], "same_sample": _told(each.same), "other_samples": each.other}


def _told(one: Metric) -> dict[str, JSON]:
    """Return a share for programs: its value, interval and counts."""
    return {
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "n": one.n,
        "observations": one.observations,
    }
