"""The check of a round: words decide where they can, else E1 does, and a second opinion where one is wanted.

A judge that cannot be read is asked again once, then the next judge is tried once; if neither can be read
the game is a judge failure, never a no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lotbench.benchmarks.lotbench import chain, encore, whole, words
from lotbench.benchmarks.lotbench.judge import judging, verdict_question
from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings, Walk
from lotbench.errors import JudgeError
from lotbench.harness.benchmark import record, remark
from lotbench.harness.reask import Unreadable, reading
from lotbench.harness.state import Update
from lotbench.types import JSON, Answer, Question


def ask(walk: Walk) -> Sequence[Question]:
    """What to ask next: nothing where words decide, a chain where one is missing, then the verdict."""
    if _decided(walk) or "verdict" in walk.state["turn"]:
        return ()
    draft, seat = walk.state["draft"], _seat(walk)
    unread, target = draft.get("unread"), chain.target(walk)
    if draft.get("daeso") or "known" in walk.state["turn"]:
        return (encore.question(walk, seat=seat, unread=unread),)
    if chain.missing(walk, seat):
        return chain.ask(walk, seat)
    step, filling = "confirm" if "first" in draft else "check", walk.state["turn"]["filling"]
    story = chain.text(walk, seat)
    return (verdict_question(walk, step, filling, seat=seat, chain=story, unread=unread, target=target),)


def read_check(walk: Walk, answers: Sequence[Answer]) -> Update:
    """Solved, not it, or a judge failure; the last round's no ends the game."""
    if not answers:
        accepted, how, target = _decided(walk) or (False, "none", 0)
        place = _met(walk, target) if accepted else {}
        steps = [remark("check", walk.round, {"accepted": accepted, "how": how, **place})]
        return _settled(walk, accepted, target, steps)
    answer = answers[0]
    if answer.question.step in ("chain", "chain_check"):
        return _chained(walk, answers, _seat(walk))
    seat, draft, step = answer.question.seat, walk.state["draft"], answer.question.step
    verdict = reading(answer, encore.JUDGING.read if step == "different" else judging(walk, step).read)
    if isinstance(verdict, Unreadable):
        steps = [record(answer, {"status": verdict.status, "judge": seat})]
        if verdict.again and not draft.get("tried"):
            return {"draft": {**draft, "unread": verdict.reason}, "steps": steps}
        return _next_judge(walk, seat, verdict.reason) | {"steps": steps}
    place = _met(walk, chain.target(walk)) if step != "different" else {}
    value: dict[str, JSON] = {
        "accepted": verdict.accepted,
        "how": "judge",
        "judge": seat,
        "status": "ok",
        **place,
        **verdict.parts,
    }
    near = None if walk.settings.whole else words.overlap(walk.state["turn"]["filling"], walk.sample.key_text)
    if near and step != "different":
        value["overlap"] = near
    return _after_verdict(walk, step, seat, verdict.accepted, [record(answer, value)])


def beyond(sample: Item, settings: Settings, walks: int, seats: Mapping[str, int]) -> dict[str, int]:
    """The most calls that games on a sample make beyond `settings.calls`: chains, and checks against further responses."""
    wanted = len(whole.targets(sample)) if settings.whole else 1
    stored = settings.judge_mode == "causal" and settings.chain == "stored"
    chains = (chain.REBUILDS + 1) * (2 + chain.CONTROLS) * seats.get("judge", 0) if stored else 0
    checks = walks * settings.max_rounds * (1 if settings.confirm == "never" else 2)
    return {"judge": wanted * chains + (wanted - 1) * checks}


def _after_verdict(walk: Walk, step: str, seat: int, accepted: bool, steps: list[Any]) -> Update:
    """What a verdict leads to: a second opinion, whether it is another idea, the next response looked for, an end."""
    draft, target = walk.state["draft"], chain.target(walk)
    place = {"target": target} if target else {}
    if step == "different":
        return _settled(walk, accepted, target, steps)
    if accepted and walk.settings.confirm != "never" and "first" not in draft:
        return {"draft": {**place, "first": seat}, "steps": steps}
    if encore.wanted(walk, accepted):
        return {"draft": {**place, "daeso": True}, "steps": steps}
    if not accepted and target + 1 < _looked_for(walk):
        return {"draft": {"target": target + 1}, "steps": steps}
    return _settled(walk, accepted, target, steps)


def _chained(walk: Walk, answers: Sequence[Answer], seat: int) -> Update:
    try:
        return chain.read_answers(walk, answers, seat)
    except JudgeError as error:
        steps = [record(answers[0], {"chain": None, "status": error.kind, "judge": seat})]
        return _next_judge(walk, seat, error.reason) | {"steps": steps}


def _decided(walk: Walk) -> tuple[bool, str, int] | None:
    """A verdict that needs no judge: nothing to judge, one judged before, what is looked for itself; and which."""
    turn = walk.state["turn"]
    if turn["status"] != "ok":
        return False, "none", 0
    said = words.same(turn["filling"])
    if any(past.get("filling") and words.same(past["filling"]) == said for past in walk.state["history"]):
        return False, "repeat", 0
    right = [target.response for target in whole.targets(walk.sample)]
    for target, text in enumerate(right if walk.settings.whole else [walk.sample.key_text]):
        if said == words.same(text):
            # After another answer was found, its key text is no different idea.
            return said not in map(words.same, encore.known(walk)), "exact", target
    return None


def _settled(walk: Walk, accepted: bool, target: int, steps: list[Any]) -> Update:
    turn = {**walk.state["turn"], "verdict": accepted} | ({"target": target} if accepted and target else {})
    update: Update = {"turn": turn, "draft": {}, "steps": steps}
    won, goes_on = accepted, walk.settings.encore
    if goes_on and accepted:
        found = {"text": turn["filling"], "failed": encore.failed(walk), **_met(walk, target)}
        update["steps"] = [
            *steps,
            remark("leap", walk.round, {"number": len(encore.leaps(walk)) + 1, **found}),
        ]
    if goes_on:
        won = accepted or bool(encore.leaps(walk))
    if walk.round >= walk.settings.max_rounds or (accepted and not goes_on):
        update["outcome"] = "solved" if won else "unsolved"
    return update


def _looked_for(walk: Walk) -> int:
    """How many responses solve the game."""
    return len(whole.targets(walk.sample)) if walk.settings.whole else 1


def _met(walk: Walk, target: int) -> dict[str, Any]:
    """Which response a verdict is about, where several are looked for."""
    return {"target": target, "of": _looked_for(walk)} if _looked_for(walk) > 1 else {}


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
    return {
        "draft": {name: draft[name] for name in ("first", "target", "daeso") if name in draft}
        | {"tried": [seat]}
    }
