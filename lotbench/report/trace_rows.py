"""Traces as flat rows for a table: one a task, or one a step, every field with a plain value.

What lies deeper becomes a dotted name; a list stays a list and is written as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lotbench.types import JSON, Trace

SAID = ("guess", "question")
"""What a row says of its round, whatever its step is: tables of several runs are joined by these."""


def episodes(traces: Iterable[Trace], run: str, model: str) -> Iterator[dict[str, JSON]]:
    """Yield one row an episode: where it stands, how it ended, what was guessed and asked last, its score with its parts, what it used."""
    for trace in traces:
        by_round = _texts_by_round(trace)
        last = {
            name: next((texts[name] for texts in reversed(by_round.values()) if texts[name]), None)
            for name in SAID
        }
        yield _flat(
            {
                **_place(trace, run, model),
                **last,
                "score": trace.score.value,
                "why": trace.why or trace.score.why,
                "parts": trace.score.parts,
                "usage": trace.usage,
            }
        )


def steps(traces: Iterable[Trace], run: str, model: str) -> Iterator[dict[str, JSON]]:
    """Yield one row a step of an episode, in order, with what was guessed and asked in its round."""
    for trace in traces:
        by_round = _texts_by_round(trace)
        for step in trace.steps:
            yield _flat({**_place(trace, run, model), **by_round[step.get("round")], **step})


def _place(trace: Trace, run: str, model: str) -> dict[str, JSON]:
    return {
        "run": run,
        "model": model,
        "sample": trace.sample,
        "repeat": trace.repeat,
        "sequence": trace.sequence,
        "outcome": trace.outcome,
    }


def _texts_by_round(trace: Trace) -> dict[Any, dict[str, JSON]]:
    """Return what was guessed and asked in each round, in the order of the rounds; null where a benchmark has none."""
    rounds: dict[Any, dict[str, JSON]] = {}
    for step in trace.steps:
        texts = rounds.setdefault(step.get("round"), dict.fromkeys(SAID))
        value: Any = step.get("value")
        if isinstance(value, Mapping):
            texts |= {name: value[name] for name in SAID if value.get(name)}
    return rounds


def _flat(table: Mapping[str, Any], before: str = "") -> dict[str, JSON]:
    flat: dict[str, JSON] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name}.")
        else:
            flat[before + name] = value
    return flat
