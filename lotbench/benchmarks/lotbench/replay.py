"""Replay of a game, round by round: guesses, verdicts, questions, answers and clues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench.games import Opinion, Round, read_chains, read_rounds
from lotbench.report.replay import Replay, ended, wrapped
from lotbench.types import JSON, Trace

BY_RULE = {
    "exact": "accepted (the key text itself)",
    "repeat": "not it (judged before)",
    "none": "not judged",
}


def replay(sample: Mapping[str, Any], trace: Trace) -> Replay:
    """Return a game as text and as data: the sample, its causal chains, the rounds, and the end."""
    lines = [f"{sample['id']}, repeat {trace.repeat}: {sample.get('image', 'no picture')}"]
    lines += wrapped("scene", sample["caption"])
    lines += wrapped("response", sample["response"])
    lines += wrapped("key text", sample["key_text"])
    for point in sample.get("points", ()):
        lines += wrapped("point", point["response"])
    chains = [chain.text for chain in read_chains(trace.steps) if chain.text]
    for chain in chains:
        lines += wrapped("chain", chain)
    rounds = [at for at in read_rounds(trace.steps) if at.status]
    for at in rounds:
        lines += _lines(at)
    return ended(sample, trace, lines, {"chains": chains, "rounds": [_table(at) for at in rounds]})


def _lines(at: Round) -> list[str]:
    lines = ["", f"round {at.number}"]
    lines += wrapped("writes" if at.whole else "fills in", at.guess or f"nothing ({at.status})")
    for name, text in _story(at).items():
        lines += wrapped(name.replace("_", " "), text, indent=4)
    lines += wrapped("verdict", verdict(at))
    if at.leap:
        lines += wrapped("leap", f"after {at.leap.failed} failed attempts")
    if at.question:
        lines += wrapped("asks", at.question)
        lines += wrapped("is told", at.answer or "nothing (the oracle could not be read)")
    elif at.asked in ("wh_question", "either_or"):
        lines += wrapped("asks", f"nothing that Yes or No answers ({at.asked})")
    for clue in at.clues:
        lines += wrapped("clue", clue)
    if at.frame:
        lines += wrapped("frame", at.frame)
    return lines


def _table(at: Round) -> dict[str, JSON]:
    return {
        "number": at.number,
        "guess": at.guess,
        "status": at.status,
        "verdict": verdict(at),
        "story": _story(at),
        "question": at.question,
        "answer": at.answer,
        "clues": list(at.clues),
    }


def _story(at: Round) -> dict[str, str]:
    """Return the judges' texts about the guess: the intervened chain, and the reason for each criterion."""
    return {
        ("second opinion: " if opinion.step == "confirm" else "") + name: text
        for opinion in at.opinions
        for name, text in opinion.texts.items()
    }


def verdict(at: Round) -> str:
    """Return the verdict of a round in words; a rule, or a second opinion, replaces what came before it."""
    parts: list[str] = []
    for opinion in at.opinions:
        if opinion.accepted is None:
            parts.append(f"judge {opinion.judge + 1} could not be read ({opinion.status})")
        elif opinion.how in BY_RULE:
            parts = [_by_rule(at, opinion)]
        elif opinion.step == "confirm":
            second = f"accepted, and {'confirmed' if opinion.accepted else 'not confirmed: not it'}"
            parts = [*(parts[:-1] if opinion.of > 1 else []), _which(opinion) + second]
        elif opinion.step == "different":
            parts.append("another idea" if opinion.accepted else "no other idea: not it")
        else:
            parts.append(_which(opinion) + ("accepted" if opinion.accepted else "not it"))
    return "; ".join(parts)


def _by_rule(at: Round, opinion: Opinion) -> str:
    """Return the words for a decision made without a judge."""
    if opinion.how != "exact":
        return BY_RULE[opinion.how]
    text = "response" if at.whole else "key text"
    return (
        f"accepted (the {text} itself)"
        if opinion.accepted
        else f"not it (the {text} itself, which was met before)"
    )


def _which(opinion: Opinion) -> str:
    """Return a prefix that names the target of an opinion; "" if there is only one."""
    return f"response {opinion.target + 1}: " if opinion.of > 1 else ""
