"""A game as one sequence of tokens: what the host said and what the model said, turn by turn.

The model's tokens are those that it drew and are never made again from text, so that the loss is about what was
played. The host's come from the chat template. A reply that could not be read stays in the sequence, where a run leaves
it out of the conversation: it was said, and what was said is what is learned from.
"""

from __future__ import annotations

from collections.abc import Sequence

from lotbench.edge.models.transformers.loading import Loaded, rendered
from lotbench.errors import UsageError
from lotbench.types import Image, Message

_MARK = "\u241fREPLY\u241f"
"""Stands for a reply where a template is asked what comes after one."""


class Talk:
    """A sequence as it grows; its completion begins with the model's first word.

    Attributes:
        prompt: The tokens before that.
        completion: Those from there on.
        mask: 1 for each of them that the model drew, 0 for the host's.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.prompt: list[int] = []
        self.completion: list[int] = []
        self.mask: list[int] = []
        self._heard: tuple[int, str] = (0, "")

    def hear(self, messages: Sequence[Message]) -> list[int]:
        """Take in the request that comes next; returns the tokens that it adds.

        Raises:
            UsageError: It holds a picture.
        """
        if any(isinstance(part, Image) for message in messages for part in message.parts):
            raise UsageError("play-train plays without pictures: --set play.settings.arm=caption")
        before, self._heard = self._heard, last_turn(messages)
        if not self.prompt:
            self.prompt = self._ids(rendered(self._loaded, messages))
            return self.prompt
        added = self._ids(self._after_reply(_news(before, self._heard)))
        # Where the model ended its turn itself, the template's mark of that is there already.
        if self.completion and added[:1] == self.completion[-1:]:
            added = added[1:]
        self._add(added, 0)
        return added

    def say(self, ids: Sequence[int]) -> None:
        """Take in what the model drew."""
        self._add(ids, 1)

    @property
    def heard(self) -> tuple[int, str]:
        """The last request in short: how many turns of the model it has, and the host's last turn."""
        return self._heard

    def again(self, heard: tuple[int, str], host: Sequence[int], said: Sequence[int]) -> None:
        """Take in a turn that was recorded: the tokens of the host, and of the model."""
        self._heard = heard
        if self.prompt:
            self._add(host, 0)
        else:
            self.prompt = list(host)
        self.say(said)

    def _add(self, ids: Sequence[int], drawn: int) -> None:
        self.completion += ids
        self.mask += [drawn] * len(ids)

    def _ids(self, text: str) -> list[int]:
        return list(self._loaded.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _after_reply(self, news: str) -> str:
        """What the template writes after a reply, when the host goes on with these words."""
        told = (Message("user", ("?",)), Message("assistant", (_MARK,)), Message("user", (news,)))
        return rendered(self._loaded, told).partition(_MARK)[2]


def last_turn(messages: Sequence[Message]) -> tuple[int, str]:
    """How many turns of the model a request has, and the text of the host's last turn."""
    turns = sum(message.speaker == "assistant" for message in messages)
    return turns, "\n".join(str(part) for part in messages[-1].parts)


def _news(before: tuple[int, str], now: tuple[int, str]) -> str:
    """What the host says now: a turn of its own, or, where no reply was taken in between, the lines it adds to its last."""
    if now[0] > before[0]:
        return now[1]
    old, new = before[1].split("\n"), now[1].split("\n")
    same = next((at for at, line in enumerate(new) if old[at : at + 1] != [line]), len(new))
    return "\n".join(new[same:]) or now[1]
