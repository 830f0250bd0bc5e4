"""The games as OpenEnv has episodes: what a client may ask for and is shown. `openenv_server` serves them.

A client is shown what a candidate would be sent, and the reward. The key text and the judge's reasons stay here, and so does
what went wrong with a judge, which may quote them: they are in the run folder, for whoever runs the server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lotbench.environment.game import Game
from lotbench.environment.games import Games
from lotbench.errors import LimitReached, LotbenchError, UsageError
from lotbench.types import Finish, Reply

WITHHELD = "the reason is with the server: it may quote what the judge was shown"
"""In place of what went wrong with a judge or an oracle."""
_log = logging.getLogger(__name__)


class ClientGame:
    """A client's place among the games: the game that it plays.

    Args:
        games: Those of all clients.
        order: The samples, one after the other, again and again; of all clients too.
    """

    def __init__(self, games: Games, order: Iterator[str]) -> None:
        self._games, self._order = games, order
        self._game: Game | None = None
        self._name: str | None = None
        self._steps = 0

    async def reset(self, seed: int | None, name: str | None, sample: str | None) -> dict[str, Any]:
        """Begin a game, by default on the next sample, and give up the one before it; returns what the client is shown.

        Raises:
            UsageError: There is no such sample, or the game was begun before.
        """
        await self.close()
        with _withhold():
            game = await self._games.new(sample or next(self._order), seed)
        # Another reset may have come meanwhile.
        await self.close()
        self._game = game
        self._name, self._steps = name or f"{game.sample}/{game.seed}", 0
        return _show(game, None)

    async def step(self, text: str, to: str | None, finish: Finish | None) -> dict[str, Any]:
        """Take a step; returns what the client is shown.

        Args:
            text: As the model wrote it, in the form that the messages ask for.
            to: The `key` of the observation that it replies to, to be sure that it still stands.
            finish: How the model ended, if that is known: an answer that was cut short or is empty is played as it is.

        Raises:
            UsageError: The action does not fit; nothing has changed.
        """
        game = self._game
        if game is None:
            raise UsageError("no game is under way: reset first")
        reply: str | Reply = text
        if finish is not None and game.observation is not None:
            reply = Reply(text, game.observation.request.model, finish)
        with _withhold():
            _, reward, _, _ = await game.step(reply, to=to)
        if game is self._game:
            self._steps += 1
        return _show(game, reward)

    def state(self) -> dict[str, Any]:
        """Return where the game stands; empty before the first reset."""
        game = self._game
        if game is None:
            return {}
        return {
            "episode_id": self._name,
            "step_count": self._steps,
            "sample": game.sample,
            "seed": game.seed,
            "done": game.done,
            "outcome": None if game.trace is None else game.trace.outcome,
        }

    async def close(self) -> None:
        """Give the game up."""
        if self._game is not None:
            game, self._game = self._game, None
            await game.close()


def _show(game: Game, reward: float | None) -> dict[str, Any]:
    """Return what a client is shown of a game: what it wants now, and the reward."""
    observation, trace = game.observation, game.trace
    view: dict[str, Any] = {"done": game.done, "metadata": {"sample": game.sample, "seed": game.seed}}
    if observation is not None:
        view |= {name: getattr(observation, name) for name in ("messages", "wants", "round", "key")}
        view["form"] = None if observation.schema is None else dict(observation.schema)
    if trace is not None:
        why = None if trace.why is None else WITHHELD
        view["metadata"] |= {"outcome": trace.outcome, "why": why, "parts": dict(trace.score.parts)}
        reward = trace.score.value
    return view | {"reward": reward}


@contextmanager
def _withhold() -> Iterator[None]:
    """Tell what a client may not hear where the server runs.

    Raises:
        LotbenchError: In its place.
    """
    try:
        yield
    except (UsageError, LimitReached):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it may quote what the judge was shown
        _log.exception("a step failed")
        raise LotbenchError(f"{type(error).__name__}: {WITHHELD}") from None
