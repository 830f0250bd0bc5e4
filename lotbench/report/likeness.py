"""The likeness of the answers of several models, as a section.

The benchmark gives its candidates' answers by sample. Short answers are compared as a whole, longer ones also by their
words, and by the cosine of their embeddings where the run has them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lotbench.metrics import likeness
from lotbench.metrics.likeness import Answers, Likeness, Measure, words
from lotbench.report.report import interval
from lotbench.report.sections import Section, Table
from lotbench.types import JSON

TITLE = "Likeness of answers"
NAME = "likeness"
FEW_WORDS = 3
"""If no answer has more words, answers are compared as a whole only."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of likeness: its name, its function, what it means, and the ends of its scale."""

    name: str
    measure: Measure
    about: str
    ends: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Replies:
    """The candidate's answers to each sample, their embeddings by text, and the name of the encoder ("" for none)."""

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


def across(runs: Mapping[str, Replies]) -> Section:
    """Return the section on the likeness of several models' answers; runs without answers are left out."""
    spoke = {name: replies for name, replies in runs.items() if replies.texts}
    answers = {name: replies.answers for name, replies in spoke.items()}
    if len(answers) < 2:
        return Section(TITLE, ("Needs 2 models with answers to the same samples.",), name=NAME)
    measures = _measures(list(spoke.values()))
    pairs_of = {measured: likeness.alike(answers, measured.measure, measured.ends) for measured in measures}
    rows = tuple(
        (
            each.first,
            each.second,
            measured.name,
            each.same.value,
            interval(each.same),
            each.other,
            each.same.n,
        )
        for measured, pairs in pairs_of.items()
        for each in pairs
        if each.same.n
    )
    columns = ("model", "and", "measure", "same sample", "95 %", "other samples", "samples")
    notes = (
        *_notes(measures, list(spoke.values())),
        "A model beside itself: pairs of its own answers to a sample. Other samples: answers that have no sample in "
        "common, which is the likeness that means nothing. Intervals are over samples.",
    )
    numbers: dict[str, JSON] = {
        key.name: [_numbers(each) for each in pairs] for key, pairs in pairs_of.items()
    }
    return Section(TITLE, notes, (Table(columns, rows),), name=NAME, numbers=numbers)


def _measures(runs: Sequence[Replies]) -> list[Measured]:
    """Return the measures that apply: `words` if an answer is longer than `FEW_WORDS`, `meaning` if one encoder embedded all."""
    texts = [text for run in runs for text in run.texts]
    vectors = {text: vector for run in runs for text, vector in run.vectors.items()}
    measures = [SAME]
    if any(len(words(text)) > FEW_WORDS for text in texts):
        measures.append(WORDS)
    if vectors and len({run.encoder for run in runs}) == 1 and all(text in vectors for text in texts):
        about = f"meaning: the cosine of their embeddings by {runs[0].encoder}"
        measures.append(Measured("meaning", likeness.meaning(vectors), about, (-1.0, 1.0)))
    return measures


def _notes(measures: Sequence[Measured], runs: Sequence[Replies]) -> list[str]:
    """Return notes on the measures, and on why `meaning` is missing although a run names an encoder."""
    notes = [f"{measured.about}." for measured in measures]
    if any(run.encoder for run in runs) and "meaning" not in [measured.name for measured in measures]:
        notes.append(
            "No meaning: not every answer was embedded by one encoder; lotbench score RUN --embed does it."
        )
    return notes


def _numbers(each: Likeness) -> dict[str, JSON]:
    """Return the likeness of two models for compare.json: value, interval and counts."""
    names = ("value", "low", "high", "n", "observations")
    same: dict[str, JSON] = {name: getattr(each.same, name) for name in names}
    return {"models": [each.first, each.second], "same_sample": same, "other_samples": each.other}
