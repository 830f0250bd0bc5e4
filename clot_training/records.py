"""What passes between the steps of training: instructions, candidates, the policy, and where each file is.

Steps meet in files of the work folder and nowhere else, so each can run on another machine or be repeated
alone. A picture is named by its path as the configuration's data set names it; pixels are read where a
model takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict

from clot_training.config import Conditions
from lotbench.benchmarks.standard.oogiri import Language, Type
from lotbench.errors import UsageError
from lotbench.storage.jsonl import rows

Kind: TypeAlias = Literal["generation", "selection", "ranking"]
Chat: TypeAlias = tuple[Mapping[str, Any], ...]
"""Messages as the OpenAI chat API has them, the answer not included. `content` is a text, or, with a
picture, the parts `{"type": "image", "image": PATH}` and `{"type": "text", "text": ...}`."""

R = TypeVar("R", bound=BaseModel)


class Instruction(BaseModel):
    """One example to train on; a line of instructions/train.jsonl.

    The response of a selection is the option as it stands in the list, letter first (`B. text`); that of a
    ranking is the letters from best to worst (`C > A > B`).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: Kind
    type: Type
    language: Language
    group: str
    rows: tuple[str, ...]
    """The rows that it was made from, the one it is about first."""
    messages: Chat
    image: str | None
    response: str
    condition: str | None = None
    """The keyword of a generation, if it has one."""


class Screened(BaseModel):
    """What a screener said of a row; a line of instructions/screened.jsonl."""

    row: str
    verdict: str
    """`safe`, `unsafe`, or why there is no verdict."""


class Candidate(BaseModel):
    """A response that the tuned model wrote to a sample under a condition; a line of candidates.jsonl.

    Those that were not kept are there, too: the keep rate is counted over these lines.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    row: str
    type: Type
    language: Language
    group: str
    question: str | None = None
    messages: Chat
    image: str | None
    condition: str | None
    """The keyword; None is the empty condition."""
    conditions: Conditions
    position: int | None
    """Place of the keyword among the n drawn, from 0, the most similar first; None where nothing was ranked."""
    similarity: float | None
    text: str
    truths: tuple[str, ...]
    """The responses of people that it was compared with."""
    won: tuple[bool, ...]
    """Whether it was chosen, for each order of the options that was asked in: standing first, then last."""
    kept: bool
    why: str | None = None
    """Why it was not compared: `empty`, a `copy` of a response of people, or a `double` of another candidate."""
    seed: int
    policy: str
    """The model that wrote and selected: base and adapter."""

    def instruction(self) -> Instruction:
        """Return the candidate as something to train on."""
        return Instruction(
            id=self.id,
            kind="generation",
            type=self.type,
            language=self.language,
            group=self.group,
            rows=(self.row,),
            messages=self.messages,
            image=self.image,
            response=self.text,
            condition=self.condition,
        )


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a policy is asked: messages, the picture that they refer to, and the seed of its draw."""

    messages: Chat
    image: str | None
    seed: int


class Policy(Protocol):
    """A model that writes responses and selects among them, in batches.

    What it does with a prompt may depend on that prompt alone, never on the others of the batch.
    """

    @property
    def id(self) -> str:
        """Base and adapter."""
        ...

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """Write one response to each prompt, drawn with its seed."""
        ...

    def select(self, prompts: Sequence[Prompt], labels: Sequence[Sequence[str]]) -> list[int]:
        """Choose an option in each prompt.

        Args:
            prompts: Selections.
            labels: For each prompt, how the answer begins for each option (`A`, `B`...).

        Returns:
            The place of the likeliest label, from 0.
        """
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """Where the files of a training run are."""

    root: Path

    @property
    def instructions(self) -> Path:
        """train.jsonl, manifest.json, screened.jsonl, config.json."""
        return self.root / "instructions"

    @property
    def train(self) -> Path:
        """The instructions; there when the manifest is.

        Raises:
            UsageError: They are not made yet.
        """
        if not (self.instructions / "manifest.json").is_file():
            raise UsageError(f"{self.instructions}: no instructions yet; run `clot instructions` first")
        return self.instructions / "train.jsonl"

    @property
    def stage1(self) -> Path:
        """The folder of stage 1; the adapter is in `adapter`."""
        return self.root / "stage1"

    @property
    def screened(self) -> Path:
        """The verdicts of the screener, a line a row; not there where nothing was screened."""
        return self.instructions / "screened.jsonl"

    def left_out(self) -> frozenset[str]:
        """Return the rows that screening left out, by id: nothing after the instructions may see them.

        Raises:
            DataError: A line of the verdicts is none.
        """
        if not self.screened.exists():
            return frozenset()
        return frozenset(
            record.row for record in read_records(self.screened, Screened) if record.verdict != "safe"
        )

    def explored(self, conditions: Conditions) -> Path:
        """Return the folder of an exploration: candidates.jsonl, summary.json, config.json."""
        return self.root / "explore" / conditions

    def candidates(self, conditions: Conditions) -> Path:
        """Return the candidates of an exploration, kept or not."""
        return self.explored(conditions) / "candidates.jsonl"

    def explorations(self, conditions: Conditions) -> Iterator[Candidate]:
        """Return the candidates of an exploration without those of rows that screening left out.

        Raises:
            UsageError: There is no exploration of these conditions yet.
            DataError: A line is no candidate.
        """
        source = self.candidates(conditions)
        if not source.exists():
            raise UsageError(f"{source}: not there yet; run `clot explore` first")
        left_out = self.left_out()
        return (candidate for candidate in read_records(source, Candidate) if candidate.row not in left_out)

    def stage2(self, conditions: Conditions) -> Path:
        """Return the folder of stage 2, tuned on what was explored so; the adapter is in `adapter`."""
        return self.root / "stage2" / conditions

    def last_stage(self, conditions: Conditions) -> Path:
        """Return the folder of the last stage that is tuned.

        Raises:
            UsageError: None is.
        """
        for stage in (self.stage2(conditions), self.stage1):
            if (stage / "tune.json").exists():
                return stage
        raise UsageError(f"{self.stage1}: nothing is tuned yet; run `clot tune` first")

    @property
    def synthesized(self) -> Path:
        """The folder of proposals for LoTbench samples."""
        return self.root / "synthesize"

    @property
    def report(self) -> Path:
        """The report, as markdown; beside it the same as .json."""
        return self.root / "report.md"


def read_records(path: Path, record: type[R]) -> Iterator[R]:
    """Return the records of a file of lines, one at a time.

    Raises:
        DataError: After the last of them, every line that is none, with file, line and field.
    """
    return (line for _, line in rows(path, record.model_validate))
