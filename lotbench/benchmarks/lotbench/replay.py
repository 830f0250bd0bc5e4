"""A game told again, round by round: what was filled in, how it was judged, asked, answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench.games import Opinion, Round, read_chains, read_rounds
from lotbench.report.replay import Replay, ended, wrapped
from lotbench.types import JSON, Trace


def replay(sample: Mapping[str, Any], trace: Trace) -> Replay:
    """A game: the sample, the causal chains that it was judged by, the rounds, the end."""
    lines = [f"{sample['id']}, repeat {trace.repeat}: {sample.get('image', 'no picture')}"]
    lines += wrapped("scene", sample["caption"])
    lines += wrapped("response", sample["response"])
    lines += wrapped("key text", sample["key_text"])
    chains = [chain.text for chain in read_chains(trace.steps) if chain.text]
    for chain in chains:
        lines += wrapped("chain", chain)
    rounds = [at for at in read_rounds(trace.steps) if at.status]
    for at in rounds:
        lines += _lines(at)
    return ended(sample, trace, lines, {"chains": chains, "rounds": [_table(at) for at in rounds]})


def _lines(at: Round) -> list[str]:
    lines = ["", f"round {at.number}"]
    lines += wrapped("fills in", at.filling or f"nothing ({at.status})")
    for name, text in _story(at).items():
        lines += wrapped(name.replace("_", " "), text, indent=4)
    lines += wrapped("verdict", _verdict(at))
    if at.question:
        lines += wrapped("asks", at.question)
        lines += wrapped("is told", at.answer or "nothing (the oracle could not be read)")
    for clue in at.clues:
        lines += wrapped("clue", clue)
    return lines


def _table(at: Round) -> dict[str, JSON]:
    return {
        "number": at.number,
        "filling": at.filling,
        "status": at.status,
        "verdict": _verdict(at),
        "story": _story(at),
        "question": at.question,
        "answer": at.answer,
        "clues": list(at.clues),
    }


def _story(at: Round) -> dict[str, str]:
    """What the judges wrote about the filling: the intervened chain, and the reason of each criterion."""
    return {
        ("second opinion: " if opinion.step == "confirm" else "") + name: text
        for opinion in at.opinions
        for name, text in opinion.texts.items()
    }


def _verdict(at: Round) -> str:
    """How the check came out: `accepted`, `not it`, `not it (judged before)`, ..."""
    told: list[str] = []
    for opinion in at.opinions:
        told = [*told, _unread(opinion)] if opinion.accepted is None else _read(opinion, told)
    return "; ".join(told)


def _unread(opinion: Opinion) -> str:
    return f"judge {opinion.judge + 1} could not be read ({opinion.status})"


def _read(opinion: Opinion, before: list[str]) -> list[str]:
    """What is told once this opinion is in; a second one and a rule speak for all before them."""
    if opinion.how == "none":
        return ["not judged"]
    said = "accepted" if opinion.accepted else "not it"
    if opinion.how != "judge":
        return [f"{said} ({'the key text itself' if opinion.how == 'exact' else 'judged before'})"]
    if opinion.step == "confirm":
        return [f"accepted, and {'confirmed' if opinion.accepted else 'not confirmed: not it'}"]
    return [*before, said]
