"""One sample of LiveIdeaBench: a scientific keyword and its category."""

from typing import Literal

from lotbench.harness.sample_row import NoPicture, SampleRow, Text


class Item(SampleRow, NoPicture):
    """A keyword with its category; the candidate sees the keyword alone."""

    language: Literal["en"]
    keyword: Text
    category: Text
    similarity: float | None = None
    """The embedding similarity of the keyword to its category, where that is how the category was found."""
