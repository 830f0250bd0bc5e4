"""The games as an OpenEnv environment: what its clients may ask for and are told.

A client is shown what a candidate would be sent, and the reward. The key text and the judge's reasons stay here, and so does
what went wrong with a judge, which may quote them: they are in the run folder, for whoever runs the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import cycle
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lotbench.environment.game import Game, Observation
from lotbench.environment.games import Games
from lotbench.errors import LimitReached, LotbenchError, UsageError, faults_of
from lotbench.run.plan import version
from lotbench.types import JSON, Finish, Reply

LEFT = 1_000
"""Games whose client went away and that can be taken up again; of more, the one left longest ago is given up."""
WITHHELD = "the reason is with the server: it may quote what the judge was shown"
"""In place of what went wrong with a judge or an oracle."""
_log = logging.getLogger(__name__)


class Reset(BaseModel):
    """What a client may say of the episode that it begins."""

    model_config = ConfigDict(extra="forbid", strict=True)

    seed: Annotated[int, Field(ge=0)] | None = None
    """See `Games.new`: by default the next that nobody has played on the sample."""
    sample: str | None = None
    """By default the next in the order of the data set."""
    episode_id: str | None = Field(default=None, max_length=255)


class Action(BaseModel):
    """A reply to the observation."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    """As the model wrote it, in the form that the messages ask for."""
    to: str | None = None
    """The `key` of the observation that it replies to, to be sure that it still stands."""
    finish: Finish | None = None
    """How the model ended, if that is known: what it wrote is then played by the rules, cut short or empty as it is."""
    metadata: dict[str, Any] = {}
    """Not looked at: the client's own actions carry it."""


class Seen(BaseModel):
    """What a client is shown; `messages` and what follows are empty when the game is over."""

    messages: list[dict[str, Any]] = []
    """In OpenAI's format, pictures as data URLs."""
    wants: str = ""
    """`filling`, `question`, ..."""
    round: int = 0
    key: str = ""
    form: dict[str, Any] | None = None
    """The JSON schema of the reply."""


class Standing(BaseModel):
    """Where an episode stands."""

    episode_id: str | None = None
    step_count: int = 0
    sample: str = ""
    seed: int = 0
    done: bool = False
    outcome: str | None = None


class Episodes:
    """The environment: one set of games for all clients."""

    def __init__(self, games: Games) -> None:
        self.games = games
        self.order = cycle(games.samples)
        self._left: OrderedDict[tuple[str, int], Game] = OrderedDict()

    def session(self) -> Episode:
        """A place for one more client."""
        return Episode(self)

    def about(self) -> Mapping[str, JSON]:
        """What it is, and what can be played."""
        played = self.games.benchmark
        return {
            "name": played.name,
            "description": played.about,
            "version": f"{version()}, benchmark {played.version}",
            "samples": list(self.games.samples),
        }

    def schema(self) -> Mapping[str, JSON]:
        """What is said and shown, as JSON schemas."""
        told: dict[str, type[BaseModel]] = {"action": Action, "observation": Seen, "state": Standing}
        return {name: model.model_json_schema() for name, model in told.items()}

    async def leave(self, game: Game) -> None:
        """Keep a game that its client left, so that it can be gone on with."""
        if not game.done:
            self._left[game.sample, game.seed] = game
        while len(self._left) > LEFT:
            _, oldest = self._left.popitem(last=False)
            await oldest.close()

    async def begin(self, asked: Reset) -> Game:
        """The game that is asked for: one that a client left, or a new one."""
        sample = asked.sample or next(self.order)
        game = None if asked.seed is None else self._left.pop((sample, asked.seed), None)
        if game is None:
            return await self.games.new(sample, asked.seed)
        try:
            await game.wait()
        except asyncio.CancelledError:
            # This client has gone too, before a judge had answered.
            await self.leave(game)
            raise
        return game


class Episode:
    """A client's place."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._game: Game | None = None
        self._name: str | None = None
        self._steps = 0

    @property
    def over(self) -> bool:
        """Whether its game has ended."""
        return self._game is not None and self._game.done

    async def reset(self, data: Mapping[str, Any]) -> Mapping[str, JSON]:
        """Begin a game; the one before it is left."""
        asked = _read(Reset, data)
        await self.close()
        with _withheld():
            game = await self._episodes.begin(asked)
        # Another reset may have come meanwhile.
        await self.close()
        self._game = game
        self._name, self._steps = asked.episode_id or f"{game.sample}/{game.seed}", 0
        return _told(game, game.observation, None)

    async def step(self, action: Mapping[str, Any]) -> Mapping[str, JSON]:
        """Take a step."""
        said, game = _read(Action, action), self._game
        if game is None:
            raise UsageError("no game is under way: reset first")
        reply: str | Reply = said.text
        if said.finish is not None and game.observation is not None:
            reply = Reply(said.text, game.observation.request.model, said.finish)
        with _withheld():
            observation, reward, _, _ = await game.step(reply, to=said.to)
        if game is self._game:
            self._steps += 1
        return _told(game, observation, reward)

    def state(self) -> Mapping[str, JSON]:
        """Where the game stands."""
        game = self._game
        if game is None:
            return Standing().model_dump()
        outcome = None if game.trace is None else game.trace.outcome
        return Standing(
            episode_id=self._name,
            step_count=self._steps,
            sample=game.sample,
            seed=game.seed,
            done=game.done,
            outcome=outcome,
        ).model_dump()

    async def close(self) -> None:
        """Leave the game, which can be gone on with by its sample and seed."""
        if self._game is not None:
            game, self._game = self._game, None
            await self._episodes.leave(game)


def _told(game: Game, wanted: Observation | None, reward: float | None) -> Mapping[str, JSON]:
    """What a client is told of a game: what it wants now, and the reward."""
    trace, seen = game.trace, Seen()
    metadata: dict[str, JSON] = {"sample": game.sample, "seed": game.seed}
    if wanted is not None:
        form = None if wanted.schema is None else dict(wanted.schema)
        seen = Seen(
            messages=wanted.messages, wants=wanted.wants, round=wanted.round, key=wanted.key, form=form
        )
    if trace is not None:
        why = None if trace.why is None else WITHHELD
        metadata |= {"outcome": trace.outcome, "why": why, "parts": trace.score.parts}
        reward = trace.score.value
    return {"observation": seen.model_dump(), "reward": reward, "done": game.done, "metadata": metadata}


@contextmanager
def _withheld() -> Iterator[None]:
    """Tell what a client may not hear where the server runs.

    Raises:
        LotbenchError: In its place.
    """
    try:
        yield
    except (UsageError, LimitReached):
        raise
    except LotbenchError as error:
        _log.error("%s", error)
        raise LotbenchError(f"{type(error).__name__}: {WITHHELD}") from None


def _read(model: type[Any], data: Mapping[str, Any]) -> Any:
    """What a client sent, as a model of it.

    Raises:
        UsageError: A field is missing, unknown or of another kind, by name.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UsageError("; ".join(faults_of(error))) from None
