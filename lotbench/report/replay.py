"""A task told again from its trace, for a terminal and as JSON: step by step, who was asked, and what was read.

`replay` knows no benchmark: a value is told as it stands in the trace, name by name. What a benchmark has to
say of the episode itself, its readings, comes after the steps. A benchmark that can tell an episode better does so
with the other parts of this file.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lotbench.errors import UsageError
from lotbench.report.sections import Reading
from lotbench.types import JSON, Trace

WIDTH = 100
HIDDEN = frozenset({"id", "language", "canary", "licence", "source"})
"""What of a sample says nothing about what was asked."""


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode as it is told."""

    text: str
    table: Mapping[str, JSON]


def find_trace(traces: Sequence[Trace], sample: str | None, repeat: int | None) -> Trace:
    """Return the trace of a sample and repeat; by default the first that there is.

    Raises:
        UsageError: It was not played, or is not finished.
    """
    for trace in traces:
        if sample in (None, trace.sample) and repeat in (None, trace.repeat):
            return trace
    which = "" if repeat is None else f", repeat {repeat},"
    raise UsageError(f"no finished task of sample {sample or '(any)'}{which} in this run")


def replay(sample: Mapping[str, Any], trace: Trace, readings: Sequence[Reading]) -> Replay:
    """Return an episode through the panel: its sample, its steps, and what there is to read of it."""
    lines = [f"{trace.sample}, repeat {trace.repeat}"]
    lines += _value_lines({name: value for name, value in sample.items() if name not in HIDDEN}, 2)
    for step in trace.steps:
        lines += ["", _heading(step), *_value_lines(step["value"], 2)]
    for reading in readings:
        lines += ["", reading.title]
        for name, text in reading.texts:
            lines += wrapped(name, text)
    steps = [dict(step) for step in trace.steps]
    return ended(sample, trace, lines, {"steps": steps, "readings": list(map(asdict, readings))})


def ended(sample: Mapping[str, Any], trace: Trace, lines: Sequence[str], parts: Mapping[str, JSON]) -> Replay:
    """Return what was told of an episode, with how it ended."""
    worth = "no score" if trace.score.value is None else f"score {trace.score.value:.4f}"
    end = f"{trace.outcome}, {worth}" + (f": {trace.why}" if trace.why else "")
    table = {
        "sample": dict(sample),
        "repeat": trace.repeat,
        "outcome": trace.outcome,
        "score": trace.score.value,
        "why": trace.why,
        **parts,
    }
    return Replay("\n".join([*lines, "", end]), table)


def wrapped(name: str, text: str, indent: int = 2) -> list[str]:
    """Return a labelled text for a terminal; what would steer the terminal is shown as a sign."""
    head = " " * indent + f"{name:10}  "
    lines: list[str] = []
    for part in _harmless(text).splitlines() or [""]:
        lead = head if not lines else " " * len(head)
        lines += textwrap.wrap(part, WIDTH, initial_indent=lead, subsequent_indent=" " * len(head)) or [
            lead.rstrip()
        ]
    return lines


def _harmless(text: str) -> str:
    steers = ("Cc", "Cf")
    return "".join(c if c == "\n" or unicodedata.category(c) not in steers else "\ufffd" for c in text)


def _heading(step: Mapping[str, Any]) -> str:
    """Return which step it is, which of several drawings of it, and who was asked."""
    name = str(step["step"]).replace("_", " ") + (f" {step['draw'] + 1}" if step["draw"] else "")
    return f"{name}, by the {step['role']}" if step["role"] else name


def _value_lines(value: Any, indent: int) -> Iterator[str]:
    """Yield a value name by name; rows of a table are counted, not told."""
    for name, content in value.items():
        label = str(name).replace("_", " ")
        if isinstance(content, Mapping):
            yield from wrapped(label, "" if content else "(none)", indent)
            yield from _value_lines(content, indent + 2)
        elif isinstance(content, list | tuple) and any(isinstance(part, Mapping) for part in content):
            yield from wrapped(label, f"({len(content)})", indent)
        elif isinstance(content, list | tuple):
            yield from wrapped(label, "\n".join(map(str, content)) or "(none)", indent)
        elif content not in (None, ""):
            yield from wrapped(label, str(content), indent)
