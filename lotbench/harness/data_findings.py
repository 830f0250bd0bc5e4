"""What is found in a data set: how its pictures look to a lint, and what a lint has to say; data, no logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a picture file.

    Attributes:
        hash: The difference hash of the picture, an integer of 256 bits; near pictures differ in few bits.
        metadata: The names of what the file holds beside the picture itself.
    """

    hash: int
    metadata: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What a lint has found in a sample, or in all together (`sample` is empty); `grave` is a fault, anything else a note."""

    sample: str
    field: str
    text: str
    grave: bool = True
