"""The dynamic hallucination prompt: what a task's answers leave behind for the prompt of the next (App. D).

The memory is one positive and one negative example. It changes between tasks only, is part of the trace,
and so a run that was stopped goes on with the prompts that it would have had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.hicbench.settings import Settings

Memory = Mapping[str, Any]
"""`positive` and `negative`, each None or {"text", "total", "sample"}; `total` None: of people."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer with what its judges make of it: the sum of the three scores, and its class."""

    text: str
    total: float
    ih: bool
    dh: bool


def begin(settings: Settings) -> Memory:
    """Return the memory of a repeat before its first task."""

    def example(name: Any) -> Memory | None:
        text = settings.examples.get(name)
        return None if text is None else {"text": text, "total": None, "sample": None}

    return {"positive": example("positive"), "negative": example("negative")}


def example_texts(memory: Memory | None, settings: Settings) -> dict[str, str]:
    """Return the texts of the examples that the next prompt shows, as `good` and `bad`."""
    now = memory or begin(settings)
    named = (("good", now["positive"]), ("bad", now["negative"]))
    return {name: example["text"] for name, example in named if example is not None}


def after(memory: Memory | None, settings: Settings, sample: str, answers: Sequence[Rated]) -> Memory:
    """Return the memory after a task (Algorithm 1, lines 8 to 18).

    An IH takes the place of the positive example if it scores more than the best before it; any IH does of one
    that people gave. The latest DH is the negative example.
    """
    now = dict(memory or begin(settings))
    best = -1.0
    if now["positive"] is not None:
        best = now["positive"]["total"] or best
    for answer in answers:
        example = {"text": answer.text, "total": answer.total, "sample": sample}
        if answer.ih and answer.total > best:
            now["positive"], best = example, answer.total
        if answer.dh:
            now["negative"] = example
    return now
