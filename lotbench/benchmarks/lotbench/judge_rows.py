"""The rows of a judge set: labelled guesses, responses, questions and ideas, and the probes made of them.

A row of daeso.jsonl is a guess, of hidden.jsonl a whole response, of oracle.jsonl a question, each in place of a
candidate's. A row of different.jsonl is an answer after those that counted. The settings say which files are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config.experiment import digest
from lotbench.harness.judge_validation import Probe
from lotbench.harness.sample_row import Text
from lotbench.types import JSON


class _Row(BaseModel):
    """The fields of every row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sample: Text
    label: StrictBool
    language: Literal["en", "zh"]
    split: Literal["tune", "test"]
    labels: Annotated[tuple[StrictBool, ...], Field(min_length=1, max_length=2)]
    """The first label and the second one, given without sight of the first."""
    contested: bool = False
    why: str = ""
    writer: str = ""
    """Who wrote the row: a model's name or family, or `people`."""
    canary: str = ""

    @model_validator(mode="after")
    def _labels_agree(self) -> _Row:
        if (len(set(self.labels)) > 1) is not self.contested:
            raise ValueError("contested: true if and only if the two labels differ")
        if not self.contested and self.label is not self.labels[0]:
            raise ValueError("label: is not what both labellings say")
        return self


class _Judged(_Row):
    """An answer for which both criteria are judged."""

    difficulty: Literal["easy", "hard"] | None
    fails: Literal["point", "function", "both"] | None = None
    """The criterion that a negative fails, if both labellers name the same one."""

    @model_validator(mode="after")
    def _negatives_are_easy_or_hard(self) -> _Judged:
        if not self.contested and (self.difficulty is None) is not self.label:
            raise ValueError("difficulty: a negative is easy or hard, a positive is null")
        if self.fails and (self.label or self.contested):
            raise ValueError("fails: only an uncontested negative fails a criterion")
        return self


class Filled(_Judged):
    """A guess, labelled as a DAESO of the key text or not."""

    guess: Text

    @property
    def text(self) -> str:
        """The guess."""
        return self.guess


class Responded(_Judged):
    """A whole response, labelled as a DAESO of the sample's response or not."""

    response: Text

    @property
    def text(self) -> str:
        """The response."""
        return self.response


class QuestionRow(_Row):
    """A question about the hidden part, labelled yes (true) or no."""

    question: Text
    kind: Literal[
        "plain", "negation", "double", "edge", "picture", "scene", "either_or", "figurative", "guess"
    ]

    @property
    def text(self) -> str:
        """The question."""
        return self.question


class Compared(_Row):
    """An answer, labelled as another idea than the known ones or not.

    It is a guess where the frame is shown, else a whole response.
    """

    known: Annotated[tuple[Text, ...], Field(min_length=1)]
    guess: Text | None = None
    response: Text | None = None
    difficulty: Literal["easy", "hard"] | None

    @model_validator(mode="after")
    def _one_answer(self) -> Compared:
        if (self.guess is None) is (self.response is None):
            raise ValueError("guess: a row has a guess or a response, not both")
        if not self.contested and (self.difficulty is None) is not self.label:
            raise ValueError("difficulty: a negative is easy or hard, a positive is null")
        if words.same(self.text) in map(words.same, self.known):
            raise ValueError("known: has the answer itself")
        return self

    @property
    def text(self) -> str:
        """The answer."""
        return self.guess or self.response or ""


Row: TypeAlias = Filled | Responded | QuestionRow | Compared
ROWS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "judge": {"daeso.jsonl": Filled, "hidden.jsonl": Responded, "different.jsonl": Compared},
    "oracle": {"oracle.jsonl": QuestionRow},
}
RESPONSES = "responses"
IDEAS = ("ideas", "ideas of responses")
"""The tasks of a probe on another idea, with guesses or whole responses; RESPONSES is that on whole responses."""
DIFFERENT = "different approach"
"""The criterion of IDEAS."""


def probes(role: str, rows: Sequence[Row], data: Mapping[str, Item]) -> tuple[list[Probe], list[str]]:
    """Return the probes of a file's rows, and its faults as `ROW: field: reason`, rows counted from 1."""
    all_probes: list[Probe] = []
    faults: list[str] = []
    seen: dict[tuple[str, ...], int] = {}
    splits: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if (sample := data.get(row.sample)) is None:
            faults.append(f"{number}: sample: no sample {row.sample!r} in the data set")
            continue
        if row.language != sample.language:
            faults.append(f"{number}: language: sample {row.sample} is {sample.language}")
        if splits.setdefault(row.sample, row.split) != row.split:
            faults.append(f"{number}: split: sample {row.sample} is in {splits[row.sample]} already")
        if not isinstance(row, Compared) and (right := _itself(row, sample)):
            faults.append(f"{number}: {right}, which no judge is asked about")
        if (first := seen.setdefault(_identity(row), number)) != number:
            faults.append(f"{number}: stands in row {first} already")
        all_probes.append(_probe(role, row))
    return all_probes, faults


def _itself(row: Row, sample: Item) -> str | None:
    """Return the reason why words decide a row without a judge; None otherwise."""
    if isinstance(row, Filled) and words.same(row.guess) == words.same(sample.key_text):
        return "guess: is the key text itself"
    if isinstance(row, Responded) and words.same(row.response) in (
        words.same(target.response) for target in whole.targets(sample)
    ):
        return "response: is the response itself"
    return None


def _identity(row: Row) -> tuple[str, ...]:
    """Return the key by which equal rows of a file are found."""
    extra: list[str] = []
    if isinstance(row, Compared):
        extra = [str(row.guess is None), *sorted(map(words.same, row.known))]
    return row.sample, words.same(row.text), *extra


def _probe(role: str, row: Row) -> Probe:
    turn: dict[str, JSON] = {"guess": row.text, "status": "ok"}
    step, task, named = "check", "", list[JSON]([role, row.text])
    if isinstance(row, QuestionRow):
        step, turn = "answer", {"question": row.text}
    elif isinstance(row, Responded):
        task = RESPONSES
    elif isinstance(row, Compared):
        task = IDEAS[row.guess is None]
        turn["known"] = list(row.known)
        named = [task, row.text, list(row.known)]
    return Probe(
        id=f"{row.sample}/{digest(named)[:12]}",
        role=role,
        sample=row.sample,
        step=step,
        turn=turn,
        label=row.label,
        kind=row.kind if isinstance(row, QuestionRow) else row.difficulty,
        language=row.language,
        split=row.split,
        labels=row.labels,
        contested=row.contested,
        task=task,
    )
