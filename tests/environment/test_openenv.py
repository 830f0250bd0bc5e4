"""The OpenEnv door: the wire as its clients speak it, the key, wrong messages; and the released client, in a slow test."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import lotbench
from lotbench.cli import main
from lotbench.edge.openenv_server import serve_environment
from lotbench.environment.openenv import WITHHELD, Episode, Episodes
from lotbench.errors import Unescapable
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


class Gated:
    """A judge that answers once its gate is open.

    Attributes:
        asked: Is set when somebody waits for it.
    """

    def __init__(self) -> None:
        self.gate, self.asked = asyncio.Event(), asyncio.Event()
        self.players = {"judge": Counted("judge", self._answer), "oracle": Counted("oracle")}

    async def _answer(self, messages: list[dict[str, Any]]) -> str:
        self.asked.set()
        await self.gate.wait()
        return await Counted("judge")(messages)


async def test_a_client_that_goes_twice_while_a_judge_thinks_loses_no_game(tmp_path: Path) -> None:
    slow = Gated()
    async with served(tmp_path / "games", **slow.players) as (address, client):
        async with client.ws_connect(f"{address}/ws") as socket:
            sample = (await Socket(socket)("reset", seed=3))["data"]["metadata"]["sample"]
            await socket.send_json({"type": "step", "data": {"text": '{"filling": "a kettle"}'}})
            await slow.asked.wait()
        for _ in range(2):
            await asyncio.sleep(0.1)
            async with client.ws_connect(f"{address}/ws") as socket:
                await socket.send_json({"type": "reset", "data": {"seed": 3, "sample": sample}})
                await asyncio.sleep(0.1)
        slow.gate.set()
        await asyncio.sleep(0.1)
        async with client.ws_connect(f"{address}/ws") as socket:
            again = await Socket(socket)("reset", seed=3, sample=sample)
            assert again["data"]["observation"]["wants"] == "question", again
            assert (await Socket(socket).play(again))["data"]["done"]


async def test_a_step_is_answered_for_its_own_game_whatever_is_reset_meanwhile(tmp_path: Path) -> None:
    slow = Gated()
    async with served(tmp_path / "games", **slow.players) as (address, client):

        async def post(path: str, **data: Any) -> dict[str, Any]:
            async with client.post(f"{address}/{path}", json={"episode_id": "one", **data}) as reply:
                answer: dict[str, Any] = await reply.json()
                return answer

        first = await post("reset", seed=1)
        stepping = asyncio.create_task(post("step", action={"text": '{"filling": "a kettle"}'}))
        await slow.asked.wait()
        second = await post("reset", seed=2)
        slow.gate.set()
        stepped = await stepping
        assert stepped["metadata"] == first["metadata"] != second["metadata"]
        assert f"{first['metadata']['sample']}/1/" in stepped["observation"]["key"]
        async with client.get(f"{address}/state", params={"episode_id": "one"}) as reply:
            assert ((await reply.json())["seed"], (await reply.json())["step_count"]) == (2, 0)


async def test_sessions_keep_to_their_number_and_those_that_are_over_go_first(tmp_path: Path) -> None:
    async with served(tmp_path / "games", 2) as (address, client):

        async def begun(name: str) -> dict[str, Any]:
            async with client.post(f"{address}/reset", json={"episode_id": name}) as reply:
                answer: dict[str, Any] = await reply.json()
                return answer

        async def there(*names: str) -> list[bool]:
            states = [client.get(f"{address}/state", params={"episode_id": name}) for name in names]
            return [(await state).ok for state in states]

        await begun("under way")
        answer = await begun("over")
        while not answer["done"]:
            said = {"text": policy(answer["observation"]["messages"])}
            async with client.post(f"{address}/step", json={"episode_id": "over", "action": said}) as reply:
                answer = await reply.json()
        await begun("new")
        assert await there("under way", "over", "new") == [True, False, True]
        names = [str(number) for number in range(6)]
        await asyncio.gather(*map(begun, names))
        assert sum(await there(*names)) == 2
        # One that could not begin has no place.
        async with client.post(f"{address}/reset", json={"episode_id": "wrong", "sead": 1}) as reply:
            assert reply.status == 422
        assert await there("wrong") == [False]


async def test_two_resets_at_once_leave_both_games_to_be_taken_up(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, client):

        async def begun(**data: Any) -> dict[str, Any]:
            async with client.post(f"{address}/reset", json={"episode_id": "one", **data}) as reply:
                answer: dict[str, Any] = await reply.json()
                return answer

        both = [one["metadata"] for one in await asyncio.gather(begun(), begun())]
        assert [(await begun(**one))["metadata"] for one in both] == both


@pytest.mark.parametrize("failure", [ValueError, Unescapable])
async def test_what_went_wrong_with_a_judge_tells_the_player_nothing(
    failure: type[Exception], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def quotes(messages: list[dict[str, Any]]) -> str:
        raise failure(f"cannot read {messages}")

    players = {"judge": Counted("judge", quotes), "oracle": Counted("oracle")}
    async with (
        served(tmp_path / "games", **players) as (address, client),
        client.ws_connect(f"{address}/ws") as socket,
    ):
        begun = await Socket(socket)("reset", seed=1)
        last = await Socket(socket)("step", text=json.dumps({"filling": "a kettle"}))
    run = lotbench.load_run(tmp_path / "games")
    key_text = run.samples[begun["data"]["metadata"]["sample"]]["key_text"]
    assert key_text not in json.dumps(last, ensure_ascii=False)
    if failure is ValueError:
        assert (last["data"]["reward"], last["data"]["metadata"]["why"]) == (None, WITHHELD)
        assert key_text in str(run.traces[0].why)
    else:
        assert last["data"] == {"code": "EXECUTION_ERROR", "message": f"Unescapable: {WITHHELD}"}
        assert key_text in caplog.text


async def test_a_fault_of_ours_is_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(self: Any, *asked: Any) -> None:
        raise ZeroDivisionError("by hand")

    async with served(tmp_path / "games") as (address, client), client.ws_connect(f"{address}/ws") as socket:
        begun = await Socket(socket)("reset")
        with monkeypatch.context() as broken:
            broken.setattr(Episode, "step", fails)
            told = await Socket(socket)("step", text="a kettle")
        assert (told["type"], told["data"]["code"]) == ("error", "EXECUTION_ERROR")
        assert (await Socket(socket).play(begun))["data"]["done"]


async def test_odd_bytes_are_refused_and_no_fault(tmp_path: Path) -> None:
    async with served(tmp_path / "games") as (address, client):
        reading, writing = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writing.write(b"GET /state HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer \xff\xfe\r\n\r\n")
        assert b" 401 " in await reading.readline()
        writing.close()
        odd = {"Content-Type": "application/json; charset=klingon"}
        async with client.post(f"{address}/step", data=b"{}", headers=odd) as reply:
            assert (reply.status, (await reply.json())["detail"]) == (422, "the body is no JSON")


@pytest.mark.parametrize(("given", "drawn"), [("", True), (" ", True), ("sesame ", False)])
def test_a_key_that_was_drawn_is_printed(
    given: str,
    drawn: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    keys = []

    async def serves(environment: Any, port: int, key: str, ready: Callable[[str], None], most: int) -> None:
        keys.append(key)
        ready("http://here")

    monkeypatch.setattr("lotbench.cli.serve.serve_environment", serves)
    monkeypatch.setenv("LOTBENCH_SERVE_KEY", given)
    models = ["--judge", "judge@http://127.0.0.1:9/v1", "--oracle", "oracle@http://127.0.0.1:9/v1"]
    assert main(["serve", *models, "--no-preflight", "--limit", "1", "--out", str(tmp_path)]) == 0
    assert (f"key {keys[0]}" in capsys.readouterr().out.splitlines()) is drawn
    assert drawn or keys == ["sesame"]


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
