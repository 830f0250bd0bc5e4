"""Traces as flat rows for a table: one a task, or one a step, every field with a plain value.

What lies deeper becomes a dotted name; a list stays a list and is written as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lotbench.types import JSON, Trace


def walks(traces: Iterable[Trace]) -> Iterator[dict[str, JSON]]:
    """One row a walk: where it stands, how it ended, its score with its parts, what it used."""
    for trace in traces:
        yield _flat(
            {
                **_place(trace),
                "score": trace.score.value,
                "why": trace.why or trace.score.why,
                "parts": trace.score.parts,
                "usage": trace.usage,
            }
        )


def steps(traces: Iterable[Trace]) -> Iterator[dict[str, JSON]]:
    """One row a step of a walk, in order."""
    for trace in traces:
        for step in trace.steps:
            yield _flat({**_place(trace), **step})


def _place(trace: Trace) -> dict[str, JSON]:
    return {
        "sample": trace.sample,
        "repeat": trace.repeat,
        "lane": trace.lane,
        "outcome": trace.outcome,
    }


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, JSON]:
    made: dict[str, JSON] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            made |= _flat(value, f"{before}{name}.")
        else:
            made[before + name] = value
    return made
