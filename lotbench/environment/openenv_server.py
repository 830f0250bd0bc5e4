"""An OpenEnv server for games, built on the package `openenv` (an extra).

All routes except `/health` need the header `Authorization: Bearer KEY`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import Field, validate_call

from lotbench.environment.games import Games
from lotbench.environment.http_limits import LARGEST, Limited, guarded
from lotbench.environment.openenv import ClientGame
from lotbench.types import Finish

HOST = "127.0.0.1"


class GameAction(Action):
    """A reply to the observation; see `ClientGame.step`."""

    text: str
    to: str | None = None
    finish: Finish | None = None


class GameObservation(Observation):
    """What an OpenEnv client sees of a game after a reset or a step; the fields are empty when the game is over."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    """Messages in OpenAI's format, with pictures as data URLs."""
    wants: str = ""
    """`guess`, `question`, ..."""
    round: int = 0
    key: str = ""
    form: dict[str, Any] | None = None
    """The JSON schema of the reply."""


class GameState(State):
    """The state of an episode: its sample and seed, whether it is over, and its outcome (None until then)."""

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

    @validate_call(config={"strict": True})
    async def reset_async(
        self, seed: int | None = None, episode_id: str | None = None, sample: str | None = None
    ) -> GameObservation:
        """Begin a game on a sample, by default the next one; see `ClientGame.reset`."""
        return GameObservation(**await self._episode.reset(seed, episode_id, sample))

    async def step_async(self, action: GameAction) -> GameObservation:
        """Reply to the observation; see `ClientGame.step`."""
        return GameObservation(**await self._episode.step(action.text, action.to, action.finish))

    @property
    def state(self) -> GameState:
        """The state of the game; see `ClientGame.state`."""
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
        port: The port; 0 for any free port.
        key: The key that clients must send.
        ready: Called with the address when the port is open.
        most: The maximum number of concurrent clients.

    Raises:
        OSError: The port is taken.
    """
    place = partial(GameEnvironment, games, cycle(games.samples), asyncio.get_running_loop())
    kinds = {"action_cls": GameAction, "observation_cls": GameObservation, "state_cls": GameState}
    # In the mode "simulation" OpenEnv also serves reset and step as single requests, each with a game of its own.
    app = create_fastapi_app(place, max_concurrent_envs=most, env_name="lotbench", mode="production", **kinds)
    app.router.routes[:] = [route for route in app.routes if route.path != "/mcp"]
    with socket.create_server((HOST, port)) as listener:
        ready(f"http://{HOST}:{listener.getsockname()[1]}")
        how = {"http": Limited, "ws_max_size": LARGEST, "log_level": "warning", "lifespan": "off"}
        config = uvicorn.Config(guarded(app, key), **how)
        await uvicorn.Server(config).serve([listener])
