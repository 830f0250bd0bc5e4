"""An episode replayed from its trace, step by step, as text for a terminal and as JSON.

`replay` works for all benchmarks: it shows each value of the trace by name, and then the excerpts of model texts that the
benchmark's report has of the episode (its readings). A benchmark with a replay of its own uses the other functions here.
"""

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lotbench.errors import UsageError, suggestion
from lotbench.report.markdown import visible
from lotbench.report.sections import Excerpt
from lotbench.types import JSON, Trace

WIDTH = 100
HIDDEN = frozenset({"id", "language", "canary", "licence", "source"})
"""Fields of a sample that are not printed."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A replayed episode, as text and as a table for JSON."""

    text: str
    table: Mapping[str, JSON]

    def __str__(self) -> str:
        return visible(self.text)


def find_trace(traces: Sequence[Trace], sample: str | None, repeat: int | None) -> Trace:
    """Return the first trace of a sample and repeat; None stands for any.

    Raises:
        UsageError: There is no such finished episode.
    """
    for trace in traces:
        if sample in (None, trace.sample) and repeat in (None, trace.repeat):
            return trace
    which = "" if repeat is None else f", repeat {repeat},"
    near = suggestion(sample or "", {trace.sample for trace in traces})
    raise UsageError(f"no finished task of sample {sample or '(any)'}{which} in this run{near}")


def replay(sample: Mapping[str, Any], trace: Trace, readings: Sequence[Excerpt]) -> Replay:
    """Return the replay of an episode: its sample, its steps, and the excerpts in `readings`."""
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
    """Return the replay of an episode with its outcome and score added.

    Args:
        sample: The fields of the sample.
        trace: The trace of the episode.
        lines: The lines of the text so far.
        parts: Further fields of the table.
    """
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
    """Return a text labelled `name` as wrapped lines for a terminal; control characters are replaced by U+FFFD."""
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
    """Return the heading of a step: its name, the number of its draw if it is not the first, and its role."""
    name = str(step["step"]).replace("_", " ") + (f" {step['draw'] + 1}" if step["draw"] else "")
    return f"{name}, by the {step['role']}" if step["role"] else name


def _value_lines(value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of a value, one for each key of a dict; for a list of dicts, only its length."""
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
