"""Common fields of the samples of all benchmarks."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, StringConstraints

Text: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class SampleRow(BaseModel, frozen=True, extra="forbid"):
    """A line of samples.jsonl."""

    id: Id
    writer: str = ""
    """A model's name or family, or `people`; empty if unknown."""
    licence: str = ""
    canary: str = ""


class NoPicture:
    """Mixin for samples without pictures."""

    __slots__ = ()

    @property
    def image(self) -> None:
        """Always None."""
        return None
