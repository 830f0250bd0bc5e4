"""A walk through the panel told again from its trace: step by step, who was asked, and what was read.

It knows no benchmark: a value is told as it stands in the trace, name by name. What a benchmark has to say of
the walk itself, its readings, comes after the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lotbench.errors import UsageError
from lotbench.report.replay_game import wrapped
from lotbench.report.sections import Reading
from lotbench.types import JSON, Trace

HIDDEN = frozenset({"id", "language", "canary", "licence", "source"})
"""What of a sample says nothing about what was asked."""


@dataclass(frozen=True, slots=True)
class Telling:
    """A walk as it is shown: what it was about, its steps, its end, and what there is to read of it."""

    sample: Mapping[str, Any]
    trace: Trace
    readings: tuple[Reading, ...] = ()

    def table(self) -> dict[str, JSON]:
        """The walk as JSON."""
        trace = self.trace
        return {
            "sample": dict(self.sample),
            "repeat": trace.repeat,
            "outcome": trace.outcome,
            "score": trace.score.value,
            "why": trace.why,
            "steps": [dict(step) for step in trace.steps],
            "readings": [asdict(one) for one in self.readings],
        }


def walk(traces: Sequence[Trace], sample: str | None, repeat: int) -> Trace:
    """The trace of a sample and repeat; of the first sample by default.

    Raises:
        UsageError: It was not walked, or is not finished.
    """
    for trace in traces:
        if sample in (None, trace.sample) and trace.repeat == repeat:
            return trace
    raise UsageError(f"no finished walk of sample {sample or '(any)'}, repeat {repeat}, in this run")


def to_text(one: Telling) -> str:
    """The walk for a terminal."""
    trace = one.trace
    lines = [f"{trace.sample}, repeat {trace.repeat}"]
    lines += _told({name: value for name, value in one.sample.items() if name not in HIDDEN}, 2)
    for step in trace.steps:
        lines += ["", _heading(step), *_told(step["value"], 2)]
    for reading in one.readings:
        lines += ["", reading.title]
        for name, text in reading.texts:
            lines += wrapped(name, text)
    worth = "no score" if trace.score.value is None else f"score {trace.score.value:.4f}"
    return "\n".join([*lines, "", f"{trace.outcome}, {worth}" + (f": {trace.why}" if trace.why else "")])


def _heading(step: Mapping[str, Any]) -> str:
    """Which step it is, which of several drawings of it, and who was asked."""
    name = str(step["step"]).replace("_", " ") + (f" {step['draw'] + 1}" if step["draw"] else "")
    return f"{name}, by the {step['role']}" if step["role"] else name


def _told(value: Any, indent: int) -> Iterator[str]:
    """A value name by name; rows of a table are counted, not told."""
    for name, said in value.items():
        label = str(name).replace("_", " ")
        if isinstance(said, Mapping):
            yield from wrapped(label, "" if said else "(none)", indent)
            yield from _told(said, indent + 2)
        elif isinstance(said, list | tuple) and any(isinstance(part, Mapping) for part in said):
            yield from wrapped(label, f"({len(said)})", indent)
        elif isinstance(said, list | tuple):
            yield from wrapped(label, "\n".join(map(str, said)) or "(none)", indent)
        elif said not in (None, ""):
            yield from wrapped(label, str(said), indent)
