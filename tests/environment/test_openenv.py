"""The OpenEnv door: the wire as its clients speak it, the key, wrong messages; and the released client, in a slow test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import lotbench
from lotbench.edge.openenv_server import serve_environment
from lotbench.environment.openenv import Episodes
from lotbench.run.evaluate import evaluate
from lotbench.types import Trace
from tests.environments import environment
from tests.killing import serving
from tests.pages import ROOT
from tests.stepping import Counted, player, policy, timeless

KEY = "sesame"
SHOWN = {"Authorization": f"Bearer {KEY}"}
SETTINGS = {"max_rounds": 3, "clue_interval": 1, "arm": "caption"}
SMALL: dict[str, Any] = {"limit": 2, "settings": SETTINGS, "check": False}


def judges() -> dict[str, Any]:
    return {"judge": Counted("judge"), "oracle": Counted("oracle")}


@asynccontextmanager
async def served(
    folder: Path, most: int = 10, conversation: str = "fresh", **players: Any
) -> AsyncIterator[tuple[str, aiohttp.ClientSession]]:
    """An address, and a client that knows the key."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    asked = SMALL | {"settings": SETTINGS | {"conversation": conversation}}
    async with lotbench.games(folder=folder, **(players or judges()), **asked) as games:
        serving = asyncio.create_task(serve_environment(Episodes(games), 0, KEY, address.set_result, most))
        try:
            async with aiohttp.ClientSession(headers=SHOWN) as client:
                yield await asyncio.wait_for(asyncio.shield(address), 10), client
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


class Socket:
    """A connection, spoken to as the released client does."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def __call__(self, kind: str, **data: Any) -> dict[str, Any]:
        """What is answered to a message."""
        await self._socket.send_json({"type": kind, "data": data})
        found: dict[str, Any] = await self._socket.receive_json(timeout=20)
        return found

    async def play(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Step to the end by the policy; the last answer."""
        while not answer["data"]["done"]:
            answer = await self("step", text=policy(answer["data"]["observation"]["messages"]))
        return answer


async def wanted(out: Path) -> dict[str, Trace]:
    run = await evaluate(model=player, roles=judges(), out=out, repeats=1, **SMALL)
    return {trace.sample: trace for trace in run.traces}


async def test_a_client_plays_the_games_of_evaluate(tmp_path: Path) -> None:
    traces = await wanted(tmp_path / "run")
    async with served(tmp_path / "games") as (address, client):
        for sample, trace in traces.items():
            async with client.ws_connect(f"{address}/ws") as socket:
                say = Socket(socket)
                begun = await say("reset", seed=1, sample=sample, episode_id="mine")
                assert begun["type"] == "observation"
                assert (begun["data"]["reward"], begun["data"]["done"]) == (None, False)
                assert begun["data"]["observation"]["wants"] == "filling"
                assert (await say("state"))["data"]["episode_id"] == "mine"
                last = await say.play(begun)
                assert last["data"]["reward"] == trace.score.value
                assert last["data"]["metadata"]["outcome"] == trace.outcome
                assert last["data"]["metadata"]["parts"]["rounds"] == trace.score.parts["rounds"]
                state = (await say("state"))["data"]
                assert (state["done"], state["sample"], state["seed"]) == (True, sample, 1)
                over = await say("step", text="more")
                assert over["data"]["code"] == "VALIDATION_ERROR" and "is over" in over["data"]["message"]
    found = lotbench.load_run(tmp_path / "games").traces
    assert {one.sample: timeless(one) for one in found} == {
        name: timeless(one) for name, one in traces.items()
    }


async def test_single_requests_do_the_same(tmp_path: Path) -> None:
    traces = await wanted(tmp_path / "run")
    async with served(tmp_path / "games") as (address, client):
        for sample, trace in traces.items():
            asked = {"seed": 1, "sample": sample, "episode_id": sample}
            answer = await (await client.post(f"{address}/reset", json=asked)).json()
            while not answer["done"]:
                said = {"action": {"text": policy(answer["observation"]["messages"])}, "episode_id": sample}
                answer = await (await client.post(f"{address}/step", json=said)).json()
            assert answer["reward"] == trace.score.value
            state = await (await client.get(f"{address}/state", params={"episode_id": sample})).json()
            assert (state["done"], state["outcome"]) == (True, trace.outcome)
        assert (await (await client.get(f"{address}/metadata")).json())["name"] == "lotbench"
        schema = await (await client.get(f"{address}/schema")).json()
        assert schema["action"]["required"] == ["text"]
        assert set(schema) == {"action", "observation", "state"}


async def test_nothing_but_health_without_the_key(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, _), aiohttp.ClientSession() as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {KEY}"}):
            for method, path in (
                ("POST", "reset"),
                ("POST", "step"),
                ("GET", "state"),
                ("GET", "schema"),
                ("GET", "ws"),
            ):
                reply = await stranger.request(method, f"{address}/{path}", headers=headers)
                assert (reply.status, (await reply.json())["code"]) == (401, "UNAUTHORIZED")
        assert await (await stranger.get(f"{address}/health")).json() == {"status": "healthy"}


async def test_wrong_messages_are_errors_and_the_game_stands(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, client), client.ws_connect(f"{address}/ws") as socket:
        say = Socket(socket)
        assert "reset first" in (await say("step", text="a kettle"))["data"]["message"]
        begun = await say("reset")
        for data, told in (
            ({}, "text: Field required"),
            ({"text": ""}, "the action is empty"),
            ({"text": "x" * 1_000_000}, "1,000,000 characters"),
            ({"text": 1}, "text"),
            ({"text": "a kettle", "more": 1}, "more"),
            ({"text": "a kettle", "to": "another"}, "replies to another"),
        ):
            error = await say("step", **data)
            assert (error["type"], error["data"]["code"]) == ("error", "VALIDATION_ERROR")
            assert told in error["data"]["message"]
        for data in ({"seed": -1}, {"seed": 0, "sample": "nowhere"}, {"sead": 1}):
            assert (await say("reset", **data))["type"] == "error"
            begun = await say("reset")
        await socket.send_str("no JSON")
        assert (await socket.receive_json())["data"]["code"] == "INVALID_JSON"
        await socket.send_str('["step"]')
        assert (await socket.receive_json())["data"]["code"] == "UNKNOWN_TYPE"
        assert (await say("dance"))["data"]["code"] == "UNKNOWN_TYPE"
        assert (await say.play(begun))["data"]["done"]
        async with client.post(f"{address}/step", data="[") as refused:
            assert (refused.status, (await refused.json())["detail"]) == (422, "the body is no JSON")
        async with client.post(f"{address}/step", json={"episode_id": "gone"}) as refused:
            assert (await refused.json())["detail"] == "no episode 'gone': reset first"


async def test_how_a_model_ended_is_told_and_played_by_the_rules(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, client), client.ws_connect(f"{address}/ws") as socket:
        say = Socket(socket)
        await say("reset")
        await say("step", text="", finish="length")
        told = await say("step", text='{"filling": "a ket', finish="length")
        assert told["data"]["observation"]["wants"] == "question"
        assert (await say("step", text="", finish="done"))["type"] == "error"
        assert (await say.play(told))["data"]["done"]
    (trace,) = lotbench.load_run(tmp_path / "games").traces
    assert [step["value"]["status"] for step in trace.steps[:2]] == ["truncated", "truncated"]


async def test_a_game_whose_client_went_away_is_taken_up_again(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, client):
        async with client.ws_connect(f"{address}/ws") as socket:
            begun = await Socket(socket)("reset", seed=3)
            sample = begun["data"]["metadata"]["sample"]
            then = await Socket(socket)("step", text=policy(begun["data"]["observation"]["messages"]))
        await asyncio.sleep(0.1)
        async with client.ws_connect(f"{address}/ws") as socket:
            again = await Socket(socket)("reset", seed=3, sample=sample)
            assert again["data"]["observation"] == then["data"]["observation"]
            assert (await Socket(socket).play(again))["data"]["done"]


async def test_a_failed_judge_is_no_reward_and_too_many_sessions_are_told(tmp_path: Path) -> None:
    async def fails(messages: list[dict[str, Any]]) -> str:
        raise ValueError("out of order")

    broken = {"judge": Counted("judge", fails), "oracle": Counted("oracle")}
    async with (
        served(tmp_path / "games", 1, **broken) as (address, client),
        client.ws_connect(f"{address}/ws") as socket,
    ):
        begun = await Socket(socket)("reset")
        last = await Socket(socket)("step", text=json.dumps({"filling": "a kettle"}))
        assert begun["data"]["done"] is False
        assert (last["data"]["reward"], last["data"]["done"]) == (None, True)
        assert last["data"]["metadata"]["outcome"] == "judge_failed"
        async with client.ws_connect(f"{address}/ws") as second:
            assert (await second.receive_json())["data"]["code"] == "CAPACITY_REACHED"


CLIENT = """
import asyncio, json, sys
from openenv import GenericEnvClient

async def main(address, key):
    headers = {"Authorization": f"Bearer {key}"}
    rewards = []
    async with GenericEnvClient(base_url=address, headers=headers) as env:
        for seed in (1, 2):
            result = await env.reset(seed=seed, sample="lot-0034", episode_id=f"mine-{seed}")
            while not result.done:
                wants = result.observation["wants"]
                said = "skiing" if seed == 2 else "a kettle"
                text = json.dumps({wants: said if wants == "filling" else "Is it alive?"})
                result = await env.step({"text": text, "to": result.observation["key"]})
            state = await env.state()
            rewards.append([result.reward, state["episode_id"], state["outcome"]])
        try:
            await env.step({"text": ""})
        except RuntimeError as error:
            rewards.append(str(error))
    print(json.dumps(rewards))

asyncio.run(main(*sys.argv[1:]))
"""


@contextmanager
def command(tmp_path: Path, url: str, *more: str) -> Iterator[str]:
    """`lotbench serve` in a process of its own; its address."""
    serve = "import sys; from lotbench.cli import main; sys.exit(main())"
    players = ["--judge", f"judge@{url}", "--oracle", f"oracle@{url}"]
    games = ["--data", "lotbench_easy", "--sample", "lot-0034", "--max-rounds", "3", "--set", "arm=caption"]
    given = [
        sys.executable,
        "-c",
        serve,
        "serve",
        *players,
        *games,
        "--folder",
        str(tmp_path / "games"),
        *more,
    ]
    home = os.environ | {"LOTBENCH_HOME": str(tmp_path / "home"), "LOTBENCH_SERVE_KEY": KEY}
    with subprocess.Popen(given, cwd=ROOT, env=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.mark.slow
def test_the_released_client_of_openenv_plays(tmp_path: Path) -> None:
    programs = environment(tmp_path / "openenv", "openenv==0.10.0")
    with serving() as models, command(tmp_path, models.url) as address:
        client = [str(programs / "python"), "-c", CLIENT, address, KEY]
        done = subprocess.run(client, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
    *rewards, error = json.loads(done.stdout.splitlines()[-1])
    assert [name for _, name, _ in rewards] == ["mine-1", "mine-2"]
    assert rewards[1] == [1.0, "mine-2", "solved"]
    assert rewards[0][2] in ("solved", "unsolved")
    assert "the action is empty" in error or "is over" in error
    traces = lotbench.load_run(tmp_path / "games").traces
    assert [(one.repeat, one.score.value) for one in traces] == [(1, rewards[0][0]), (2, 1.0)]
