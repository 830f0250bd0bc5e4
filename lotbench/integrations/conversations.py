"""What a candidate was asked and said in a task, as turns; and the names by which other tools know a model.

A game is many requests, each a conversation of its own: tools that show one conversation a sample get them one after
the other, as far as they are about the walk and not about its judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lotbench.config.makers import makers
from lotbench.config.model_names import without_address
from lotbench.run.rescore import Transcript
from lotbench.types import Image, Message, Reply

LAST = 253_402_300_799.0
"""The last second that a date can have, 9999-12-31: a journal from somebody else may name any."""
_SLUG = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: who speaks, what is said (pictures by content), and what stood in the reasoning."""

    role: str
    text: str
    reasoning: str | None = None


def turns(transcript: Transcript, role: str = "candidate") -> Iterator[Turn]:
    """The turns of one role's calls in a walk, call by call; a system message that stands already is not said again."""
    said = ""
    for call in transcript.calls:
        if call.question.role != role:
            continue
        for message in call.request.messages:
            text = plain(message)
            if message.speaker == "system":
                if text == said:
                    continue
                said = text
            yield Turn(message.speaker, text)
        yield Turn("assistant", call.reply.text, call.reply.reasoning)


def replies(transcript: Transcript, role: str = "candidate") -> list[Reply]:
    """What the models of a role replied in a walk."""
    return [call.reply for call in transcript.calls if call.question.role == role]


def plain(message: Message) -> str:
    """A message as text; a picture stands there by its content."""
    return "".join(
        f"[picture sha256:{part.sha256}]\n" if isinstance(part, Image) else part for part in message.parts
    )


def model_id(name: str) -> str:
    """A model's name as `developer/model`; `unknown` where the name tells of no maker."""
    bare = without_address(name)
    developer, slash, model = bare.rpartition("/")
    if slash:
        return f"{slug(developer)}/{slug(model)}"
    found = sorted(makers(bare))
    return f"{slug(found[0].lower()) if found else 'unknown'}/{slug(bare)}"


def moment(seconds: float) -> float:
    """A time that there is."""
    return min(max(seconds, 0.0), LAST)


def slug(text: str) -> str:
    """A text as part of a file name."""
    return _SLUG.sub("-", text).strip("-.") or "unknown"
