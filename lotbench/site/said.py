"""What was asked and said in a game or task, call by call: the messages as they were sent, and the reply as it came.

Replies come from the journal; messages are not kept there, and are put together again by playing the episode anew. Where
that cannot be done any more, the replies are shown with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lotbench.calls.journal import Entry, entry
from lotbench.errors import LotbenchError
from lotbench.regular_file import is_file
from lotbench.run.calling import CALLS
from lotbench.run.loading import Run
from lotbench.run.rescore import requests
from lotbench.run.session import synchronously
from lotbench.site.game_rounds import Call, calls
from lotbench.storage.jsonl import unsealed
from lotbench.types import Image, Message, Request, Trace

LONG = 240
"""Characters from which a message that came before is not written out again."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message: its parts in order, a text or the sha256 of a picture; `same` names the call that sent it before."""

    speaker: str
    parts: tuple[tuple[str, str], ...]
    same: int | None = None


@dataclass(frozen=True, slots=True)
class CallView:
    """One call of an episode.

    Attributes:
        entry: Its line in the journal; None if that is not there.
        messages: As they were sent; empty where they cannot be put together again.
        form: The JSON schema that the reply was to have; "" if any text would do.
    """

    call: Call
    entry: Entry | None
    messages: Sequence[SentMessage]
    form: str


def entries(journal: Path, trace: Trace) -> dict[str, Entry]:
    """Return the journal's lines of the calls of an episode, by key; of two lines of one key the later counts."""
    by_key: dict[str, Entry] = {}
    if not is_file(journal):
        return by_key
    keys = {str(step["call"]) for step in trace.steps if step.get("call")}
    samples = {key.rsplit("/", 6)[0] for key in keys}
    names = [f'"sample":{json.dumps(sample, ensure_ascii=False)}'.encode() for sample in samples]
    with journal.open("rb") as lines:
        for text in lines:
            # Most lines are of other samples: they are not taken apart.
            if any(name in text for name in names):
                with suppress(ValueError, KeyError, TypeError):
                    line = entry(unsealed(text))
                    if str(line.key) in keys:
                        by_key[str(line.key)] = line
    return by_key


def episode_calls(run: Run, trace: Trace) -> tuple[list[CallView], str]:
    """Return every call of an episode, and why messages are wanting, if they are."""
    why, sent = "", dict[str, Request]()
    lines = entries(run.path / CALLS, trace)
    try:
        sent = synchronously(requests(run, trace))
    except (LotbenchError, LookupError) as error:
        why = str(error)
    seen: dict[tuple[Any, ...], int] = {}
    all_calls = [
        CallView(
            call, lines.get(call.key), _messages(sent.get(call.key), call.place, seen), _form(sent, call)
        )
        for call in calls(trace, {})
        if call.key
    ]
    if not why and any(each.entry is None for each in all_calls):
        why = "not all calls of this game are in the journal any more"
    elif not why and any(not each.messages for each in all_calls):
        why = "the game goes another way today: a prompt, a sample or the code has changed since"
    return all_calls, why


def _form(sent: Mapping[str, Request], call: Call) -> str:
    schema = sent[call.key].schema if call.key in sent else None
    return json.dumps(schema, ensure_ascii=False, indent=2) if schema else ""


def _messages(request: Request | None, place: int, seen: dict[tuple[Any, ...], int]) -> list[SentMessage]:
    return [_message(message, place, seen) for message in request.messages] if request else []


def _message(message: Message, place: int, seen: dict[tuple[Any, ...], int]) -> SentMessage:
    parts = _parts(message.parts)
    first = seen.setdefault((message.speaker, parts), place)
    long = sum(len(text) for kind, text in parts if kind == "text") >= LONG
    return SentMessage(message.speaker, parts, first if first != place and long else None)


def _parts(parts: Sequence[str | Image]) -> tuple[tuple[str, str], ...]:
    """Return parts as they are shown; texts that follow each other as one."""
    pieces: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, Image):
            pieces.append(("picture", part.sha256))
        elif pieces and pieces[-1][0] == "text":
            pieces[-1] = ("text", pieces[-1][1] + part)
        else:
            pieces.append(("text", part))
    return tuple(pieces)
