"""The judge's half: what a justification argues, what of it is in the gold or grounded, and how well it aligns.

Two stages, each asked all at once: arguments and evaluation steps first, then what rests on them. A judge
failure costs the idea its justification scores and never its novelty score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lotbench.benchmarks.rinobench import alignment, claims
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.benchmarks.rinobench.settings import Walk
from lotbench.harness import pieces
from lotbench.harness.pieces import Piece
from lotbench.harness.state import Update
from lotbench.types import Answer, Question


def ask(walk: Walk) -> Sequence[Question]:
    """Everything that can be asked now and has no readable answer yet."""
    return pieces.ask(walk, _open(walk))


def read_judged(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What the answers say."""
    return pieces.read_pieces(walk, _open(walk), answers)


def read_end(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The end of a walk that nothing broke off: scored, or invalid where there is no score of the rubric."""
    return {"draft": {}, "outcome": "scored" if walk.state["turn"]["status"] == "ok" else "invalid"}


def _open(walk: Walk) -> list[Piece]:
    """The pieces of the first stage that is not done, without those that are."""
    if not walk.settings.justification or not walk.state["turn"]["reasoning"]:
        return []
    done = pieces.found(walk)
    first = [piece for piece in _arguments(walk) if piece.name not in done]
    return first or [piece for piece in _checks(walk, done) if piece.name not in done]


def _arguments(walk: Walk) -> Iterator[Piece]:
    limit, prompt = walk.settings.max_claims, walk.prompt("extract")
    for name, text, prefix in (
        ("gold", walk.sample.novelty_reasoning, "g"),
        ("claims", walk.state["turn"]["reasoning"], ""),
    ):
        asking = partial(claims.extract, prompt, text, limit, gold=name == "gold")
        yield Piece(name, asking, partial(claims.read_arguments, limit=limit, prefix=prefix))
    yield Piece("steps", partial(alignment.ask_steps, walk), alignment.read_steps)


def _checks(walk: Walk, done: Mapping[str, Any]) -> Iterator[Piece]:
    """The checks of the kinds that have claims, and the k calls of alignment."""
    gold, mine = done["gold"], done["claims"]
    kinds = [kind for kind in KINDS if mine[kind]]
    for each in [kinds] if walk.settings.grounding == "joint" else [[kind] for kind in kinds]:
        if each:
            yield checking(walk, each, gold, mine)
    for draw in range(walk.settings.alignment_calls):
        asking = partial(alignment.ask, walk, done["steps"]["steps"], draw)
        yield Piece(f"alignment/{draw}", asking, alignment.read_score)


def checking(walk: Walk, kinds: Sequence[str], gold: claims.Arguments, mine: claims.Arguments) -> Piece:
    """The check of the claims of some kinds; what it finds stands under `claims`."""

    def read_claims(answer: Answer) -> dict[str, Any]:
        return {"claims": claims.read_check(walk, answer, kinds, gold, mine)}

    return Piece("+".join(kinds), partial(claims.check, walk, kinds, gold, mine), read_claims)
