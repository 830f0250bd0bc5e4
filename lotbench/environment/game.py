"""One game that is played from outside: what it asks next, a reply, and so on until there is a trace.

The game episodes through the same graph as in a run. Where a run would call the candidate, the episode stops, shows what the
candidate would have been sent, and waits for `step`; so the trace is the one that `evaluate` writes for the
same replies.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from lotbench.errors import UsageError
from lotbench.models import chat_format
from lotbench.types import JSON, Reply, Request, Trace

LONGEST = 100_000
"""Characters of an action, at most; a reply of 4,096 tokens has about 16,000."""
CLOSED = " was closed: open its folder again to go on with it"

Stepped: TypeAlias = "tuple[Observation | None, float | None, bool, dict[str, Any]]"
"""What a step leads to: the next observation, the reward, whether the game is over, and what is told beside."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a game wants next: the request that a candidate would get.

    Attributes:
        request: With its messages as text and pictures by content, the form of the answer, and its key.
        picture: The data URL of a picture, by the sha256 of its bytes.
    """

    request: Request
    picture: chat_format.Picture

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages as OpenAI's chat format has them, pictures as data URLs."""
        sent: list[dict[str, Any]] = chat_format.body(
            self.request, self.request.model, chat_format.Abilities(), self.picture
        )["messages"]
        return sent

    @property
    def schema(self) -> Mapping[str, JSON] | None:
        """The JSON schema of the answer; None if any text will do."""
        return self.request.schema

    @property
    def wants(self) -> str:
        """`guess`, `response` or `question` in the game: the last field of the form, else the step's name; WORD in the paper's words."""
        fields = (self.schema or {}).get("properties")
        if isinstance(fields, Mapping) and "WORD" in fields:
            return "WORD"
        return list(fields)[-1] if isinstance(fields, Mapping) and fields else self.request.key.step

    @property
    def round(self) -> int:
        """The round of the game, from 1."""
        return self.request.key.round

    @property
    def key(self) -> str:
        """The name of this very request: see the parameter `to` of `Game.step`."""
        return str(self.request.key)

    def answer(self, text: str) -> str:
        """Return a reply of the form that is asked for, which says just this; a reasoning that the form has too stays empty."""
        fields: Any = (self.schema or {}).get("properties", {})
        empty = {name: "" for name, field in fields.items() if field.get("type") == "string"}
        return text if self.schema is None else json.dumps({**empty, self.wants: text}, ensure_ascii=False)


class Game:
    """A game under way; made by `Games.new`.

    Attributes:
        sample: The id of the sample.
        seed: Which of the independent games on it; a run calls it the repeat.
        observation: What it wants next; None when it is over.
        trace: The trace, when it is over.
    """

    def __init__(
        self, sample: str, seed: int, picture: chat_format.Picture, trace: Trace | None = None
    ) -> None:
        self.sample = sample
        self.seed = seed
        self.observation: Observation | None = None
        self.trace = trace
        self._picture = picture
        self._asked: deque[tuple[Request, asyncio.Future[Reply]]] = deque()
        self._stirred = asyncio.Event()
        self._episode: asyncio.Task[None] | None = None
        self._stepping = False
        self._steps: Sequence[Mapping[str, JSON]] = ()
        """The steps of the trace so far."""
        self._told = 0
        """How many of them a step has told of."""

    def __str__(self) -> str:
        return f"game {self.sample}/{self.seed}"

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return self.trace is not None

    @property
    def reward(self) -> float | None:
        """The score; None while the game goes on, and for ever of one that broke off: a failure is never a score."""
        return None if self.trace is None else self.trace.score.value

    async def step(self, action: str | Reply, *, to: str | None = None) -> Stepped:
        """Reply to the observation, and wait until the game wants something again or is over.

        Args:
            action: The reply of the candidate as text, as its model wrote it; or a whole Reply, for one that was cut
                short, declined or is empty, and to have its tokens counted.
            to: The `key` of the observation that it replies to, to be sure that it still stands.

        Returns:
            The next observation, the reward, whether the game is over, and a table: `round`, `steps` (of the trace, those
            that this action led to) and, at the end, `outcome`, `why` and `score` with its `parts`. The reward is 0
            until the end, and then the score, or None of a game that broke off (a judge that failed).

        Raises:
            UsageError: The action is none, is too long, or comes at the wrong time; the game stands as it was.
            LotbenchError: No episode can go on (a wrong key, a limit): the game can be gone on with from its folder.
        """
        self._refuse(action, to)
        self._stepping = True
        try:
            request, answered = self._asked.popleft()
            self.observation = None
            reply = action if isinstance(action, Reply) else Reply(action, request.model)
            answered.set_result(reply)
            await self.wait()
        finally:
            self._stepping = False
        return self.observation, self.reward if self.done else 0.0, self.done, self._news()

    async def wait(self) -> None:
        """Wait until the game wants something or is over; of use where a `step` was cancelled while it waited.

        Raises:
            LotbenchError: What ended the episode without a trace.
        """
        while not self._asked and not self._ended:
            self._stirred.clear()
            await self._stirred.wait()
        if self._asked:
            self.observation = Observation(self._asked[0][0], self._picture)
        elif self._episode is not None:
            if self._episode.cancelled():
                raise UsageError(f"{self}{CLOSED}")
            self._episode.result()

    async def close(self) -> None:
        """Give the game up where it is; its folder has what was said, and it can be gone on with from there."""
        self._asked.clear()
        self.observation = None
        if self._episode is not None and not self._episode.done():
            self._episode.cancel()
            with suppress(asyncio.CancelledError):
                await self._episode

    async def begin(self, episode: Coroutine[Any, Any, None]) -> None:
        """Set out, and wait until the game wants something or is over.

        Raises:
            LotbenchError: What ended the episode without a trace.
        """
        self._episode = asyncio.create_task(episode)
        self._episode.add_done_callback(self._over)
        await self.wait()
        # What an earlier session's actions led to is not what the next action leads to.
        self._told = len(self._steps)

    async def asked(self, request: Request) -> Reply:
        """Wait for the reply to a request, as the model of the candidate would be waited for."""
        started = time.monotonic()
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked.append((request, answered))
        self._stirred.set()
        reply = await answered
        return replace(reply, seconds=reply.seconds or round(time.monotonic() - started, 3))

    def reached(self, steps: Sequence[Mapping[str, JSON]]) -> None:
        """Note how far the episode has come."""
        self._steps = steps

    @property
    def _ended(self) -> bool:
        return self._episode is None or self._episode.done()

    def _over(self, episode: asyncio.Task[None]) -> None:
        if not episode.cancelled():
            # Looked at, so that a game that nobody waits for any more is no complaint at the end of the program.
            episode.exception()
        self._stirred.set()

    def _refuse(self, action: object, to: str | None) -> None:
        """Raise UsageError for an action that the game cannot take; nothing has changed then."""
        name = str(self)
        if self.trace is not None:
            raise UsageError(f"{name} is over ({self.trace.outcome}): it takes no more actions")
        if self._ended:
            raise UsageError(f"{name}{CLOSED}")
        if self._stepping or self.observation is None:
            raise UsageError(f"{name}: a step is under way: wait for it before the next")
        if to is not None and to != self.observation.key:
            raise UsageError(f"{name}: the action replies to {to}, the game wants {self.observation.key}")
        text = action.text if isinstance(action, Reply) else action
        if not isinstance(text, str):
            raise UsageError(f"{name}: an action is a text or a Reply, not {type(action).__name__}")
        if not isinstance(action, Reply) and not text.strip():
            raise UsageError(f"{name}: the action is empty; a {self.observation.wants} is wanted")
        if len(text) > LONGEST:
            raise UsageError(f"{name}: the action has {len(text):,} characters, {LONGEST:,} at most")

    def _news(self) -> dict[str, Any]:
        """Return what a step is told beside observation and reward."""
        trace = self.trace
        steps = self._steps if trace is None else trace.steps
        new, self._told = steps[self._told :], len(steps)
        news: dict[str, Any] = {"steps": new}
        if self.observation is not None:
            news["round"] = self.observation.round
        if trace is not None:
            news |= {"outcome": trace.outcome, "why": trace.why, "score": asdict(trace.score)}
        return news
