"""Replay of a game, round by round: guesses, verdicts, questions, answers and clues."""

from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench.games import Opinion, Round, read_chains, read_rounds
from lotbench.report.replay import Replay, ended, wrapped
from lotbench.types import Trace

BY_RULE = {
    "exact": "accepted (the key text itself)",
    "repeat": "not it (judged before)",
    "none": "not judged",
}


def replay(sample: Mapping[str, Any], trace: Trace) -> Replay:
    """Return a game as text (the sample, its causal chains, the rounds, and the end) and as data (the steps)."""
    lines = [f"{sample['id']}, repeat {trace.repeat}: {sample.get('image', 'no picture')}"]
    lines += wrapped("scene", sample["caption"])
    lines += wrapped("response", sample["response"])
    lines += wrapped("key text", sample["key_text"])
    for point in sample.get("points", ()):
        lines += wrapped("point", point["response"])
    for chain in read_chains(trace.steps):
        if chain.text:
            lines += wrapped("chain", chain.text)
    for round_ in read_rounds(trace.steps):
        if round_.status:
            lines += _lines(round_)
    return ended(sample, trace, lines, {"steps": [dict(step) for step in trace.steps]})


def _lines(round_: Round) -> list[str]:
    lines = ["", f"round {round_.number}"]
    lines += wrapped("writes" if round_.whole else "fills in", round_.guess or f"nothing ({round_.status})")
    for name, text in _story(round_).items():
        lines += wrapped(name.replace("_", " "), text, indent=4)
    lines += wrapped("verdict", verdict(round_))
    if round_.leap:
        lines += wrapped("leap", f"after {round_.leap.failed} failed attempts")
    if round_.question:
        lines += wrapped("asks", round_.question)
        lines += wrapped("is told", round_.answer or "nothing (the oracle could not be read)")
    elif round_.asked in ("wh_question", "either_or"):
        lines += wrapped("asks", f"nothing that Yes or No answers ({round_.asked})")
    for clue in round_.clues:
        lines += wrapped("clue", clue)
    if round_.frame:
        lines += wrapped("frame", round_.frame)
    return lines


def _story(round_: Round) -> dict[str, str]:
    """Return the judges' texts about the guess by name, such as the intervened chain and the reason for each criterion.

    The names of texts of a second opinion have a prefix.
    """
    return {
        ("second opinion: " if opinion.step == "confirm" else "") + name: text
        for opinion in round_.opinions
        for name, text in opinion.texts.items()
    }


def verdict(round_: Round) -> str:
    """Return the verdict of a round in words, from its opinions in order.

    A second opinion replaces the words on the first one; a decision by rule replaces all words before it.
    """
    parts: list[str] = []
    for opinion in round_.opinions:
        if opinion.accepted is None:
            parts.append(f"judge {opinion.judge + 1} could not be read ({opinion.status})")
        elif opinion.how in BY_RULE:
            parts = [_by_rule(round_, opinion)]
        elif opinion.step == "confirm":
            second = f"accepted, and {'confirmed' if opinion.accepted else 'not confirmed: not it'}"
            parts = [*(parts[:-1] if opinion.of > 1 else []), _which(opinion) + second]
        elif opinion.step == "different":
            parts.append("another idea" if opinion.accepted else "no other idea: not it")
        else:
            parts.append(_which(opinion) + ("accepted" if opinion.accepted else "not it"))
    return "; ".join(parts)


def _by_rule(round_: Round, opinion: Opinion) -> str:
    """Return the words for a decision made without a judge."""
    if opinion.how != "exact":
        return BY_RULE[opinion.how]
    text = "response" if round_.whole else "key text"
    if opinion.accepted:
        return f"accepted (the {text} itself)"
    return f"not it (the {text} itself, which was met before)"


def _which(opinion: Opinion) -> str:
    """Return a prefix that names the target of an opinion, such as `response 2: `; empty if there is only one target."""
    return f"response {opinion.target + 1}: " if opinion.of > 1 else ""
