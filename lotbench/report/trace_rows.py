"""Traces as flat table rows, one per episode or one per step.

Nested fields get dotted names; a list stays a list and is written as JSON.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lotbench.types import JSON, Trace

SAID = ("guess", "question")
"""The texts of a round that each of its rows has, so that tables of several runs can be joined by them."""


def episodes(traces: Iterable[Trace], run: str, model: str) -> Iterator[dict[str, JSON]]:
    """Yield one row per episode: run, model, sample, outcome, the last guess and question, the score with its parts, usage."""
    for trace in traces:
        by_round = _texts_by_round(trace)
        last: dict[str, JSON] = dict.fromkeys(SAID)
        for texts in by_round.values():
            last |= {name: text for name, text in texts.items() if text}
        score = {
            "score": trace.score.value,
            "why": trace.why or trace.score.why,
            "parts": trace.score.parts,
            "usage": trace.usage,
        }
        yield _flat({**_place(trace, run, model), **last, **score})


def steps(traces: Iterable[Trace], run: str, model: str) -> Iterator[dict[str, JSON]]:
    """Yield one row per step, in order, with the guess and the question of its round."""
    for trace in traces:
        by_round = _texts_by_round(trace)
        for step in trace.steps:
            yield _flat({**_place(trace, run, model), **by_round[step.get("round")], **step})


def _place(trace: Trace, run: str, model: str) -> dict[str, JSON]:
    names = ("sample", "repeat", "sequence", "outcome")
    return {"run": run, "model": model, **{name: getattr(trace, name) for name in names}}


def _texts_by_round(trace: Trace) -> dict[Any, dict[str, JSON]]:
    """Return the guess and the question of each round, by round number; None for a text that the round does not have."""
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
