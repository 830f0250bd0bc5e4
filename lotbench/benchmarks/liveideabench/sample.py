"""One sample of LiveIdeaBench: a scientific keyword and the category that it belongs to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Item(BaseModel):
    """A keyword; everything that the candidate is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    language: Literal["en"]
    keyword: Text
    category: Text
    similarity: float | None = None
    """How near the keyword is to its category, where the category was found by embedding similarity."""
    writer: str = ""
    """Who wrote it: a model's name or family, or `people`; empty where it is not said."""
    licence: str = ""
    canary: str = ""

    @property
    def image(self) -> None:
        """There is no picture."""
        return None
