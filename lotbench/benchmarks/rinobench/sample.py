"""One sample of RINoBench: a research idea, its related works, and the novelty score and justification of experts.

A row has the format of the official data set plus ids: claims refer to related works by id, and predictions to ideas.
"""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from lotbench.harness.sample_row import NoPicture, SampleRow, Text
from lotbench.types import FrozenModel

Lines: TypeAlias = Text | Annotated[tuple[Text, ...], Field(min_length=1)]
"""A text, or a list of points."""

LABELS = (1, 2, 3, 4, 5)
"""The rubric: 1 not novel, 2 marginally, 3 somewhat, 4 novel, 5 highly innovative (Table 1)."""


class Idea(FrozenModel):
    """A research idea in its three parts (Sec. 4.1.1)."""

    problem_statement: Lines
    objective: Lines
    solution_approach: Lines

    def text(self) -> str:
        """Return the idea as a prompt shows it."""
        return "\n\n".join(
            f"{title}\n{_joined(part)}"
            for title, part in (
                ("Problem statement:", self.problem_statement),
                ("Objective:", self.objective),
                ("Solution approach:", self.solution_approach),
            )
        )


class Work(FrozenModel):
    """A related work; `invented` says that it exists only in the data set."""

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$")]
    title: Text
    abstract: str = ""
    year: int | None = None
    invented: bool = False


class Item(SampleRow, NoPicture):
    """A sample: an idea with its related works, the gold score and the gold justification.

    `writer` is the model that wrote the idea and the related works.
    """

    language: Literal["en"] = "en"
    field: str = ""
    block: str = ""
    """The name of the row's block, or "". The rows of a block combine two ideas with the same two lists of related works.
    A block is one unit in every interval."""
    research_idea: Idea
    related_works: Annotated[tuple[Work, ...], Field(min_length=1)]
    novelty_score: Literal[1, 2, 3, 4, 5]
    novelty_reasoning: Text
    gold_writers: tuple[str, ...] = ()
    """Models or families (`claude`) that wrote the gold justification; as candidates they have an advantage."""
    source: str = ""

    @model_validator(mode="after")
    def _works_are_told_apart(self) -> Self:
        ids = [work.id for work in self.related_works]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"related_works: {', '.join(twice)} comes twice")
        return self


def _joined(text: Lines) -> str:
    """Return a text as it is, or a list of points as one text."""
    return text if isinstance(text, str) else "\n".join(f"- {point}" for point in text)
