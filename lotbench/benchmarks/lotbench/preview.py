"""Every question of the game, filled in with one sample: what `show` prints and a dry run estimates from.

The history holds one made-up round, so that each field of the prompts is seen in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lotbench.benchmarks.lotbench import candidate, chain, check
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.types import Question

ROUND = {
    "filling": "first try",
    "status": "ok",
    "question": "Is it alive?",
    "answer": "No",
    "clues": ["a first clue"],
}
CHAIN = "node -> node -> last effect\nnode -> node -> last effect\n= what maps to what\n=> the effect"


def preview(walk: Walk) -> tuple[Question, ...]:
    """One question of each step that these settings can reach, in the order of the game."""
    return tuple(_questions(replace(walk, state={**walk.state, "round": 2, "history": [ROUND]})))


def _questions(walk: Walk) -> Iterator[Question]:
    turn = {"filling": "second try", "status": "ok"}
    yield from _first(candidate.respond_ask(_at(walk, "respond")))
    yield from _first(
        candidate.respond_ask(_at(walk, "respond", draft={"notes": "small questions, answered"}))
    )
    if chain.missing(walk, 0):
        yield from _first(chain.ask(_at(walk, "check", turn=turn), 0))
    shared = {chain.name(seat): {"text": CHAIN} for seat in range(walk.seats["judge"])}
    yield from _first(check.ask(_at(walk, "check", turn=turn, shared=shared)))
    if walk.settings.confirm != "never":
        yield from _first(check.ask(_at(walk, "check", turn=turn, shared=shared, draft={"first": 0})))
    if walk.settings.encore:
        yield from _first(
            check.ask(_at(walk, "check", turn={**turn, "known": ["found before"]}, shared=shared))
        )
    if walk.settings.ask:
        yield from _first(candidate.ask_ask(_at(walk, "ask", turn=turn, draft={"notes": ""})))
        yield from _first(
            candidate.answer_ask(_at(walk, "answer", turn={**turn, "question": "Is it alive?"}))
        )


def _at(walk: Walk, step: str, **state: Any) -> Walk:
    return replace(walk, step=step, state={**walk.state, **state})


def _first(questions: Any) -> tuple[Question, ...]:
    return tuple(questions[:1])
