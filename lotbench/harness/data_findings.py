"""The record of a finding of `data check`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding on a sample, or on the whole data set if `sample` is empty; a fault if `grave`, else a note."""

    sample: str
    field: str
    text: str
    grave: bool = True
