"""The judge's half: what a justification argues, what of it is in the gold or grounded, and how well it aligns.

Two stages, each asked all at once: arguments and evaluation steps first, then what rests on them. A reply that
cannot be read is asked for once more; a second one makes the walk a judge failure, which costs the idea its
justification scores and never its novelty score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lotbench.benchmark import record
from lotbench.benchmarks.rinobench import alignment, claims
from lotbench.benchmarks.rinobench.answering import again, item, options
from lotbench.benchmarks.rinobench.claims import KINDS
from lotbench.errors import Unread
from lotbench.state import Update, Walk
from lotbench.types import Answer, Question


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to find out: how it is asked (given `attempt` and `again`) and how the answer is read."""

    name: str
    ask: Callable[..., Question]
    read: Callable[[Answer], Any]


def ask(walk: Walk) -> Sequence[Question]:
    """Everything that can be asked now and has no readable answer yet."""
    unread = walk.state["draft"].get("unread", {})
    return [
        piece.ask(attempt=int(piece.name in unread), again=again(walk, unread.get(piece.name)))
        for piece in _open(walk)
    ]


def read(walk: Walk, answers: Sequence[Answer]) -> Update:
    """What the answers say; a piece that could not be read twice ends the walk as a judge failure."""
    draft = walk.state["draft"]
    done, unread = dict(draft.get("done", {})), dict(draft.get("unread", {}))
    good: list[dict[str, Any]] = []
    bad: list[dict[str, Any]] = []
    failed: list[str] = []
    for piece, answer in zip(_open(walk), answers, strict=True):
        try:
            done[piece.name] = found = piece.read(answer)
            good.append(record(answer, {"status": "ok", **_told(answer.question.step, found)}))
        except Unread as error:
            bad.append(record(answer, {"status": error.kind, "reason": error.reason}))
            unread[piece.name] = error.reason
            if answer.question.attempt:
                failed.append(f"{answer.question.step}: {error.reason}")
    update: Update = {"draft": {"done": done, "unread": unread}, "steps": [*good, *bad]}
    if failed:
        update |= {"outcome": "judge_failed", "why": "; ".join(failed)}
    return update


def read_end(walk: Walk, answers: Sequence[Answer]) -> Update:
    """The end of a walk that nothing broke off: scored, or invalid where there is no score of the rubric."""
    return {"draft": {}, "outcome": "scored" if walk.state["turn"]["status"] == "ok" else "invalid"}


def _open(walk: Walk) -> list[Piece]:
    """The pieces of the first stage that is not done, without those that are."""
    if not options(walk).justification or not walk.state["turn"]["reasoning"]:
        return []
    done = walk.state["draft"].get("done", {})
    first = [piece for piece in _arguments(walk) if piece.name not in done]
    return first or [piece for piece in _checks(walk, done) if piece.name not in done]


def _arguments(walk: Walk) -> Iterator[Piece]:
    limit, prompt = options(walk).max_claims, walk.prompt("extract")
    for name, text, prefix in (
        ("gold", item(walk).novelty_reasoning, "g"),
        ("claims", walk.state["turn"]["reasoning"], ""),
    ):
        asking = partial(claims.extract, prompt, text, limit, gold=name == "gold")
        yield Piece(name, asking, partial(claims.read_arguments, limit=limit, prefix=prefix))
    yield Piece("steps", partial(alignment.ask_steps, walk), alignment.read_steps)


def _checks(walk: Walk, done: Any) -> Iterator[Piece]:
    """The checks of the kinds that have claims, and the k calls of alignment."""
    gold, mine = done["gold"], done["claims"]
    kinds = [kind for kind in KINDS if mine[kind]]
    for each in [kinds] if options(walk).grounding == "joint" else [[kind] for kind in kinds]:
        if each:
            asking = partial(claims.check, walk, each, gold, mine)
            yield Piece(
                "+".join(each), asking, partial(claims.read_check, walk, kinds=each, gold=gold, claims=mine)
            )
    for draw in range(options(walk).alignment_calls):
        asking = partial(alignment.ask, walk, done["steps"], draw)
        yield Piece(f"alignment/{draw}", asking, alignment.read_score)


def _told(step: str, found: Any) -> dict[str, Any]:
    """What was read, as a step of the trace tells it."""
    if step == "alignment_steps":
        return {"steps": found}
    return {"claims": found} if step.startswith("ground") else found
