"""A task as a thought trace: each round's leap, the judge's causal chain and the intervened one, who said what.

Pure: a trace and what its calls used in, plain records out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from lotbench.benchmarks.lotbench.games import (
    CRITERIA,
    SETUP,
    TEXTS,
    Opinion,
    Round,
    read_chains,
    read_rounds,
)
from lotbench.report.markdown import number
from lotbench.types import JSON, Trace, Usage

_ARROW = re.compile("->|=>|→|⇒|➔|➜")
_REASONS = dict(zip(CRITERIA, ("point_reason", "function_reason", "difference_reason"), strict=True))
"""Each criterion with the text that gives the reason for it."""


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
    target: int = 0
    """Which of the responses that are looked for it is of."""


@dataclass(frozen=True, slots=True)
class Call:
    """One step as it was taken: who, for what, how long, with how many tokens, and what was read.

    `place` is which of the trace's steps it is, from 1; `key` that of its call, "" where nobody was asked.
    """

    place: int
    key: str
    step: str
    role: str
    round: int
    draw: int
    seconds: float
    usage: Usage | None
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class LeapShown:
    """One round with its calls, and each opinion on its guess with the intervened chain and the reasons."""

    round: Round
    opinions: tuple[tuple[Opinion, tuple[Node, ...], tuple[tuple[str, str], ...]], ...]
    calls: tuple[Call, ...]

    @property
    def verdict(self) -> str:
        """How the round came out: `accepted`, `not it`, `unjudged` or `unread`."""
        if not self.round.opinions:
            return "unjudged"
        last = self.round.opinions[-1]
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
    leaps: tuple[LeapShown, ...]

    @property
    def whole(self) -> bool:
        """Whether its answers are whole responses, not guesses of the frame."""
        return any(leap.round.whole for leap in self.leaps)


def thought(trace: Trace, used: Mapping[str, Usage]) -> Thought:
    """Return a game's trace, round by round.

    Args:
        trace: A trace of the graph `game`.
        used: What each call used, by its key.
    """
    chains = {
        (read_chain.judge, read_chain.target): chain(read_chain.text, read_chain.judge, read_chain.target)
        for read_chain in read_chains(trace.steps)
        if read_chain.text
    }
    setup: list[Call] = []
    calls: dict[int, list[Call]] = {}
    for place, step in enumerate(trace.steps, 1):
        if step["step"] in SETUP:
            setup.append(_call(place, step, used))
        elif step.get("call"):
            number: Any = step["round"]
            calls.setdefault(number, []).append(_call(place, step, used, hidden=(*CRITERIA, *TEXTS)))
    leaps = tuple(
        LeapShown(
            each_round,
            tuple((each, _intervened(each, chains), tuple(_reasons(each))) for each in each_round.opinions),
            tuple(calls.get(each_round.number, ())),
        )
        for each_round in read_rounds(trace.steps)
    )
    return Thought(tuple(chains.values()), tuple(setup), leaps)


def until_given_up(rounds: Sequence[Round]) -> int:
    """Return how many rounds a person took part in: of those after they gave up each is refused."""
    played = len(rounds)
    while played and rounds[played - 1].status == "refused":
        played -= 1
    return played


def calls(trace: Trace, used: Mapping[str, Usage]) -> list[Call]:
    """Return every step of an episode of any benchmark, in order."""
    return [_call(place, step, used) for place, step in enumerate(trace.steps, 1)]


def chain(text: str, judge: int = 0, target: int = 0) -> Chain:
    """Read a chain from the text of a trace.

    The first line has the nodes of the scene, the next ones those of the caption. A line that begins with `= ` has the
    creative point, one that begins with `=> ` the function.
    """
    lines: list[str] = []
    point = function = ""
    for line in text.splitlines():
        if line.startswith("=> "):
            function = line[3:]
        elif line.startswith("= "):
            point = line[2:]
        else:
            lines.append(line)
    caption = nodes(" ".join(lines[1:]))
    return Chain(judge, nodes(lines[0] if lines else ""), caption, point, function, target)


def nodes(text: str) -> tuple[str, ...]:
    """Return the nodes of a chain that is written with arrows."""
    return tuple(filter(None, map(str.strip, _ARROW.split(text))))


def intervened(before: Sequence[str], after: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of the intervened chain, those marked that the judge's own chain does not have."""
    ours, new_words = [word.casefold() for word in before], [word.casefold() for word in after]
    same: set[int] = set()
    for block in SequenceMatcher(None, ours, new_words, autojunk=False).get_matching_blocks():
        same.update(range(block.b, block.b + block.size))
    return tuple(Node(text, bool(before) and at not in same) for at, text in enumerate(after))


def fields(sample: Mapping[str, Any], hidden: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the fields of a sample that hold anything, as text; `hidden` are left out."""
    return [(name, text) for name, text in _texts(sample) if name not in hidden]


def masked(sample: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what stands before and after the key text of a sample; None if it is not such a sample."""
    response, key = sample.get("response"), sample.get("key_text")
    if not isinstance(response, str) or not isinstance(key, str) or key not in response:
        return None
    span = sample.get("key_span")
    start = int(span[0]) if isinstance(span, Sequence) and span else response.index(key)
    return response[:start], response[start + len(key) :]


def _intervened(opinion: Opinion, chains: Mapping[tuple[int, int], Chain]) -> tuple[Node, ...]:
    own = chains.get((opinion.judge, opinion.target))
    return intervened(own.caption if own else (), nodes(opinion.texts.get("intervened_chain", "")))


def _reasons(opinion: Opinion) -> Iterator[tuple[str, str]]:
    """Yield what a judge gave for its verdict: each criterion with how it was decided, and why."""
    for criterion, reason in _REASONS.items():
        decided, why = opinion.criteria.get(criterion), opinion.texts.get(reason)
        if decided is not None or why:
            yield criterion if decided is None else f"{criterion}: {_text(decided)}", why or "no reason given"
    yield from (
        (name, opinion.texts[name])
        for name in ("difference", "explanation", "closest")
        if name in opinion.texts
    )


def _call(
    place: int, step: Mapping[str, JSON], used: Mapping[str, Usage], hidden: Sequence[str] = ()
) -> Call:
    values: Mapping[str, Any] = step
    return Call(
        place=place,
        key=str(step.get("call") or ""),
        step=str(step["step"]),
        role=str(step.get("role") or ""),
        round=int(values.get("round") or 0),
        draw=int(values.get("draw") or 0),
        seconds=float(values.get("seconds") or 0.0),
        usage=used.get(str(step.get("call"))),
        texts=tuple(pair for pair in _texts(_value(step)) if pair[0] not in hidden),
    )


def _texts(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, content in value.items():
        if content not in (None, "", [], {}):
            yield name, _text(content)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_text(content)}" for name, content in value.items())
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return json.dumps(value, ensure_ascii=False)


def _value(step: Mapping[str, JSON]) -> Mapping[str, Any]:
    value = step.get("value")
    return value if isinstance(value, Mapping) else {"value": value}
