"""The check of a round: words decide where they can, else E1 does, and a second opinion where one is wanted.

A judge that cannot be read is asked again once, then the next judge is tried once; if neither can be read
the game is a judge failure, never a no.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lotbench.benchmarks.lotbench import chain, words
from lotbench.benchmarks.lotbench.judge import judging, verdict_question
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.errors import JudgeError
from lotbench.harness.benchmark import record, remark
from lotbench.harness.reask import Unreadable, reading
from lotbench.harness.state import Update
from lotbench.types import Answer, Question


def ask(walk: Walk) -> Sequence[Question]:
    """What to ask next: nothing where words decide, a chain where one is missing, then the verdict."""
    if _decided(walk) or "verdict" in walk.state["turn"]:
        return ()
    draft, seat = walk.state["draft"], _seat(walk)
    if chain.missing(walk, seat):
        return chain.ask(walk, seat)
    step, filling = "confirm" if "first" in draft else "check", walk.state["turn"]["filling"]
    story, unread = chain.text(walk, seat), draft.get("unread")
    return (verdict_question(walk, step, filling, seat=seat, chain=story, unread=unread),)


def read_check(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Solved, not it, or a judge failure; the last round's no ends the game."""
    if not answers:
        accepted, how = _decided(walk) or (False, "none")
        return _settled(walk, accepted, [remark("check", walk.round, {"accepted": accepted, "how": how})])
    if answers[0].question.step in ("chain", "chain_check"):
        return _chained(walk, answers, _seat(walk))
    answer = answers[0]
    seat = answer.question.seat
    verdict = reading(answer, judging(walk, answer.question.step).read)
    if isinstance(verdict, Unreadable):
        steps = [record(answer, {"status": verdict.status, "judge": seat})]
        if verdict.again and not walk.state["draft"].get("tried"):
            return {"draft": {**walk.state["draft"], "unread": verdict.reason}, "steps": steps}
        return _next_judge(walk, seat, verdict.reason) | {"steps": steps}
    value = {"accepted": verdict.accepted, "how": "judge", "judge": seat, "status": "ok", **verdict.parts}
    if near := words.overlap(walk.state["turn"]["filling"], walk.sample.key_text):
        value["overlap"] = near
    steps = [record(answer, value)]
    wants_second = verdict.accepted and walk.settings.confirm != "never"
    if wants_second and "first" not in walk.state["draft"]:
        return {"draft": {"first": seat}, "steps": steps}
    return _settled(walk, verdict.accepted, steps)


def _chained(walk: Walk, answers: Sequence[Answer], seat: int) -> Update:
    try:
        return chain.read_answers(walk, answers, seat)
    except JudgeError as error:
        steps = [record(answers[0], {"chain": None, "status": error.kind, "judge": seat})]
        return _next_judge(walk, seat, error.reason) | {"steps": steps}


def _decided(walk: Walk) -> tuple[bool, str] | None:
    """A verdict that needs no judge: nothing to judge, the key text itself, a filling judged before."""
    turn = walk.state["turn"]
    if turn["status"] != "ok":
        return False, "none"
    said = words.same(turn["filling"])
    if said == words.same(walk.sample.key_text):
        return True, "exact"
    if any(past.get("filling") and words.same(past["filling"]) == said for past in walk.state["history"]):
        return False, "repeat"
    return None


def _settled(walk: Walk, accepted: bool, steps: list[Any]) -> Update:
    update: Update = {"turn": {**walk.state["turn"], "verdict": accepted}, "draft": {}, "steps": steps}
    if accepted:
        update["outcome"] = "solved"
    elif walk.round >= walk.settings.max_rounds:
        update["outcome"] = "unsolved"
    return update


def _seat(walk: Walk) -> int:
    """The judge whose turn it is: the first that can be read; to confirm, one that is another."""
    first = walk.state["draft"].get("first")
    if first is not None and walk.settings.confirm == "same_judge":
        return int(first)
    return _free(walk, walk.state["draft"].get("tried", ()))[0]


def _free(walk: Walk, tried: Sequence[int]) -> list[int]:
    first = walk.state["draft"].get("first")
    return [seat for seat in range(walk.seats["judge"]) if seat != first and seat not in tried]


def _next_judge(walk: Walk, seat: int, reason: str) -> Update:
    """Go on to the next judge, if that is not what was just done, or give the game up as a judge failure."""
    draft = walk.state["draft"]
    bound = "first" in draft and walk.settings.confirm == "same_judge"
    if bound or draft.get("tried") or not _free(walk, [seat]):
        return {"draft": {}, "outcome": "judge_failed", "why": f"judge {seat + 1}: {reason}"}
    return {"draft": {name: draft[name] for name in ("first",) if name in draft} | {"tried": [seat]}}
