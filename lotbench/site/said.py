"""The messages and replies of an episode, call by call.

Replies are read from the journal. The journal has no messages, so they are rebuilt: the episode is played again with the
recorded replies. If that fails, the replies are shown without messages, with the reason.
"""

import json
from collections.abc import Sequence
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
"""The number of characters from which a message that an earlier call sent is not shown again."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """One message of a call.

    Attributes:
        parts: The parts in order: (`text`, the text) or (`picture`, its sha256).
        same: The number of the earlier step that sent the same long message; None if the message is shown in full.
    """

    speaker: str
    parts: tuple[tuple[str, str], ...]
    same: int | None = None


@dataclass(frozen=True, slots=True)
class CallView:
    """One call of an episode.

    Attributes:
        call: The step of the call.
        entry: The line of the call in the journal; None if it is missing.
        messages: The messages as they were sent; empty if they cannot be rebuilt.
        form: The JSON schema of the reply, as text; "" if the call asked for no schema.
    """

    call: Call
    entry: Entry | None
    messages: Sequence[SentMessage]
    form: str


def entries(journal: Path, trace: Trace) -> dict[str, Entry]:
    """Return the journal lines of an episode's calls, by key; if a key has several lines, the last."""
    by_key: dict[str, Entry] = {}
    if not is_file(journal):
        return by_key
    keys = {str(step["call"]) for step in trace.steps if step.get("call")}
    samples = {key.rsplit("/", 6)[0] for key in keys}
    names = [f'"sample":{json.dumps(sample, ensure_ascii=False)}'.encode() for sample in samples]
    with journal.open("rb") as lines:
        for text in lines:
            # Most lines are about other samples and are not parsed.
            if any(name in text for name in names):
                with suppress(ValueError, KeyError, TypeError):
                    line = entry(unsealed(text))
                    if str(line.key) in keys:
                        by_key[str(line.key)] = line
    return by_key


def episode_calls(run: Run, trace: Trace) -> tuple[list[CallView], str]:
    """Return all calls of an episode, and the reason why messages or replies are missing ("" if none are)."""
    why, sent = "", dict[str, Request]()
    lines = entries(run.path / CALLS, trace)
    try:
        sent = synchronously(requests(run, trace))
    except (LotbenchError, LookupError) as error:
        why = str(error)
    seen: dict[tuple[Any, ...], int] = {}
    all_calls = []
    for call in calls(trace, {}):
        if call.key:
            request = sent.get(call.key)
            messages = [_message(each, call.place, seen) for each in request.messages] if request else []
            schema = request.schema if request else None
            form = json.dumps(schema, ensure_ascii=False, indent=2) if schema else ""
            all_calls.append(CallView(call, lines.get(call.key), messages, form))
    if not why and any(each.entry is None for each in all_calls):
        why = "not all calls of this game are in the journal any more"
    elif not why and any(not each.messages for each in all_calls):
        why = "the game goes another way today: a prompt, a sample or the code has changed since"
    return all_calls, why


def _message(message: Message, place: int, seen: dict[tuple[Any, ...], int]) -> SentMessage:
    parts = _parts(message.parts)
    first = seen.setdefault((message.speaker, parts), place)
    long = sum(len(text) for kind, text in parts if kind == "text") >= LONG
    return SentMessage(message.speaker, parts, first if first != place and long else None)


def _parts(parts: Sequence[str | Image]) -> tuple[tuple[str, str], ...]:
    """Return the parts of a message as pairs (see `SentMessage.parts`); successive texts are joined."""
    pieces: list[tuple[str, str]] = []
    for part in parts:
        if isinstance(part, Image):
            pieces.append(("picture", part.sha256))
        elif pieces and pieces[-1][0] == "text":
            pieces[-1] = ("text", pieces[-1][1] + part)
        else:
            pieces.append(("text", part))
    return tuple(pieces)
