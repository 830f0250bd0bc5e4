"""The labelled rows of a judge set (guesses, responses, questions and ideas), and the probes made of them.

A row stands in for words of a candidate: in daeso.jsonl a guess, in hidden.jsonl a whole response, in oracle.jsonl a
question. A row of different.jsonl is an answer of an encore, with the answers that counted before it. The settings
say which files are read.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, StrictBool, model_validator

from lotbench.benchmarks.lotbench import whole, words
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.config.experiment import digest
from lotbench.harness.judge_validation import Probe
from lotbench.harness.sample_row import Text
from lotbench.types import JSON, FrozenModel

ANSWERS = ("guess", "response", "question")
"""The fields of a row that stand in for words of a candidate; a row has one of them."""


class _Row(FrozenModel):
    """The fields that all rows of a judge set have; `label` is the truth that the judge or oracle should say."""

    sample: Text
    label: StrictBool
    language: Literal["en", "zh"]
    split: Literal["tune", "test"]
    labels: Annotated[tuple[StrictBool, ...], Field(min_length=1, max_length=2)]
    """The first label and, if there is one, the second, given without sight of the first."""
    contested: bool = False
    """Whether the two labels differ."""
    why: str = ""
    writer: str = ""
    """Who wrote the row: a model's name or family, or `people`."""
    canary: str = ""

    @property
    def text(self) -> str:
        """The guess, response or question that stands in for the candidate's words."""
        return str(next(value for name in ANSWERS if (value := getattr(self, name, None))))

    @model_validator(mode="after")
    def _labels_agree(self) -> Self:
        if (len(set(self.labels)) > 1) is not self.contested:
            raise ValueError("contested: true if and only if the two labels differ")
        if not self.contested and self.label is not self.labels[0]:
            raise ValueError("label: is not what both labellings say")
        return self


class _Judged(_Row):
    """A row with an answer that a judge decides on."""

    difficulty: Literal["easy", "hard"] | None
    fails: Literal["point", "function", "both"] | None = None
    """The criterion (or both) that a negative row fails, if both labellers say the same; else None."""

    @model_validator(mode="after")
    def _negatives_are_easy_or_hard(self) -> Self:
        if not self.contested and (self.difficulty is None) is not self.label:
            raise ValueError("difficulty: a negative is easy or hard, a positive is null")
        if self.fails and (self.label or self.contested):
            raise ValueError("fails: only an uncontested negative fails a criterion")
        return self


class Filled(_Judged):
    """A row with a guess; the label says whether it is a DAESO of the key text."""

    guess: Text


class Responded(_Judged):
    """A row with a whole response, not only a guess for the mask; the label says whether that response counts."""

    response: Text


class QuestionRow(_Row):
    """A row with a question about the masked text; the label is the right answer, true for yes."""

    question: Text
    kind: Literal[
        "plain", "negation", "double", "edge", "picture", "scene", "either_or", "figurative", "guess"
    ]


class Compared(_Judged):
    """A row with an answer; the label says whether it is another idea than the `known` answers.

    The answer is a `guess` where the frame is shown, else a whole `response`.
    """

    known: Annotated[tuple[Text, ...], Field(min_length=1)]
    guess: Text | None = None
    response: Text | None = None

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.guess is None) is (self.response is None):
            raise ValueError("guess: a row has a guess or a response, not both")
        if words.same(self.text) in map(words.same, self.known):
            raise ValueError("known: has the answer itself")
        return self


Row: TypeAlias = Filled | Responded | QuestionRow | Compared
ROWS: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "judge": {"daeso.jsonl": Filled, "hidden.jsonl": Responded, "different.jsonl": Compared},
    "oracle": {"oracle.jsonl": QuestionRow},
}
RESPONSES = "responses"
IDEAS = ("ideas", "ideas of responses")
"""The tasks of probes that ask whether an answer is another idea: those with guesses, and those with whole responses.
RESPONSES is the task of probes that ask whether a whole response is a DAESO; for guesses and questions it is ""."""
DIFFERENT = "different approach"
"""The criterion of probes with the tasks IDEAS."""


def probes(role: str, rows: Sequence[Row], data: Mapping[str, Item]) -> tuple[list[Probe], list[str]]:
    """Return the probes of the rows of a file, and the faults of the rows as `ROW: field: reason`, rows counted from 1.

    Args:
        role: `judge` or `oracle`.
        rows: The rows of the file.
        data: The samples, by id.
    """
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
    """Return the fault of a row whose answer is the target's own text, on which no judge is asked; None for others."""
    if isinstance(row, Filled) and words.same(row.guess) == words.same(sample.key_text):
        return "guess: is the key text itself"
    if isinstance(row, Responded) and words.same(row.response) in (
        words.same(target.response) for target in whole.targets(sample)
    ):
        return "response: is the response itself"
    return None


def _identity(row: Row) -> tuple[str, ...]:
    """Return a key that two rows share if they put the same question to the judge."""
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
