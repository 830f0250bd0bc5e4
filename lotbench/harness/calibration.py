"""Calibration of a data set: what blind players did on its samples, as a benchmark declares it.

The plays stand in calibration.jsonl beside samples.jsonl; a report says where a run stands beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.report.sections import Section
from lotbench.types import JSON, Trace


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a benchmark's data sets are calibrated; every function is pure.

    Attributes:
        Play: Pydantic model of a line: a blind play of a sample; its `name` is what no two plays have in common.
        plays: The plays of a finished run, from its walks, its settings and the fields that the run has one value for.
        standing: Where runs stand, from the walks and settings of each by its name, and the plays that each is beside.
        tiers: How hard each sample is by its plays; None where there are too few.
    """

    Play: type[Any]
    plays: Callable[[Sequence[Trace], Any, Mapping[str, JSON]], Sequence[Any]]
    standing: Callable[
        [Mapping[str, tuple[Sequence[Trace], Any]], Mapping[str, Sequence[Any]]], Sequence[Section]
    ]
    tiers: Callable[[Sequence[Any]], Mapping[str, str | None]]
