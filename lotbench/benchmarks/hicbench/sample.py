"""One task of HIC-Bench: an open question in a field, with the principle and the challenge it combines (Sec. 3.3).

The strategy `rag` gives the knowledge text to the candidate; kwPrec compares answers with it.
"""

from typing import Literal

from lotbench.harness.sample_row import SampleRow, Text


class Item(SampleRow):
    """A task: an open question, with its field, principle, challenge and knowledge text."""

    language: Literal["en"]
    image: None = None
    field: Text
    """One of the scientific fields, by name."""
    principle: Text
    """The principle that the answer should build on, in a few words."""
    challenge: Text
    """The challenge that the answer should help with, in a few words."""
    question: Text
    knowledge: Text
    """Known facts about the principle, in a few sentences."""
    source: str = ""
