"""A walk as a thought trace: each round's leap, the judge's causal chain and the intervened one, who said what.

Pure: a trace and what its calls used in, plain records out. A trace is read as it stands on disk, so nothing
here relies on a step to have more than its name, round and value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from lotbench.types import JSON, Trace, Usage

_ARROW = re.compile(r"\s*(?:->|=>|→|⇒|➔|➜)\s*")
_CRITERIA = (("same_creative_point", "point_reason"), ("same_function", "function_reason"))
_REASONS = ("difference", "explanation")
_TOLD = frozenset(("intervened_chain", *_REASONS, *(name for pair in _CRITERIA for name in pair)))
"""What a game's page shows of a verdict before it lists the calls."""
_SETUP = ("chain", "chain_check", "chain_accepted")
MASK = "____"


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a causal chain; `changed` if the chain that it is compared with has another there."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A judge's causal chain of a sample (Eq. 2 to 4 of the paper): nodes, the creative point, the function."""

    judge: int
    scene: tuple[str, ...]
    caption: tuple[str, ...]
    point: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one judge made of a filling; `accepted` is None where it could not be read."""

    step: str
    judge: int
    accepted: bool | None
    how: str
    status: str
    intervened: tuple[Node, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One step as it was taken: who, for what, how long, with how many tokens, and what was read."""

    step: str
    role: str
    draw: int
    seconds: float
    usage: Usage | None
    texts: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Leap:
    """One round: the filling, the opinions on it, the question with its answer, the clues that came."""

    number: int
    filling: str | None = None
    status: str = ""
    opinions: list[Opinion] = field(default_factory=list)
    question: str | None = None
    answer: str | None = None
    asked: str = ""
    clues: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """How the round came out: `accepted`, `not it`, `unjudged` or `unread`."""
        if not self.opinions:
            return "unjudged"
        last = self.opinions[-1]
        if last.accepted is None:
            return "unread"
        return "accepted" if last.accepted else "unjudged" if last.how == "none" else "not it"

    @property
    def tokens(self) -> int:
        """Tokens that the round's calls used, in and out."""
        return sum(call.usage.input_tokens + call.usage.output_tokens for call in self.calls if call.usage)

    @property
    def seconds(self) -> float:
        """Seconds that the round's calls took."""
        return sum(call.seconds for call in self.calls)


@dataclass(frozen=True, slots=True)
class Thought:
    """A game: what was found of the sample before, and its rounds."""

    chains: tuple[Chain, ...]
    setup: tuple[Call, ...]
    leaps: tuple[Leap, ...]


def thought(trace: Trace, used: Mapping[str, Usage]) -> Thought:
    """A game's trace, round by round.

    Args:
        trace: A trace of the graph `game`.
        used: What each call used, by its key.
    """
    chains: dict[int, Chain] = {}
    setup: list[Call] = []
    leaps: dict[int, Leap] = {}
    for step in trace.steps:
        value, name, number = _value(step), str(step["step"]), _number(step)
        if name in _SETUP:
            setup.append(_call(step, used))
            if name == "chain" and value.get("chain"):
                chains[int(value.get("judge", 0))] = chain(str(value["chain"]), int(value.get("judge", 0)))
            continue
        leap = leaps.setdefault(number, Leap(number))
        if step.get("call"):
            leap.calls.append(_call(step, used, told=_TOLD))
        _tell(leap, name, value, chains)
    return Thought(tuple(chains.values()), tuple(setup), tuple(leaps[number] for number in sorted(leaps)))


def calls(trace: Trace, used: Mapping[str, Usage]) -> list[Call]:
    """Every step of a walk of any benchmark, in order."""
    return [_call(step, used) for step in trace.steps]


def chain(text: str, judge: int = 0) -> Chain:
    """A chain from the text in which it is kept: scene, caption, `= point`, `=> function`."""
    told: list[str] = []
    point = function = ""
    for line in text.splitlines():
        if line.startswith("=> "):
            function = line[3:]
        elif line.startswith("= "):
            point = line[2:]
        else:
            told.append(line)
    return Chain(judge, nodes(told[0] if told else ""), nodes(" ".join(told[1:])), point, function)


def nodes(text: str) -> tuple[str, ...]:
    """The nodes of a chain that is written with arrows."""
    return tuple(part for part in _ARROW.split(text.strip()) if part)


def intervened(before: Sequence[str], after: Sequence[str]) -> tuple[Node, ...]:
    """The nodes of the intervened chain, those marked that the judge's own chain does not have."""
    ours, theirs = [one.casefold() for one in before], [one.casefold() for one in after]
    same: set[int] = set()
    for block in SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks():
        same.update(range(block.b, block.b + block.size))
    return tuple(Node(text, bool(before) and at not in same) for at, text in enumerate(after))


def fields(sample: Mapping[str, Any], left: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The fields of a sample that hold anything, as text; `left` are left out."""
    return [(name, text) for name, text in _texts(sample) if name not in left]


def masked(sample: Mapping[str, Any]) -> tuple[str, str] | None:
    """What stands before and after the key text of a sample; None if it is not such a sample."""
    response, key = sample.get("response"), sample.get("key_text")
    if not isinstance(response, str) or not isinstance(key, str) or key not in response:
        return None
    span = sample.get("key_span")
    start = int(span[0]) if isinstance(span, Sequence) and span else response.index(key)
    return response[:start], response[start + len(key) :]


def _tell(leap: Leap, name: str, value: Mapping[str, Any], chains: Mapping[int, Chain]) -> None:
    if name == "respond" and leap.status != "ok":
        leap.filling, leap.status = value.get("filling"), str(value.get("status", ""))
    elif name in ("check", "confirm"):
        leap.opinions.append(_opinion(name, value, chains))
    elif name == "ask":
        leap.question, leap.asked = value.get("question"), str(value.get("status", ""))
    elif name == "answer":
        leap.answer = value.get("answer")
    elif name == "reveal":
        leap.clues += [str(clue) for clue in value.get("clues", ())]


def _opinion(step: str, value: Mapping[str, Any], chains: Mapping[int, Chain]) -> Opinion:
    judge = int(value.get("judge", 0))
    mine = chains.get(judge)
    told = nodes(str(value.get("intervened_chain") or ""))
    return Opinion(
        step=step,
        judge=judge,
        accepted=value.get("accepted"),
        how=str(value.get("how", "judge")),
        status=str(value.get("status", "ok")),
        intervened=intervened(mine.caption if mine else (), told),
        reasons=tuple(_reasons(value)),
    )


def _reasons(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What a judge gave for its verdict: each criterion with how it was decided, and why."""
    for decided, why in _CRITERIA:
        if value.get(decided) is not None or value.get(why):
            name = decided if value.get(decided) is None else f"{decided}: {_text(value[decided])}"
            yield name, _text(value.get(why) or "no reason given")
    yield from ((name, _text(value[name])) for name in _REASONS if value.get(name))


def _call(step: Mapping[str, JSON], used: Mapping[str, Usage], told: frozenset[str] = frozenset()) -> Call:
    seconds: Any = step.get("seconds") or 0.0
    draw: Any = step.get("draw") or 0
    return Call(
        step=str(step["step"]),
        role=str(step.get("role") or ""),
        draw=int(draw),
        seconds=float(seconds),
        usage=used.get(str(step.get("call"))),
        texts=tuple(one for one in _texts(_value(step)) if one[0] not in told),
    )


def _texts(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, said in value.items():
        if said not in (None, "", [], {}):
            yield name, _text(said)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_text(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return json.dumps(value, ensure_ascii=False)


def _value(step: Mapping[str, JSON]) -> Mapping[str, Any]:
    found = step.get("value")
    return found if isinstance(found, Mapping) else {"value": found}


def _number(step: Mapping[str, JSON]) -> int:
    found: Any = step.get("round") or 0
    return int(found)
