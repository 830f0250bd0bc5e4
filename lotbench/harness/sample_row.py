"""What the samples of the benchmarks have in common."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, StringConstraints

Text: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class SampleRow(BaseModel):
    """A line of samples.jsonl."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Id
    writer: str = ""
    """Who wrote it: a model's name or family, or `people`; empty where it is not said."""
    licence: str = ""
    canary: str = ""


class NoPicture:
    """Samples that are texts alone."""

    __slots__ = ()

    @property
    def image(self) -> None:
        """There is no picture."""
        return None
