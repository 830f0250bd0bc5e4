"""A taskset of samples, and an environment in which the player's turns are the turns of a game.

Judge and oracle stand behind the server: they are no agents here, so nothing of them is ever trained, and the key text
never reaches this process. A game that broke off (a judge that failed) fails its episode and is no reward of 0.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import verifiers.v1 as vf
from websockets.asyncio.client import ClientConnection, connect

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
        for sample in self.config.samples or served(url):
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


def served(url: str) -> list[str]:
    """The samples of a server, by OpenEnv's Task API."""
    answer = httpx.post(f"{url}/lotbench/tasks", headers=_key(), json={"split": "all"}).raise_for_status()
    return [task["id"] for task in answer.json()["tasks"]]


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
    """One game at the server: a session of OpenEnv's WebSocket."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def reset(self, sample: str) -> dict[str, Any]:
        return await self._ask("reset", {"sample": sample})

    async def step(self, reply: str) -> dict[str, Any]:
        # With a `finish`, an empty reply is one too: it is played by the rules, as in a run.
        return await self._ask("step", {"text": reply, "finish": "stop"})

    async def _ask(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        await self._socket.send(json.dumps({"type": kind, "data": data}))
        async with asyncio.timeout(PATIENCE_S):
            answer = json.loads(await self._socket.recv())
        if answer["type"] == "error":
            raise RuntimeError(f"{kind}: {answer['data']['message']}")
        return answer["data"]


@asynccontextmanager
async def _episode(data: LotData) -> AsyncIterator[tuple[_Game, dict[str, Any]]]:
    address = data.base_url.replace("http", "ws", 1) + "/ws"
    async with connect(address, additional_headers=_key(), max_size=None) as socket:
        game = _Game(socket)
        yield game, await game.reset(data.sample)


def _key() -> dict[str, str]:
    return {"Authorization": f"Bearer {os.environ.get(KEY, '')}"}
