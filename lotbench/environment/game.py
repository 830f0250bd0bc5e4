"""A game in which another program replies as the candidate: observation, reply, next observation, until the end.

The game runs through the same graph as an episode of a run. Where a run would call the candidate, it shows the request as
an observation and waits for `step`. The same replies give the same trace as `evaluate`.
"""

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
"""The longest reply to an observation, in characters; a reply of 4,096 tokens has about 16,000."""
CLOSED = " was closed: open its folder again to go on with it"

Stepped: TypeAlias = "tuple[Observation | None, float | None, bool, dict[str, Any]]"
"""The result of a step: next observation, reward, whether the game is over, and a dict; see `Game.step`."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the player is shown: the request that the candidate of a run would get next.

    Attributes:
        request: The request, with messages, schema of the answer, and key.
        picture: Maps the sha256 of a picture to its data URL.
    """

    request: Request
    picture: chat_format.Picture

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages in OpenAI's chat format, with pictures as data URLs."""
        return chat_format.messages(self.request, self.picture)

    @property
    def schema(self) -> Mapping[str, JSON] | None:
        """The JSON schema of the answer; None for plain text."""
        return self.request.schema

    @property
    def wants(self) -> str:
        """The field of the answer to fill in: `guess`, `response`, `question`, or `WORD` (with the paper's prompts).

        For an answer in plain text it is the name of the step in the game.
        """
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
        """The key of this request as text; see the parameter `to` of `Game.step`."""
        return str(self.request.key)

    def answer(self, text: str) -> str:
        """Return the reply that has this text in the field `wants`; other text fields of the schema stay empty.

        Without a schema the reply is the text.
        """
        fields: Any = (self.schema or {}).get("properties", {})
        empty = {name: "" for name, field in fields.items() if field.get("type") == "string"}
        return text if self.schema is None else json.dumps({**empty, self.wants: text}, ensure_ascii=False)


class Game:
    """A game that is played step by step, made by `Games.new`.

    Attributes:
        sample: The id of the sample.
        seed: Which of the independent games on the sample this is; the `repeat` of its trace.
        observation: The request that waits for a reply; None when the game is over.
        trace: The trace when the game is over, else None.
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
        """The number of steps already returned by `step`."""

    def __str__(self) -> str:
        return f"game {self.sample}/{self.seed}"

    @property
    def done(self) -> bool:
        """Whether the game is over."""
        return self.trace is not None

    @property
    def reward(self) -> float | None:
        """The score; None while the game runs, and for a game that broke off."""
        return None if self.trace is None else self.trace.score.value

    async def step(self, action: str | Reply, *, to: str | None = None) -> Stepped:
        """Reply to the observation, and wait for the next one or the end of the game.

        Args:
            action: The reply as text. A Reply object can also hold token counts, or be cut off, refused or empty.
            to: The `key` of the observation that this replies to, which must be the current one; None for no such check.

        Returns:
            The next observation, the reward, whether the game is over, and a dict: `round`, the new `steps` of the trace
            and, at the end, `outcome`, `why` and `score` with its `parts`. The reward is 0 until the end, then the score,
            or None for a game that broke off (a failed judge).

        Raises:
            UsageError: The action is empty, too long, or not expected now; the game is unchanged.
            LotbenchError: The run cannot go on (a wrong key, a limit); the game can be continued from its folder.
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
        """Wait for the next observation or the end of the game; needed only after a cancelled `step`.

        Raises:
            LotbenchError: The error that ended the episode without a trace.
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
        """Stop the game; it can be continued from its folder."""
        self._asked.clear()
        self.observation = None
        if self._episode is not None and not self._episode.done():
            self._episode.cancel()
            with suppress(asyncio.CancelledError):
                await self._episode

    async def begin(self, episode: Coroutine[Any, Any, None]) -> None:
        """Run the coroutine that plays the game, and wait for the first observation or the end.

        Raises:
            LotbenchError: The error that ended the episode without a trace.
        """
        self._episode = asyncio.create_task(episode)
        self._episode.add_done_callback(self._over)
        await self.wait()
        # `step` must not return the steps of an earlier session.
        self._told = len(self._steps)

    async def wait_for_reply(self, request: Request) -> Reply:
        """Show a request to the candidate as the next observation, and wait for the reply to it."""
        started = time.monotonic()
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._asked.append((request, answered))
        self._stirred.set()
        reply = await answered
        return replace(reply, seconds=reply.seconds or round(time.monotonic() - started, 3))

    def reached(self, steps: Sequence[Mapping[str, JSON]]) -> None:
        """Note the steps of the trace so far, from which `step` returns the new ones."""
        self._steps = steps

    @property
    def _ended(self) -> bool:
        return self._episode is None or self._episode.done()

    def _over(self, episode: asyncio.Task[None]) -> None:
        if not episode.cancelled():
            # Retrieve the exception, so that asyncio does not warn about it at exit.
            episode.exception()
        self._stirred.set()

    def _refuse(self, action: object, to: str | None) -> None:
        """Raise UsageError for an action that the game cannot take."""
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
        """Return the dict that `step` returns: the new steps, and the round, or the outcome and the score."""
        trace = self.trace
        steps = self._steps if trace is None else trace.steps
        new, self._told = steps[self._told :], len(steps)
        news: dict[str, Any] = {"steps": new}
        if self.observation is not None:
            news["round"] = self.observation.round
        if trace is not None:
            news |= {"outcome": trace.outcome, "why": trace.why, "score": asdict(trace.score)}
        return news
