"""A game as one growing conversation: the rules and the scene, then each attempt, question, answer and clue as a turn.

What the candidate knows in a round is what the fresh request of that round tells; a later request begins with all
of every earlier one. Its own turns are what was read of its replies: no reasoning, and no reply that was none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lotbench.benchmarks.lotbench import whole
from lotbench.benchmarks.lotbench.settings import Walk
from lotbench.prompting.prompt import Value
from lotbench.prompting.reply import Form, shape
from lotbench.types import Message


def grown(
    walk: Walk, step: str, opening: Mapping[str, Value], shapes: Mapping[str, type[Form]]
) -> list[Message]:
    """The conversation up to the turn in which a step is asked for.

    Args:
        walk: Where the game stands.
        step: respond, ask or decompose.
        opening: The values of the rules and the scene.
        shapes: The form of each step's answer.
    """
    told = list(walk.prompt(whole.prompt("talk", walk.settings)).messages(**opening))
    for past in walk.state["history"]:
        _say(told, _wanted(walk, "respond", shapes))
        _round(walk, told, past, shapes)
        if "question" in past and walk.settings.ask and not past.get("verdict"):
            _say(told, _wanted(walk, "ask", shapes))
            _asked(walk, told, past)
        _revealed(walk, told, past)
    if step != "ask" and not walk.state["turn"]:
        _say(told, _wanted(walk, step, shapes))
        return told
    _say(told, _wanted(walk, "respond", shapes))
    _round(walk, told, walk.state["turn"], shapes)
    _say(told, _wanted(walk, step, shapes))
    return told


def _round(
    walk: Walk, told: list[Message], past: Mapping[str, Any], shapes: Mapping[str, type[Form]]
) -> None:
    """An attempt and what came of it; one that could not be read is not there."""
    if past.get("filling"):
        field = [*shapes["respond"].model_fields][-1]
        told.append(Message("assistant", (_object(field, past["filling"]),)))
        _say(told, _line(walk, "found" if past.get("verdict") else "wrong", past["filling"]))


def _asked(walk: Walk, told: list[Message], past: Mapping[str, Any]) -> None:
    """A question and the oracle's answer."""
    if past.get("question"):
        told.append(Message("assistant", (_object("question", past["question"]),)))
        if past.get("answer"):
            _say(told, _line(walk, "answer", walk.prompt("lines").line(past["answer"].lower())))


def _revealed(walk: Walk, told: list[Message], past: Mapping[str, Any]) -> None:
    for clue in past.get("clues", ()):
        _say(told, _line(walk, "clue", clue))
    if past.get("frame"):
        _say(told, _line(walk, "frame", past["frame"]))


def _say(told: list[Message], text: str) -> None:
    """Add to the host's turn, or begin one: two turns of one speaker are no conversation."""
    if told[-1].speaker == "user":
        *before, last = told[-1].parts
        joined = (*before, f"{last}\n{text}") if isinstance(last, str) else (*before, last, text)
        told[-1] = Message("user", joined)
    else:
        told.append(Message("user", (text,)))


def say(told: list[Message], *texts: str | None) -> tuple[Message, ...]:
    """The conversation with lines at its end, if there are any."""
    for text in texts:
        if text:
            _say(told, text)
    return tuple(told)


def _wanted(walk: Walk, step: str, shapes: Mapping[str, type[Form]]) -> str:
    name = "turn_respond_whole" if step == "respond" and walk.settings.whole else f"turn_{step}"
    return walk.prompt("lines").line(name, shape=shape(shapes[step]))


def _line(walk: Walk, name: str, text: str) -> str:
    return walk.prompt("lines").line(name, text=text)


def _object(field: str, text: str) -> str:
    return json.dumps({field: text}, ensure_ascii=False)
