"""Every question of RINoBench, filled in with one sample: what `show` prints and a dry run estimates from.

The gold justification stands in for the candidate's, and made-up arguments for what a judge would find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lotbench.benchmarks.rinobench import candidate, judge
from lotbench.benchmarks.rinobench.settings import Walk
from lotbench.types import Question

FOUND = {
    "gold": {"known": {"gk1": "A gold argument."}, "novelty": {"gn1": "Another gold argument."}},
    "claims": {"known": {"k1": "A claim of what is known."}, "novelty": {"n1": "A claim of what is new."}},
    "steps": {"steps": ["A first evaluation step.", "A second one."]},
}


def preview(walk: Walk) -> tuple[Question, ...]:
    """One question of each step that these settings can reach, in the order of a walk."""
    first: dict[str, Question] = {}
    for question in _questions(walk):
        first.setdefault(question.step, question)
    return tuple(first.values())


def _questions(walk: Walk) -> Iterator[Question]:
    yield from candidate.ask(_at(walk, "respond"))
    turn = {"status": "ok", "novelty_score": 3, "reasoning": walk.sample.novelty_reasoning}
    yield from judge.ask(_at(walk, "judge", turn=turn))
    yield from judge.ask(_at(walk, "judge", turn=turn, draft={"done": FOUND}))


def _at(walk: Walk, step: str, **state: Any) -> Walk:
    return replace(walk, step=step, state={**walk.state, **state})
