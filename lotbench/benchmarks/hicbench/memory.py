"""The dynamic hallucination prompt: examples that one task's answers pass on to the next prompt (App. D).

The memory is one positive and one negative example. It changes only between tasks and is part of the trace, so a
resumed run continues with the same prompts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lotbench.benchmarks.hicbench.settings import Settings

Memory = Mapping[str, Any]
"""`positive` and `negative`, each None or {"text", "total", "sample"}; `total` is None for an example from the settings."""


@dataclass(frozen=True, slots=True)
class Rated:
    """An answer that may become an example: its text, the sum of its mean marks, and whether it is an IH and a DH."""

    text: str
    total: float
    ih: bool
    dh: bool


def begin(settings: Settings) -> Memory:
    """Return the memory before the first task of a repeat: the examples in the settings, None for a missing one."""

    def example(name: Any) -> Memory | None:
        text = settings.examples.get(name)
        return None if text is None else {"text": text, "total": None, "sample": None}

    return {"positive": example("positive"), "negative": example("negative")}


def example_texts(memory: Memory | None, settings: Settings) -> dict[str, str]:
    """Return the texts of the examples for the next prompt, under `good` and `bad`; a missing example has no entry."""
    now = memory or begin(settings)
    named = (("good", now["positive"]), ("bad", now["negative"]))
    return {name: example["text"] for name, example in named if example is not None}


def after(memory: Memory | None, settings: Settings, sample: str, answers: Sequence[Rated]) -> Memory:
    """Return the memory after a task (Algorithm 1, lines 8 to 18).

    An IH replaces the positive example if the sum of its marks is higher; any IH replaces an example from the settings.
    The latest DH becomes the negative example.

    Args:
        memory: The memory before the task; None before the first task.
        settings: The settings, which may have the first examples.
        sample: The id of the task.
        answers: The answers to the task, in order.
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
