"""One task of HIC-Bench: an open question in a field, and the principle and challenge that it joins (Sec. 3.3).

The knowledge text is what the strategy `rag` hands to the candidate and what kwPrec compares answers with.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Item(BaseModel):
    """A task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    language: Literal["en"]
    image: None = None
    field: Text
    """One of the scientific fields, by name."""
    principle: Text
    """What the answer should build on, in a few words."""
    challenge: Text
    """What it should help with, in a few words."""
    question: Text
    knowledge: Text
    """What is known of the principle, in a few sentences."""
    source: str = ""
    writer: str = ""
    """Who wrote it: a model's name or family, or `people`; empty where it is not said."""
    licence: str = ""
    canary: str = ""
