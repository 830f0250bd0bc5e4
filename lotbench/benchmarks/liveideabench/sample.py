"""One sample of LiveIdeaBench: a scientific keyword and the category that it belongs to."""

from __future__ import annotations

from typing import Literal

from lotbench.harness.sample_row import NoPicture, SampleRow, Text


class Item(SampleRow, NoPicture):
    """A keyword; everything that the candidate is told."""

    language: Literal["en"]
    keyword: Text
    category: Text
    similarity: float | None = None
    """How near the keyword is to its category, where the category was found by embedding similarity."""
