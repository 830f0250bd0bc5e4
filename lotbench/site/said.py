"""What was asked and said in a game or task, call by call: the messages as they were sent, and the reply as it came.

Replies come from the journal; messages are not kept there, and are put together again by walking the walk anew. Where
that cannot be done any more, the replies are shown with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lotbench.edge.calls.journal import Entry, entry
from lotbench.edge.files.jsonl import unsealed
from lotbench.errors import LotbenchError
from lotbench.run.loading import Run
from lotbench.run.rescore import requests
from lotbench.run.session import synchronously
from lotbench.types import JSON, Image, Message, Request, Trace, Usage

LONG = 240
"""Characters from which a message that came before is not written out again."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One message: its parts in order, a text or the sha256 of a picture; `same` names the call that sent it before."""

    speaker: str
    parts: tuple[tuple[str, str], ...]
    same: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One call of a walk.

    Attributes:
        place: Which of the trace's steps it is, from 1.
        entry: Its line in the journal; None if that is not there.
        messages: As they were sent; empty where they cannot be put together again.
        form: The JSON schema that the reply was to have; "" if any text would do.
        read: What was read of the reply.
    """

    place: int
    step: str
    role: str
    round: int
    key: str
    entry: Entry | None
    messages: tuple[Sent, ...]
    form: str
    read: Mapping[str, JSON]


def lines(journal: Path, keys: Sequence[str]) -> dict[str, bytes]:
    """The lines of some calls, by key; of two lines of one key the later counts. None without the file."""
    found: dict[str, bytes] = {}
    if not journal.is_file():
        return found
    wanted = set(keys)
    samples = {key.rsplit("/", 6)[0] for key in wanted}
    named = [f'"sample":{json.dumps(one, ensure_ascii=False)}'.encode() for one in samples]
    with journal.open("rb") as every:
        for text in every:
            # Most lines are of other samples: they are not taken apart.
            if any(name in text for name in named):
                with suppress(ValueError, KeyError, TypeError):
                    key = str(entry(unsealed(text)).key)
                    if key in wanted:
                        found[key] = text
    return found


def used(found: Mapping[str, bytes]) -> dict[str, Usage]:
    """What calls used, by key, from their lines."""
    return {key: entry(unsealed(text)).reply.usage for key, text in found.items()}


def said(run: Run, trace: Trace, lines: Mapping[str, bytes]) -> tuple[list[Said], str]:
    """Every call of a walk, and why messages are wanting, if they are.

    Args:
        run: The run.
        trace: The walk.
        lines: The journal's line of each call, by key.
    """
    why, sent = "", dict[str, Request]()
    try:
        sent = synchronously(requests(run, trace))
    except (LotbenchError, LookupError) as error:
        why = str(error)
    seen: dict[tuple[Any, ...], int] = {}
    made = [
        _said(place, step, lines, sent, seen) for place, step in enumerate(trace.steps, 1) if step.get("call")
    ]
    if not why and any(one.entry is None for one in made):
        why = "not all calls of this game are in the journal any more"
    elif not why and any(not one.messages for one in made):
        why = "the game goes another way today: a prompt, a sample or the code has changed since"
    return made, why


def _said(
    place: int,
    step: Mapping[str, Any],
    lines: Mapping[str, bytes],
    sent: Mapping[str, Request],
    seen: dict[tuple[Any, ...], int],
) -> Said:
    key, value = str(step["call"]), step.get("value")
    request = sent.get(key)
    messages = [_message(one, place, seen) for one in request.messages] if request else []
    return Said(
        place=place,
        step=str(step["step"]),
        role=str(step.get("role") or ""),
        round=int(step.get("round") or 0),
        key=key,
        entry=_entry(lines.get(key)),
        messages=tuple(messages),
        form=json.dumps(request.schema, ensure_ascii=False, indent=2) if request and request.schema else "",
        read=value if isinstance(value, Mapping) else {"value": value},
    )


def _message(message: Message, place: int, seen: dict[tuple[Any, ...], int]) -> Sent:
    parts = _parts(message.parts)
    first = seen.setdefault((message.speaker, parts), place)
    long = sum(len(text) for kind, text in parts if kind == "text") >= LONG
    return Sent(message.speaker, parts, first if first != place and long else None)


def _parts(parts: Sequence[str | Image]) -> tuple[tuple[str, str], ...]:
    """Parts as they are shown; texts that follow each other as one."""
    made: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, Image):
            made.append(("picture", part.sha256))
        elif made and made[-1][0] == "text":
            made[-1] = ("text", made[-1][1] + part)
        else:
            made.append(("text", part))
    return tuple(made)


def _entry(line: bytes | None) -> Entry | None:
    if line is None:
        return None
    try:
        return entry(unsealed(line))
    except (ValueError, KeyError, TypeError):
        return None
