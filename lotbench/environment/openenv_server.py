"""An OpenEnv server for games, built on the package `openenv` (an extra).

All routes except `/health` need the header `Authorization: Bearer KEY`.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from itertools import cycle
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field
from uvicorn.protocols.http.h11_impl import H11Protocol

from lotbench.environment.games import Games
from lotbench.environment.openenv import ClientGame
from lotbench.types import Finish

HOST = "127.0.0.1"
LARGEST = 4_000_000
"""The largest message in bytes; shorter messages with too long an action are refused by the game."""


PATIENCE_S = 10.0
"""Seconds until the head of a request must have arrived; incomplete requests would hold a connection."""


class GameAction(Action):
    """A reply to the observation; see `ClientGame.step`."""

    text: str
    to: str | None = None
    finish: Finish | None = None


class GameObservation(Observation):
    """The client's view; the fields are empty when the game is over."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    """Messages in OpenAI's format, with pictures as data URLs."""
    wants: str = ""
    """`guess`, `question`, ..."""
    round: int = 0
    key: str = ""
    form: dict[str, Any] | None = None
    """The JSON schema of the reply."""


class GameState(State):
    """The state of an episode."""

    sample: str = ""
    seed: int = 0
    done: bool = False
    outcome: str | None = None


class GameEnvironment(Environment):
    """The game of one client as an OpenEnv environment."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, games: Games, order: Iterator[str], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._episode, self._loop = ClientGame(games, order), loop
        self._samples = tuple(games.samples)

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, sample: str | None = None
    ) -> GameObservation:
        """Begin a game on a sample, by default the next one; see `ClientGame.reset`."""
        return GameObservation(**await self._episode.reset(seed, episode_id, sample))

    async def step_async(self, action: GameAction) -> GameObservation:
        """Reply to the observation."""
        return GameObservation(**await self._episode.step(action.text, action.to, action.finish))

    @property
    def state(self) -> GameState:
        """The state of the game."""
        return GameState(**self._episode.state())

    def list_splits(self) -> list[str]:
        """Return the splits of OpenEnv's Task API: one with all samples."""
        return ["all"]

    def list_tasks(self, split: str) -> list[dict[str, str]]:
        """Return the sample ids in the order of the data set."""
        return [{"id": sample} for sample in self._samples]

    def num_tasks(self, split: str) -> int:
        """Return the number of samples."""
        return len(self._samples)

    def close(self) -> None:
        """Stop the game; the package calls this from another thread."""
        asyncio.run_coroutine_threadsafe(self._episode.close(), self._loop)

    def reset(self, *args: Any, **kwargs: Any) -> GameObservation:
        """Raise NotImplementedError: use `reset_async`."""
        raise NotImplementedError

    def step(self, *args: Any, **kwargs: Any) -> GameObservation:
        """Raise NotImplementedError: use `step_async`."""
        raise NotImplementedError


async def serve_environment(
    games: Games, port: int, key: str, ready: Callable[[str], None], most: int
) -> None:
    """Serve games on the loopback until cancelled.

    Args:
        games: The games.
        port: The port; 0 takes a free one.
        key: The key that clients must send.
        ready: Called with the address.
        most: The maximum number of concurrent clients.

    Raises:
        OSError: The port is taken.
    """
    loop, order = asyncio.get_running_loop(), cycle(games.samples)
    app = create_fastapi_app(
        lambda: GameEnvironment(games, order, loop),
        GameAction,
        GameObservation,
        most,
        env_name="lotbench",
        state_cls=GameState,
    )
    with socket.create_server((HOST, port)) as listener:
        ready(f"http://{HOST}:{listener.getsockname()[1]}")
        config = uvicorn.Config(
            _guarded(app, key),
            http=_Impatient,
            log_level="warning",
            lifespan="off",
            ws_max_size=LARGEST,
        )
        await uvicorn.Server(config).serve([listener])


class _Impatient(H11Protocol):
    """A connection that is closed if its first request does not arrive in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.loop.call_later(PATIENCE_S, self._end_if_silent)

    def _end_if_silent(self) -> None:
        if self.scope is None:
            self.transport.close()


def _guarded(app: Any, key: str) -> Callable[..., Awaitable[None]]:
    """Return an ASGI application that answers 401 to requests without the key, except for `/health`."""
    right = f"Bearer {key}".encode()

    async def guarded(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        header = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "lifespan" or scope["path"] == "/health" or hmac.compare_digest(header, right):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"the key is wanting or wrong\n"})
        else:
            # Closing a WebSocket before it is accepted answers 403.
            await send({"type": "websocket.close", "code": 1008})

    return guarded
