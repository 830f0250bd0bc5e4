"""The games as Gymnasium has environments: `reset` and `step`, one game at a time, without a loop of one's own.

env = Env(judge="gpt-4o-mini", oracle="gpt-4o-mini")
observation, info = env.reset(seed=0, options={"sample": "en-001"})
observation, reward, terminated, truncated, info = env.step(policy(observation.messages))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from itertools import cycle
from types import TracebackType
from typing import Any, TypeVar

from lotbench.environment.game import Game, Observation
from lotbench.environment.games import games
from lotbench.errors import UsageError

T = TypeVar("T")


class Env:
    """An environment of one game at a time, from the arguments of `lotbench.games`.

    Its event loop runs in a thread of its own, so that it works in a script, in a notebook and in any other loop.

    Attributes:
        games: The games that it plays from.
    """

    def __init__(self, *benchmark: str, **asked: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="lotbench-env")
        self._thread.start()
        self._open = AsyncExitStack()
        self._game: Game | None = None
        try:
            self.games = self._run(self._open.enter_async_context(games(*benchmark, **asked)))
        except BaseException:
            self.close()
            raise
        self._order = cycle(self.games.samples)

    def __enter__(self) -> Env:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation | None, dict[str, Any]]:
        """Give up the present game, if it is not over, and begin another.

        Args:
            seed: See `Games.new`: by default the next that nobody has played on the sample. No seed is played twice.
            options: `{"sample": ID}`; by default the samples come in the order of the data set, again and again.

        Returns:
            What the game wants (None of a game that an earlier session finished), and `sample` and `seed`.
        """
        if self._game is not None:
            self._run(self._game.close())
        sample = (options or {}).get("sample") or next(self._order)
        self._game = game = self._run(self.games.new(sample, seed))
        return game.observation, {"sample": game.sample, "seed": game.seed}

    def step(
        self, action: str, *, to: str | None = None
    ) -> tuple[Observation | None, float | None, bool, bool, dict[str, Any]]:
        """Take a step; see `Game.step`.

        Returns:
            The next observation, the reward, whether the game ended, whether it broke off (a judge that failed: the
            reward is None then, and no 0), and what is told beside.
        """
        if self._game is None:
            raise UsageError("no game is under way: reset first")
        observation, reward, done, info = self._run(self._game.step(action, to=to))
        return observation, reward, done and reward is not None, done and reward is None, info

    def close(self) -> None:
        """Close what was opened; the game under way can be gone on with from its folder."""
        if self._loop.is_closed():
            return
        self._run(self._open.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise UsageError("the environment is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()
