"""Games as episodes of OpenEnv: what a client may request, and what it is shown. `openenv_server` serves them.

A client sees the candidate's messages and the reward. Key texts and reasons of the judge stay in the run folder on the
server, and so do errors of judges, which may quote them.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lotbench.environment.game import Game
from lotbench.environment.games import Games
from lotbench.errors import LimitReached, LotbenchError, UsageError
from lotbench.types import Finish, Reply

WITHHELD = "the reason is with the server: it may quote what the judge was shown"
"""Shown instead of the error of a judge or oracle."""
_log = logging.getLogger(__name__)


class ClientGame:
    """The game of one client.

    Args:
        games: The games of all clients.
        order: An endless iterator of sample ids, shared by all clients.
    """

    def __init__(self, games: Games, order: Iterator[str]) -> None:
        self._games, self._order = games, order
        self._game: Game | None = None
        self._name: str | None = None
        self._steps = 0

    async def reset(self, seed: int | None, name: str | None, sample: str | None) -> dict[str, Any]:
        """Begin a game in place of the current one, and return what the client is shown of it: observation, reward, `done`.

        Args:
            seed: See `Games.new`.
            name: The episode id for OpenEnv; None for SAMPLE/SEED.
            sample: The id of the sample; None for the next one in the shared order.

        Raises:
            UsageError: The sample is unknown, or the game was begun before; the current game goes on.
        """
        with _withhold():
            game = await self._games.new(sample or next(self._order), seed)
        await self.close()
        self._game = game
        self._name, self._steps = name or f"{game.sample}/{game.seed}", 0
        return _show(game, None)

    async def step(self, text: str, to: str | None, finish: Finish | None) -> dict[str, Any]:
        """Reply to the observation, and return what the client is shown next: observation, reward, `done`.

        Args:
            text: The reply of the model, in the form that the messages ask for.
            to: The `key` of the observation that this replies to, which must be the current one; None for no such check.
            finish: The finish reason of the model, if known; it allows replies that were cut off or are empty.

        Raises:
            UsageError: The game cannot take the action; it is unchanged.
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
        """Return the state of the game; empty before the first reset.

        It has the episode id, the number of steps, sample, seed, `done`, and the outcome (None until the game is over).
        """
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
        """Stop the current game, if there is one."""
        if self._game is not None:
            game, self._game = self._game, None
            await game.close()


def _show(game: Game, reward: float | None) -> dict[str, Any]:
    """Return what a client is shown of a game: observation, `reward`, `done`, and at the end outcome and score parts.

    `reward` is the reward so far (None after a reset); at the end the score of the game takes its place.
    """
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
    """Replace errors that may quote the judge by one without details; log them on the server.

    Raises:
        LotbenchError: In place of such an error.
    """
    try:
        yield
    except (UsageError, LimitReached):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it may quote what the judge was shown
        _log.exception("a step failed")
        raise LotbenchError(f"{type(error).__name__}: {WITHHELD}") from None
