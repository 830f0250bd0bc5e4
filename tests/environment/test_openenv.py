"""The OpenEnv door: what a client is shown and what not, games left and taken up; and the released package, in a slow test."""

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

import lotbench
from lotbench.cli import main
from lotbench.environment.games import Games
from lotbench.environment.openenv import WITHHELD, ClientGame
from lotbench.errors import LotbenchError, Unescapable, UsageError
from lotbench.run.evaluate import evaluate
from lotbench.types import Finish
from tests.killing import serving
from tests.pages import ROOT
from tests.stepping import Counted, judges, player, policy, timeless

KEY = "sesame"
SETTINGS = {"max_rounds": 3, "clue_interval": 1, "arm": "caption"}
SMALL: dict[str, Any] = {"limit": 2, "settings": SETTINGS, "check": False}


class Client:
    """A client's place, spoken to as the server does."""

    def __init__(self, games: Games, order: Iterator[str] | None = None) -> None:
        self.episode = ClientGame(games, order or cycle(games.samples))

    async def reset(self, seed: int | None = None, name: str | None = None, sample: str | None = None) -> Any:
        return await self.episode.reset(seed, name, sample)

    async def step(self, text: str, to: str | None = None, finish: Finish | None = None) -> Any:
        return await self.episode.step(text, to, finish)

    async def play(self, shown: dict[str, Any]) -> dict[str, Any]:
        """Step to the end by the policy; what was shown last."""
        while not shown["done"]:
            shown = await self.step(policy(shown["messages"]))
        return shown


@asynccontextmanager
async def served(folder: Path, **players: Any) -> AsyncIterator[Games]:
    async with lotbench.games(folder=folder, **(players or judges()), **SMALL) as games:
        yield games


async def test_a_client_plays_the_games_of_evaluate(tmp_path: Path) -> None:
    run = await evaluate(model=player, roles=judges(), out=tmp_path / "run", repeats=1, **SMALL)
    traces = {trace.sample: trace for trace in run.traces}
    async with served(tmp_path / "games") as episodes:
        for sample, trace in traces.items():
            client = Client(episodes)
            with pytest.raises(UsageError, match="reset first"):
                await client.step("a kettle")
            begun = await client.reset(1, "mine", sample)
            with pytest.raises(UsageError, match="was begun before"):
                await client.reset(1, "other", sample)
            assert (begun["reward"], begun["done"], begun["wants"]) == (None, False, "guess")
            assert client.episode.state()["episode_id"] == "mine"
            last = await client.play(begun)
            assert last["reward"] == trace.score.value
            assert last["metadata"]["outcome"] == trace.outcome
            assert last["metadata"]["parts"]["rounds"] == trace.score.parts["rounds"]
            state = client.episode.state()
            assert (state["done"], state["sample"], state["seed"]) == (True, sample, 1)
            with pytest.raises(UsageError, match="is over"):
                await client.step("more")
    found = lotbench.load_run(tmp_path / "games").traces
    assert {one.sample: timeless(one) for one in found} == {
        name: timeless(one) for name, one in traces.items()
    }


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


async def test_a_reset_gives_up_the_game_before_and_the_step_that_is_under_way(tmp_path: Path) -> None:
    slow = Gated()
    async with served(tmp_path / "games", **slow.players) as games:
        client = Client(games)
        await client.reset(1)
        stepping = asyncio.create_task(client.step('{"guess": "a kettle"}'))
        await slow.asked.wait()
        await client.reset(2)
        with pytest.raises(UsageError, match="was closed"):
            await stepping
        slow.gate.set()
        assert (client.episode.state()["seed"], client.episode.state()["step_count"]) == (2, 0)


@pytest.mark.parametrize("failure", [ValueError, Unescapable])
async def test_what_went_wrong_with_a_judge_tells_the_player_nothing(
    failure: type[Exception], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def quotes(messages: list[dict[str, Any]]) -> str:
        raise failure(f"cannot read {messages}")

    players = {"judge": Counted("judge", quotes), "oracle": Counted("oracle")}
    async with served(tmp_path / "games", **players) as episodes:
        client = Client(episodes)
        begun = await client.reset(1)
        try:
            last = await client.step(json.dumps({"guess": "a kettle"}))
        except LotbenchError as error:
            last = {"error": str(error)}
    run = lotbench.load_run(tmp_path / "games")
    key_text = run.samples[begun["metadata"]["sample"]]["key_text"]
    assert key_text not in json.dumps(last, ensure_ascii=False)
    if failure is ValueError:
        assert (last["reward"], last["metadata"]["why"]) == (None, WITHHELD)
        assert last["metadata"]["outcome"] == "judge_failed" and key_text in str(run.traces[0].why)
    else:
        assert last == {"error": f"Unescapable: {WITHHELD}"}
        assert key_text in caplog.text


def test_without_the_package_serving_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lotbench.cli.serve.find_spec", lambda name: None)
    assert main(["serve", "--judge", "judge@http://127.0.0.1:9/v1"]) == 2
    told = capsys.readouterr().err
    assert 'pip install -e ".[openenv]" in a clone' in told and "without constraints.txt" in told


CLIENT = """
import asyncio, json, sys
from openenv import GenericEnvClient

async def main(address, key):
    import httpx
    headers = {"Authorization": f"Bearer {key}"}
    for method, path in (("POST", "/reset"), ("POST", "/step"), ("GET", "/state"), ("GET", "/schema"), ("GET", "/docs")):
        for shown in ({}, {"Authorization": "Bearer wrong"}):
            assert httpx.request(method, address + path, headers=shown).status_code == 401, path
    assert httpx.get(address + "/health").json() == {"status": "healthy"}
    assert httpx.get(address + "/schema", headers=headers).json()["action"]["required"] == ["text"]
    faults = (("reset", "{}", 404), ("mcp", "{}", 404), ("lotbench/tasks", '{"split": NaN}', 400), ("lotbench/tasks", '{"split": 5}', 422))
    for path, body, code in faults:
        assert httpx.post(f"{address}/{path}", headers=headers, content=body).status_code == code, path
    try:
        async with GenericEnvClient(base_url=address) as stranger:
            await stranger.reset()
        raise SystemExit("served a stranger")
    except Exception as error:
        assert "403" in str(error) or "401" in str(error), error
    rewards = []
    async with GenericEnvClient(base_url=address, headers=headers) as env:
        try:
            async with GenericEnvClient(base_url=address, headers=headers) as second:
                await second.reset()
            raise SystemExit("two sessions where one is allowed")
        except RuntimeError as error:
            assert "apacity" in str(error), error
        try:
            await env.reset(sample=["lot-0034"])
            raise SystemExit("took a list for a name")
        except RuntimeError as error:
            assert "Invalid message" in str(error), error
        for seed in (1, 2):
            result = await env.reset(seed=seed, sample="lot-0034", episode_id=f"mine-{seed}")
            while not result.done:
                wants = result.observation["wants"]
                said = "skiing" if seed == 2 else "a kettle"
                text = json.dumps({wants: said if wants == "guess" else "Is it alive?"})
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
def command(python: Path, tmp_path: Path, url: str, *more: str) -> Iterator[str]:
    """`lotbench serve` by another interpreter; its address."""
    serve = "import sys; from lotbench.cli import main; sys.exit(main())"
    players = ["--judge", f"judge@{url}", "--oracle", f"oracle@{url}"]
    games = ["--data", "lotbench_easy", "--max-rounds", "3", "--set", "arm=caption"]
    folder = ["--folder", str(tmp_path / "games")]
    given = [str(python), "-c", serve, "serve", *players, *games, *folder, *more]
    home = os.environ | {"LOTBENCH_HOME": str(tmp_path / "home"), "LOTBENCH_SERVE_KEY": KEY}
    with subprocess.Popen(given, cwd=ROOT, env=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


@pytest.mark.slow
def test_the_released_package_serves_its_own_client(
    tmp_path: Path, environments: Mapping[str, Future[Path]]
) -> None:
    python = environments["openenv"].result() / "python"
    one = ("--sessions", "1", "--sample", "lot-0034")
    with serving() as models, command(python, tmp_path, models.url, *one) as address:
        half = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))
        half.sendall(b"GET /health HTTP/1.1\r\nHost: ")
        client = [str(python), "-c", CLIENT, address, KEY]
        done = subprocess.run(client, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        # Whoever sends half a request and waits is shown out.
        with half:
            half.settimeout(30)
            assert half.recv(1) == b""
    *rewards, error = json.loads(done.stdout.splitlines()[-1])
    assert [name for _, name, _ in rewards] == ["mine-1", "mine-2"]
    assert rewards[1] == [1.0, "mine-2", "solved"]
    assert rewards[0][2] in ("solved", "unsolved")
    assert "the action is empty" in error or "is over" in error
    traces = lotbench.load_run(tmp_path / "games").traces
    assert [(one.repeat, one.score.value) for one in traces] == [(1, rewards[0][0]), (2, 1.0)]
