"""The records that the steps of training exchange, and the paths of all files.

Steps exchange data only through files in the work folder, so each can run on another machine or be repeated alone.
Pictures are given by path and read only where a model takes them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from clot_training.config import Conditions
from lotbench.benchmarks.standard.oogiri import Language, Type
from lotbench.errors import UsageError
from lotbench.storage.jsonl import rows
from lotbench.types import FrozenModel

Kind: TypeAlias = Literal["generation", "selection", "ranking"]
Chat: TypeAlias = tuple[Mapping[str, Any], ...]
"""Messages in OpenAI's chat format, without the answer. `content` is a text or, with a picture, the parts
`{"type": "image", "image": PATH}` and `{"type": "text", "text": ...}`."""

R = TypeVar("R", bound=BaseModel)


class Instruction(FrozenModel):
    """A training example: a chat and the response to learn; a line of instructions/train.jsonl.

    The response of a selection is the option with its letter (`B. text`). The response of a ranking is the letters from
    best to worst (`C > A > B`).
    """

    id: str
    kind: Kind
    type: Type
    language: Language
    group: str
    rows: tuple[str, ...]
    """The ids of the rows that the example was made from, its own row first."""
    messages: Chat
    image: str | None
    response: str
    condition: str | None = None
    """The keyword of a generation; None without a condition, and for other kinds."""


class Screened(BaseModel):
    """The screener's verdict on a row; a line of instructions/screened.jsonl."""

    row: str
    verdict: str
    """`safe`, `unsafe`, or the reason why there is no verdict."""


class Candidate(BaseModel, frozen=True, extra="forbid"):
    """A response that the tuned model wrote to a row under a condition; a line of candidates.jsonl.

    The file also has the candidates that were not kept, since the keep rate is counted over its lines.
    """

    id: str
    row: str
    type: Type
    language: Language
    group: str
    question: str | None = None
    messages: Chat
    image: str | None
    condition: str | None
    """The keyword of the condition; None for the empty condition."""
    conditions: Conditions
    position: int | None
    """The rank of the keyword by similarity among the n drawn, from 0; None if they were not ranked."""
    similarity: float | None
    text: str
    truths: tuple[str, ...]
    """The responses of people that the candidate was compared with."""
    won: tuple[bool, ...]
    """Whether the model chose it, with the candidate first and then last among the options, or in one of these orders."""
    kept: bool
    why: str | None = None
    """Why it was not compared: `empty`, `copy` of a response of people, or `double` of another candidate; else None."""
    seed: int
    policy: str
    """The id of the model that wrote it: base and adapter."""

    def instruction(self) -> Instruction:
        """Return the candidate as a training example of the kind generation."""
        shared = self.model_dump(include=set(Instruction.model_fields))
        return Instruction(kind="generation", rows=(self.row,), response=self.text, **shared)


@dataclass(frozen=True, slots=True)
class Prompt:
    """An input of a policy: messages, the path of the picture in them (or None), and the seed of the draw."""

    messages: Chat
    image: str | None
    seed: int


class Work:
    """The paths of the files of a training run; `root` is the work folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.instructions = root / "instructions"
        """The folder of the instructions: train.jsonl, manifest.json, screened.jsonl, config.json."""
        self.screened = self.instructions / "screened.jsonl"
        """The file of the screener's verdicts, one line for each row; it does not exist without a screener."""
        self.stage1 = root / "stage1"
        """The folder of stage 1, with the adapter in `adapter`."""
        self.report = root / "report.md"
        """The file of the report in Markdown; report.json in the same folder has the same content."""

    @property
    def train(self) -> Path:
        """The file of instructions; it is complete if the manifest exists.

        Raises:
            UsageError: The instructions are not made yet.
        """
        if not (self.instructions / "manifest.json").is_file():
            raise UsageError(f"{self.instructions}: no instructions yet; run `clot instructions` first")
        return self.instructions / "train.jsonl"

    def safe(self) -> frozenset[str] | None:
        """Return the ids of the rows that the screener called safe, which alone later steps may use; None without a screener.

        Raises:
            DataError: A line is no verdict.
        """
        if not self.screened.exists():
            return None
        verdicts = read_records(self.screened, Screened)
        return frozenset(each.row for each in verdicts if each.verdict == "safe")

    def explored(self, conditions: Conditions) -> Path:
        """Return the folder of the exploration with these conditions: candidates.jsonl, config.json, at its end summary.json."""
        return self.root / "explore" / conditions

    def candidates(self, conditions: Conditions) -> Path:
        """Return the file of all candidates of the exploration with these conditions."""
        return self.explored(conditions) / "candidates.jsonl"

    def explorations(self, conditions: Conditions) -> Iterator[Candidate]:
        """Return an iterator of the candidates of the exploration with these conditions, without rows that are not safe.

        Raises:
            UsageError: There is no exploration with these conditions yet.
            DataError: A line is no candidate.
        """
        source = self.candidates(conditions)
        if not source.exists():
            raise UsageError(f"{source}: not there yet; run `clot explore` first")
        safe, candidates = self.safe(), read_records(source, Candidate)
        return (candidate for candidate in candidates if safe is None or candidate.row in safe)

    def stage2(self, conditions: Conditions) -> Path:
        """Return the folder of stage 2 after the exploration with these conditions, with the adapter in `adapter`."""
        return self.root / "stage2" / conditions

    def last_stage(self, conditions: Conditions) -> Path:
        """Return the folder of the last tuned stage: stage 2 with these conditions, else stage 1.

        Raises:
            UsageError: No stage is tuned yet.
        """
        for stage in (self.stage2(conditions), self.stage1):
            if (stage / "tune.json").exists():
                return stage
        raise UsageError(f"{self.stage1}: nothing is tuned yet; run `clot tune` first")


def read_records(path: Path, record: type[R]) -> Iterator[R]:
    """Return an iterator of the records in a JSON lines file.

    Raises:
        DataError: Lines are invalid; raised after the last record, with file, line and field of each.
    """
    return (line for _, line in rows(path, record.model_validate))
