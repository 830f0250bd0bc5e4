"""The pages on which people vote on a ballot file, one vote per person and item.

Each person sees the items and their responses in an order of their own, without the names of the models. The
key file, which has these names, is never opened here. The browser gets no letters of the ballot: a page
numbers the responses in the person's order.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os.path import isfile
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict

from lotbench.config.experiment import received
from lotbench.errors import DataError, UsageError
from lotbench.harness.ballot import Item, Response, Vote, foreign
from lotbench.site.page import Served, screen
from lotbench.site.people_runs import LONGEST_NAME, joined
from lotbench.storage import datasets
from lotbench.storage.jsonl import append, rows
from lotbench.storage.pictures.picture_file import encoded
from lotbench.types import JSON

CONSENT = (
    "Your votes and the name that you give are written into a file on the machine that serves this page."
)
MAX_PX = 1024


class Choosing(BaseModel):
    """The message of a vote: the id of the item, and the numbers of the chosen responses on the page, from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item: str
    choice: list[str] = []


@dataclass
class Polls:
    """The pages on which people vote.

    Args:
        ballot: The ballot file.
        votes: The file to which votes are appended.

    Raises:
        DataError: A line of the ballot is no item, or a line of the votes file is no vote, or one on another ballot.
    """

    ballot: Path
    votes: Path
    _voters: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.items = {item.id: item for _, item in rows(self.ballot, Item.model_validate)}
        votes = [vote for _, vote in rows(self.votes, Vote.model_validate)] if self.votes.is_file() else []
        if foreign(list(self.items.values()), votes):
            raise DataError([f"{self.votes}: has votes on another ballot"])
        self.voted = {(vote.voter.casefold(), vote.id) for vote in votes}

    def get(self, path: str) -> Served:
        """Return the page or the picture at a path; raises LookupError if there is none."""
        match path.split("/"):
            case [""] | ["index.html"]:
                about = f"choose the funniest responses to {len(self.items)} prompts"
                values: dict[str, Any] = {"title": "Vote", "game": False, "consent": CONSENT, "roles": {}}
                return screen("join", about=about, longest=LONGEST_NAME, private="", **values)
            case ["voter", key, "index.html"] if key in self._voters:
                return self._page(self._voters[key])
            # The id of an item of pairs has a slash.
            case ["picture", *name] if picture := _picture(self.items["/".join(name)]):
                return Served(encoded(picture, MAX_PX), "image/png")
        raise LookupError(path)

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Take the message of a person who joins, or a vote; return the address of the next page as `{"go": ADDRESS}`.

        Raises:
            LookupError: Nothing at this path takes messages, or no voter has this key.
            UsageError: The message is refused, with the reason.
        """
        match path.split("/"):
            case ["join"]:
                key, name = joined(sent, self._voters)
                self._voters[key] = name
                return {"go": f"voter/{key}/index.html"}
            case ["voter", key, "vote"]:
                self._vote(self._voters[key], sent)
                return {"go": "index.html"}
        raise LookupError(path)

    def _vote(self, voter: str, sent: object) -> None:
        chosen = received(Choosing, sent)
        if chosen.item not in self.items:
            raise UsageError("there is no such prompt on the ballot")
        if (voter.casefold(), chosen.item) in self.voted:
            raise UsageError("you have voted on this already: load the page again")
        responses = self.order(voter, chosen.item)
        numbers = set(chosen.choice)
        if unknown := numbers - {str(number) for number in range(1, len(responses) + 1)}:
            raise UsageError(f"there is no response {min(unknown)[:20]}")
        letters = sorted(row.letter for number, row in enumerate(responses, 1) if str(number) in numbers)
        vote = Vote(
            id=chosen.item, voter=voter, letters=tuple(letters), item=self.items[chosen.item].fingerprint
        )
        append(self.votes, [vote.model_dump_json().encode() + b"\n"])
        self.voted.add((voter.casefold(), chosen.item))

    def order(self, voter: str, item: str) -> list[Response]:
        """Return the responses to an item in the order in which a person sees them, which is always the same."""
        responses = list(self.items[item].responses)
        Random(f"{voter.casefold()}:{item}:responses").shuffle(responses)
        return responses

    def _page(self, voter: str) -> Served:
        names = [name for name in self.items if (voter.casefold(), name) not in self.voted]
        # Each person has an order of items of their own, which does not change while they vote.
        name = min(
            names,
            key=lambda name: hashlib.sha256(f"{voter.casefold()}:{name}".encode()).digest(),
            default=None,
        )
        total = len(self.items)
        fields: dict[str, Any] = {"name": voter, "done": total - len(names), "total": total}
        if name is None:
            return screen("vote", item=None, responses=[], picture=None, **fields)
        item = self.items[name]
        picture = f"../../picture/{quote(name, safe='')}" if _picture(item) else None
        texts = [response.text for response in self.order(voter, name)]
        return screen("vote", item=item, responses=texts, picture=picture, **fields)


def _picture(item: Item) -> Path | None:
    """Return the file of an item's picture; None if it has none, or none in its data set."""
    if not item.image:
        return None
    home = datasets.data_folder(item.data, item.data)
    file = home / item.image
    return file if datasets.inside(file, home) and isfile(file) else None
