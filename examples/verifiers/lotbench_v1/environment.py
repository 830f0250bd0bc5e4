"""A taskset of samples, and an environment in which the player's turns are the turns of a game.

Judge and oracle stand behind the server: they are no agents here, so nothing of them is ever trained, and the key text
never reaches this process. A game that broke off (a judge that failed) fails its episode and is no reward of 0.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import verifiers.v1 as vf

KEY = "LOTBENCH_SERVE_KEY"
PATIENCE_S = 600.0
"""Seconds that one step may take: a judge and an oracle answer meanwhile."""


class LotData(vf.TaskData):
    """A sample, by id, at a server."""

    sample: str
    base_url: str


class LotConfig(vf.TasksetConfig):
    """Where the game is served, and which of its samples are played."""

    base_url: str = "http://127.0.0.1:8004"
    samples: tuple[str, ...] = ()
    """Their ids; all that are served if none is named."""


class LotTask(vf.Task[LotData]):
    """A sample; the environment scores it."""


class LotTaskset(vf.Taskset[LotTask, LotConfig]):
    """A task a sample."""

    def load(self) -> Iterator[LotTask]:
        """The samples, as the server names them."""
        url = self.config.base_url
        samples = (
            self.config.samples
            or httpx.get(f"{url}/metadata", headers=_key()).raise_for_status().json()["samples"]
        )
        for sample in samples:
            yield LotTask(LotData(name=sample, prompt=None, sample=sample, base_url=url), self.config.task)


class LotEnvConfig(vf.EnvConfig):
    """Who plays."""

    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})


class LotEnv(vf.Env[LotEnvConfig]):
    """One game an episode; the server plays it as one growing conversation."""

    async def run(self, task: LotTask, agents: Any) -> None:
        """Play a game to its end, or until the player has used up what it may use."""
        async with _episode(task.data) as (game, told), agents.player.interaction(task) as player:
            while not told["done"]:
                turn = await player.turn(unheard(told["observation"]["messages"]))
                if turn.terminated:
                    break
                told = await game.step(turn.last_reply)
                if not told["done"] and not grows(told["observation"]["messages"]):
                    raise RuntimeError(
                        "an episode is one conversation: serve with --set conversation=growing"
                    )
            else:
                record(player.trace, told)


def grows(messages: list[dict[str, Any]]) -> bool:
    """Whether the server plays one growing conversation: what the player has said stands in it."""
    return any(one["role"] == "assistant" for one in messages)


def unheard(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was said since the player's last reply."""
    replies = [place for place, one in enumerate(messages) if one["role"] == "assistant"]
    return messages[replies[-1] + 1 :] if replies else messages


def record(trace: Any, told: dict[str, Any]) -> None:
    """The score of a game as the reward, its parts as metrics.

    Raises:
        RuntimeError: The game broke off, so that it has no score.
    """
    end = told["metadata"]
    if told["reward"] is None:
        raise RuntimeError(f"{end['outcome']}: {end['why']}")
    trace.record_reward("creativity_score", told["reward"])
    trace.record_metric("solved", float(end["outcome"] == "solved"))
    for name, value in end["parts"].items():
        if isinstance(value, int | float):
            trace.record_metric(name, float(value))


class _Game:
    """One game at the server."""

    def __init__(self, http: httpx.AsyncClient, episode: str) -> None:
        self._http = http
        self._episode = episode

    async def reset(self, sample: str) -> dict[str, Any]:
        return await self._post("/reset", {"sample": sample})

    async def step(self, reply: str) -> dict[str, Any]:
        # With a `finish`, an empty reply is one too: it is played by the rules, as in a run.
        return await self._post("/step", {"action": {"text": reply, "finish": "stop"}})

    async def _post(self, path: str, table: dict[str, Any]) -> dict[str, Any]:
        answer = await self._http.post(path, json={**table, "episode_id": self._episode})
        if answer.is_error:
            raise RuntimeError(f"{path}: {answer.status_code}: {answer.text}")
        return answer.json()


@asynccontextmanager
async def _episode(data: LotData) -> AsyncIterator[tuple[_Game, dict[str, Any]]]:
    async with httpx.AsyncClient(base_url=data.base_url, headers=_key(), timeout=PATIENCE_S) as http:
        game = _Game(http, uuid.uuid4().hex)
        yield game, await game.reset(data.sample)


def _key() -> dict[str, str]:
    return {"Authorization": f"Bearer {os.environ.get(KEY, '')}"}
