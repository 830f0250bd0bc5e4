"""The records with which a page shows an episode: its rounds, guesses, verdicts and calls, and the judge's causal chains.

The functions are pure: they take a trace and the tokens that its calls used, and read no file.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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

MOST_NODES = 200
"""The number of nodes up to which two chains are compared."""
_ARROW = re.compile("->|=>|→|⇒|➔|➜")
_REASONS = dict(zip(CRITERIA, ("point_reason", "function_reason", "difference_reason"), strict=True))
"""The name of the text in which a judge gives its reason, by criterion."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a causal chain; `changed` says whether the chain that it is compared with lacks it."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """A judge's causal chain of a sample (Eq. 2 to 4 of LoTbench's paper).

    Attributes:
        judge: The index of the judge.
        scene: The nodes of the scene.
        caption: The nodes of the caption.
        point: The creative point.
        function: The function of the caption.
    """

    judge: int
    scene: tuple[str, ...]
    caption: tuple[str, ...]
    point: str = ""
    function: str = ""
    target: int = 0
    """The index of the target response that the chain explains."""


@dataclass(frozen=True, slots=True)
class Call:
    """One step of an episode.

    Attributes:
        place: The number of the step in the trace, from 1.
        key: The key of its model call in the journal; "" for a step without a call.
        step: The name of the step.
        role: The role that was asked; "" for none.
        round: The number of the round; 0 outside rounds.
        draw: The index of the draw, from 0.
        seconds: The duration.
        usage: The tokens; None if they are not known.
        texts: The names and texts of the values that were read from the reply.
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
    """One round of a game as a page shows it.

    Attributes:
        round: The round.
        opinions: Each opinion on the guess, with the nodes of the intervened chain and the named reasons.
        calls: The steps of the round with a model call.
    """

    round: Round
    opinions: tuple[tuple[Opinion, tuple[Node, ...], tuple[tuple[str, str], ...]], ...]
    calls: tuple[Call, ...]

    @property
    def verdict(self) -> str:
        """The last verdict on the guess: `accepted`, `not it`, `unjudged` if there is none, or `unread` if it is unreadable."""
        if not self.round.opinions:
            return "unjudged"
        last = self.round.opinions[-1]
        if last.accepted is None:
            return "unread"
        return "accepted" if last.accepted else "unjudged" if last.how == "none" else "not it"


@dataclass(frozen=True, slots=True)
class Thought:
    """A game as a page shows it.

    Attributes:
        chains: The judges' causal chains of the sample.
        setup: The steps before the rounds, in which judges build these chains.
        leaps: The rounds.
    """

    chains: tuple[Chain, ...]
    setup: tuple[Call, ...]
    leaps: tuple[LeapShown, ...]

    @property
    def whole(self) -> bool:
        """Whether the candidate writes whole responses, and not the words for a blank."""
        return any(leap.round.whole for leap in self.leaps)


def thought(trace: Trace, used: Mapping[str, Usage]) -> Thought:
    """Return a game, read from its trace.

    Args:
        trace: A trace of the graph `game`.
        used: The tokens of each call, by its key.
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
    """Return the number of rounds up to the last that a person did not refuse; after giving up, all rounds are refused."""
    played = len(rounds)
    while played and rounds[played - 1].status == "refused":
        played -= 1
    return played


def calls(trace: Trace, used: Mapping[str, Usage]) -> list[Call]:
    """Return all steps of an episode of any benchmark, in order; `used` has the tokens of each call by its key."""
    return [_call(place, step, used) for place, step in enumerate(trace.steps, 1)]


def chain(text: str, judge: int = 0, target: int = 0) -> Chain:
    """Read a causal chain of a judge (by index) for a target response (by index) from its text in a trace.

    The first line has the nodes of the scene, the next lines have the nodes of the caption. A line that begins with `= ` has
    the creative point, a line that begins with `=> ` has the function.
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
    """Return the nodes of a causal chain from a text that separates them by arrows."""
    return tuple(filter(None, map(str.strip, _ARROW.split(text))))


def intervened(before: Sequence[str], after: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of the intervened chain (`after`), marked as changed if the judge's own chain (`before`) lacks them.

    No node is marked if `before` is empty, or if both have more than MOST_NODES nodes: that would take seconds.
    """
    ours, new_words = [word.casefold() for word in before], [word.casefold() for word in after]
    same: set[int] = set()
    if not 0 < len(before) * len(after) <= MOST_NODES**2:
        return tuple(Node(text, False) for text in after)
    for block in SequenceMatcher(None, ours, new_words, autojunk=False).get_matching_blocks():
        same.update(range(block.b, block.b + block.size))
    return tuple(Node(text, at not in same) for at, text in enumerate(after))


def fields(sample: Mapping[str, Any], hidden: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the names and texts of a sample's non-empty fields, without those named in `hidden`."""
    return [(name, text) for name, text in _texts(sample) if name not in hidden]


def masked(sample: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the parts of a sample's response before and after its key text; None if it has no response with a key text."""
    response, key = sample.get("response"), sample.get("key_text")
    if not isinstance(response, str) or not isinstance(key, str) or key not in response:
        return None
    span = sample.get("key_span")
    start = int(span[0]) if isinstance(span, Sequence) and span else response.index(key)
    return response[:start], response[start + len(key) :]


def words(reply: str) -> str:
    """Return the guess or question in a reply; the whole reply if it is no JSON object with one of them."""
    with suppress(ValueError, AttributeError):
        said = json.loads(reply)
        return str(said.get("guess") or said.get("response") or said.get("question") or reply)
    return reply


def in_blank(guess: str | None, around: Sequence[str] | None) -> str:
    """Return a guess as it is shown between the words around a blank.

    Its first word is left out if the same word, or another article, stands before the blank.
    """
    before = around[0].lower().split() if around else []
    first, _, rest = (guess or "").partition(" ")
    doubled = before and (before[-1] == first.lower() or {before[-1], first.lower()} <= {"a", "an", "the"})
    return rest if rest and doubled else guess or ""


def _intervened(opinion: Opinion, chains: Mapping[tuple[int, int], Chain]) -> tuple[Node, ...]:
    own = chains.get((opinion.judge, opinion.target))
    return intervened(own.caption if own else (), nodes(opinion.texts.get("intervened_chain", "")))


def _reasons(opinion: Opinion) -> Iterator[tuple[str, str]]:
    """Yield the reasons of a judge as (name, text); the name is `CRITERION: DECISION` where a criterion was decided."""
    for criterion, reason in _REASONS.items():
        decided, why = opinion.criteria.get(criterion), opinion.texts.get(reason)
        if decided is not None or why:
            yield criterion if decided is None else f"{criterion}: {_text(decided)}", why or "no reason given"
    yield from ((name, opinion.texts[name]) for name in ("explanation", "closest") if name in opinion.texts)


def _call(
    place: int, step: Mapping[str, JSON], used: Mapping[str, Usage], hidden: Sequence[str] = ()
) -> Call:
    values: Mapping[str, Any] = step
    value = values.get("value")
    return Call(
        place=place,
        key=str(step.get("call") or ""),
        step=str(step["step"]),
        role=str(step.get("role") or ""),
        round=int(values.get("round") or 0),
        draw=int(values.get("draw") or 0),
        seconds=float(values.get("seconds") or 0.0),
        usage=used.get(str(step.get("call"))),
        texts=tuple(fields(value if isinstance(value, Mapping) else {"value": value}, hidden)),
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
        return "\n".join(f"{name}: {text}" for name, text in _texts(value))
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return json.dumps(value, ensure_ascii=False)
