"""The cards on which a person accepts, edits or rejects samples, and the messages of their page.

The functions are pure: they make cards of samples, and decisions of messages. The page holds its cards as JSON
and shows texts by textContent, so no text of a sample becomes markup.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from lotbench.config.experiment import received
from lotbench.errors import UsageError
from lotbench.storage.review_decisions import Decision
from lotbench.types import JSON

CHOICES = ("accept", "edit", "reject")
LONGEST = 4_000
"""The maximum number of characters of an edited field or a note."""
_HIDDEN = {"id", "language", "image", "canary"}
_LOCKED = {"source", "licence", "tier", "leap", "key_span", "reject", "gold_writers"}


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a sample as the page shows it.

    Attributes:
        text: The text in the data set, with which an edit is compared.
        many: Whether the field is a list; `text` has one entry per line.
        locked: Whether the field cannot be edited.
        edited: The text after the last edit; None without one.
    """

    name: str
    text: str
    many: bool = False
    locked: bool = False
    edited: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A sample to accept, edit or reject.

    Attributes:
        id: The id of the sample.
        picture: Whether the sample has a picture; the page requests it by the card's number.
        before: The person's earlier decision; empty if there is none.
    """

    id: str
    language: str
    fields: tuple[FieldView, ...]
    picture: bool = False
    before: str = ""


class Message(BaseModel):
    """The message with which the page sends a decision on a card, given by its index."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    card: int = Field(ge=0)
    decision: str = Field(max_length=20)
    changes: dict[str, str] = Field(default_factory=dict)
    note: str = Field(default="", max_length=LONGEST)


def sample_card(item: Any) -> Card:
    """Return the card of a sample, or of a proposed sample, of any benchmark."""
    fields = []
    for name, value in item.model_dump(mode="json").items():
        if name in _HIDDEN or value in (None, "", [], ()):
            continue
        many, locked = isinstance(value, list), name in _LOCKED
        plain = isinstance(value, str) or (many and all(isinstance(entry, str) for entry in value))
        fields.append(FieldView(name, _text(value), many, locked or not plain))
    return Card(item.id, item.language, tuple(fields), bool(item.image))


def with_past(card: Card, last: Decision | None, own: Decision | None) -> Card:
    """Return a card with the edits of the last decision of all people, and the person's own last decision."""
    changes = last.changes if last else {}
    fields = tuple(
        replace(field, edited=_text(changes[field.name])) if field.name in changes else field
        for field in card.fields
    )
    return replace(card, fields=fields, before=own.decision if own else "")


def decision(cards: Sequence[Card], sent: object) -> tuple[Card, dict[str, Any]]:
    """Return the card that a message of the page is about, and the decision as a line of the review file.

    Raises:
        UsageError: The message is no valid decision about one of these cards, with the reason.
    """
    message = received(Message, sent)
    if message.card >= len(cards):
        raise UsageError(f"no card {message.card}")
    card = cards[message.card]
    if message.decision not in CHOICES:
        raise UsageError(f"decision: one of {', '.join(CHOICES)}, not {message.decision!r}")
    line: dict[str, Any] = {"schema": 1, "kind": "sample", "sample": card.id, "decision": message.decision}
    if changes := _read_changes(card, message):
        line["changes"] = changes
    if message.note.strip():
        line["note"] = message.note.strip()
    return card, line


def _read_changes(card: Card, message: Message) -> dict[str, JSON]:
    """Return the new values of the fields that an edit changes, lists as lists.

    Raises:
        UsageError: A field cannot be edited or is too long, nothing was changed, or the decision is no edit.
    """
    open_fields = {field.name: field for field in card.fields if not field.locked}
    if unknown := sorted(message.changes.keys() - open_fields.keys()):
        raise UsageError(f"{', '.join(unknown)}: cannot be edited")
    if message.changes and message.decision != "edit":
        raise UsageError(f"changes belong to the decision edit, not {message.decision}")
    edits: dict[str, JSON] = {}
    for name, text in message.changes.items():
        if len(text) > LONGEST:
            raise UsageError(f"{name}: longer than {LONGEST} characters")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if text.strip() != open_fields[name].text.strip():
            edits[name] = lines if open_fields[name].many else text.strip()
    taken_back = any(field.edited is not None for field in card.fields)
    if message.decision == "edit" and not (edits or taken_back or message.note.strip()):
        raise UsageError("an edit changes a field, or has a note that says what to change")
    return edits


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    if isinstance(value, Mapping):
        return " · ".join(str(part) for part in value.values() if part)
    return str(value)
