"""Records for `data check`: facts about pictures, and findings of lints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sight:
    """Facts about a picture file.

    Attributes:
        hash: The difference hash, an integer of 256 bits; similar pictures differ in few bits.
        metadata: The names of the metadata entries in the file.
    """

    hash: int
    metadata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding on a sample, or on the whole data set if `sample` is empty; a fault if `grave`, else a note."""

    sample: str
    field: str
    text: str
    grave: bool = True
