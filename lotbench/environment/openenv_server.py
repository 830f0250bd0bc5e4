"""The games served by the released `openenv` package, an extra: its wire, its sessions, its limits.

Everything but `/health` wants `Authorization: Bearer KEY`.
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
"""Bytes of a message; an action that is too long for a game is refused by the game, which says so."""


PATIENCE_S = 10.0
"""Seconds that the head of a request may take to come: whoever sends half a one holds a connection."""


class GameAction(Action):
    """A reply to the observation; see `Episode.step`."""

    text: str
    to: str | None = None
    finish: Finish | None = None


class GameObservation(Observation):
    """What a client is shown; `messages` and what follows are empty when the game is over."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    """In OpenAI's format, pictures as data URLs."""
    wants: str = ""
    """`guess`, `question`, ..."""
    round: int = 0
    key: str = ""
    form: dict[str, Any] | None = None
    """The JSON schema of the reply."""


class GameState(State):
    """Where an episode stands."""

    sample: str = ""
    seed: int = 0
    done: bool = False
    outcome: str | None = None


class GameEnvironment(Environment):
    """A client's place among the games, as OpenEnv has it."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, games: Games, order: Iterator[str], loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._episode, self._loop = ClientGame(games, order), loop
        self._samples = tuple(games.samples)

    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, sample: str | None = None
    ) -> GameObservation:
        """Begin a game: on a sample, or on the next; `seed` says which of the independent games on it."""
        return GameObservation(**await self._episode.reset(seed, episode_id, sample))

    async def step_async(self, action: GameAction) -> GameObservation:
        """Reply to what the game wants."""
        return GameObservation(**await self._episode.step(action.text, action.to, action.finish))

    @property
    def state(self) -> GameState:
        """Where the game stands."""
        return GameState(**self._episode.state())

    def list_splits(self) -> list[str]:
        """Return the one split of OpenEnv's Task API: all samples that are played."""
        return ["all"]

    def list_tasks(self, split: str) -> list[dict[str, str]]:
        """Return the samples, in the order of the data set, by id."""
        return [{"id": sample} for sample in self._samples]

    def num_tasks(self, split: str) -> int:
        """Return how many samples there are."""
        return len(self._samples)

    def close(self) -> None:
        """Give the game up; the package calls this in a thread of its own."""
        asyncio.run_coroutine_threadsafe(self._episode.close(), self._loop)

    def reset(self, *args: Any, **kwargs: Any) -> GameObservation:
        """Raise: games are played by `reset_async` and `step_async`."""
        raise NotImplementedError

    def step(self, *args: Any, **kwargs: Any) -> GameObservation:
        """Raise; see `reset`."""
        raise NotImplementedError


async def serve_environment(
    games: Games, port: int, key: str, ready: Callable[[str], None], most: int
) -> None:
    """Serve games on the loopback until cancelled.

    Args:
        games: What is played.
        port: 0 for any that is free.
        key: What a client must show.
        ready: Is told the address.
        most: Clients at a time.

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
    """A connection that is closed when its first request does not come in time."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.loop.call_later(PATIENCE_S, self._end_if_silent)

    def _end_if_silent(self) -> None:
        if self.scope is None:
            self.transport.close()


def _guarded(app: Any, key: str) -> Callable[..., Awaitable[None]]:
    """Return an ASGI application that answers 401 to whoever does not show the key; `/health` needs none."""
    key_header = f"Bearer {key}".encode()

    async def guarded(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        sent_header = dict(scope.get("headers", ())).get(b"authorization", b"")
        if (
            scope["type"] == "lifespan"
            or scope["path"] == "/health"
            or hmac.compare_digest(sent_header, key_header)
        ):
            await app(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"the key is wanting or wrong\n"})
        else:
            # Closing a WebSocket before it is accepted answers 403.
            await send({"type": "websocket.close", "code": 1008})

    return guarded
