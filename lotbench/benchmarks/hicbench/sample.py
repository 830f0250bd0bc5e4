"""One task of HIC-Bench: an open question in a field, and the principle and challenge that it joins (Sec. 3.3).

The knowledge text is what the strategy `rag` hands to the candidate and what kwPrec compares answers with.
"""

from __future__ import annotations

from typing import Literal

from lotbench.harness.sample_row import SampleRow, Text


class Item(SampleRow):
    """A task."""

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
