"""Every question of the benchmark, filled in with one keyword: what `show` prints and a dry run estimates from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lotbench.benchmarks.liveideabench import candidate, judge
from lotbench.benchmarks.liveideabench.settings import Walk
from lotbench.harness.benchmark import remark
from lotbench.types import Question

WORDS = 100
FIRST, SECOND = (
    " ".join([f"the {which} idea, in a hundred words:", *["word"] * (WORDS - 6)])
    for which in ("first", "second")
)


def preview(walk: Walk) -> tuple[Question, ...]:
    """One question of each step that these settings can reach, in order."""
    return tuple(_questions(walk))


def _questions(walk: Walk) -> Iterator[Question]:
    yield from candidate.respond_ask(_after(walk))[:1]
    yield from candidate.respond_ask(_after(walk, {"status": "refused"}))[:1]
    both = [{"status": "ok", "idea": text} for text in (FIRST, SECOND)]
    judged = judge.judge_ask(_after(walk, *both))
    for step in ("judge", "compare"):
        yield from [question for question in judged if question.step == step][:1]


def _after(walk: Walk, *values: dict[str, Any]) -> Walk:
    """The walk after replies that were read as these."""
    steps = [
        {**remark("respond", number, value), "role": "candidate"} for number, value in enumerate(values, 1)
    ]
    return replace(walk, state={**walk.state, "steps": steps})
