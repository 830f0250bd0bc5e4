"""The studio plays the game from a context of plain JSON, in process and under `langgraph dev`."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from graphs import studio
from graphs.studio import StudioContext, StudioError, graph
from lotbench.calls import journal
from tests.pages import ROOT
from tests.playing import outcomes, play
from tests.rules import game_rule
from tests.server import FakeServer

SETTINGS = {"max_rounds": 2, "clue_interval": 1, "arm": "caption"}


def asked(url: str, **other: Any) -> dict[str, Any]:
    """A context as it travels: two rounds, every role at one address."""
    roles = {role: [f"{role}@{url}"] for role in ("judge", "oracle")}
    given = {
        "model": f"candidate@{url}",
        "roles": roles,
        "data": "lotbench_easy",
        "sample": "lot-0002",
        "settings": SETTINGS,
        **other,
    }
    return dict(json.loads(json.dumps(given)))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the studio's folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


async def run_episodes(context: dict[str, Any], state: dict[str, Any] | None = None) -> dict[str, Any]:
    return dict(await graph.ainvoke(state or {}, context=StudioContext(**context)))


def rounds(last: dict[str, Any], step: str) -> list[int]:
    return [one["round"] for one in last["steps"] if one["step"] == step]


async def test_two_rounds_are_played_from_plain_json(temporary: Path) -> None:
    with FakeServer(game_rule(solve=0)) as server:
        last = await run_episodes(asked(server.url))
        came = server.log()["requests"]
    assert last["outcome"] == "unsolved"
    assert rounds(last, "check") == [1, 2]
    visited = Counter(step["step"] for step in last["steps"])
    assert {"respond", "check", "ask", "answer", "reveal"} <= visited.keys()
    assert last["score"]["value"] == 0
    calls = list(journal.read_journal(Path(last["folder"]) / "calls.jsonl"))
    assert len(calls) == came >= last["usage"]["calls"]
    assert Path(last["folder"]).parent == temporary


async def test_the_state_is_plain_json(temporary: Path) -> None:
    with FakeServer(game_rule(solve=1)) as server:
        last = await run_episodes(asked(server.url, settings=SETTINGS | {"arm": "image+caption"}))
    assert json.loads(json.dumps(last)) == last
    assert last["outcome"] == "solved"


ARMS = (
    {},
    {"frame": "earned", "conversation": "growing"},
    pytest.param({"frame": "hidden", "encore": True}, marks=pytest.mark.slow),
)


@pytest.mark.parametrize("arm", ARMS, ids=str)
async def test_the_studio_ends_as_a_run_does(temporary: Path, tmp_path: Path, arm: dict[str, Any]) -> None:
    settings = {"max_rounds": 4, "clue_interval": 2, "arm": "caption"} | arm
    with FakeServer(game_rule(solve=0.4)) as server:
        run = await play(server, tmp_path / "runs", limit=2, repeats=2, settings=settings)
        for trace in run.traces:
            place = {"sample": trace.sample, "repeat": trace.repeat, "settings": settings}
            last = await run_episodes(asked(server.url, **place))
            assert last["outcome"] == outcomes(run)[f"{trace.sample}/{trace.repeat}"]
            assert last["score"] == json.loads(json.dumps(asdict(trace.score)))
            assert [s["call"] for s in last["steps"]] == [s["call"] for s in trace.steps]


async def test_an_episode_taken_again_from_the_middle_pays_for_no_reply_twice(temporary: Path) -> None:
    kept = studio.build().compile(checkpointer=InMemorySaver())
    with FakeServer(game_rule(solve=0)) as server:
        context = StudioContext(**asked(server.url))
        last = await kept.ainvoke({}, {"configurable": {"thread_id": "one"}}, context=context)
        came = server.log()["requests"]
        history = [point async for point in kept.aget_state_history({"configurable": {"thread_id": "one"}})]
        [respond] = [point for point in history if point.next == ("respond",) and point.values["round"] == 1]
        again = await kept.ainvoke(None, respond.config, context=context)
        assert server.log()["requests"] == came > 0
    assert again["steps"] == last["steps"]


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"model": ""}, "no candidate"),
        ({"sample": "nobody"}, "nobody"),
        ({"settings": {"rounds": 2}}, "rounds"),
        ({"repeat": 0}, "from 1"),
        ({"model": "gpt-4o-mini"}, "OPENAI_API_KEY"),
    ],
)
async def test_what_is_unfit_is_said_at_the_first_node(
    temporary: Path, changed: dict[str, Any], word: str
) -> None:
    with pytest.raises(StudioError, match=word):
        await run_episodes(asked("http://127.0.0.1:1/v1") | changed)


async def test_a_call_that_brings_no_reply_ends_the_episode(temporary: Path, waits: list[float]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        last = await run_episodes(asked(nobody))
    assert last["outcome"] in ("candidate_failed", "judge_failed")


def test_langgraph_json_names_graphs_that_are_there() -> None:
    table = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    assert table["graphs"].keys() == {"studio"}
    for place in table["graphs"].values():
        path, _, name = place.partition(":")
        assert (ROOT / path).is_file()
        assert name == "graph"


def fetched(url: str, body: Any = None, timeout: float = 60) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.status, json.loads(answer.read())


@contextmanager
def dev_server(tmp_path: Path) -> Iterator[str]:
    """`langgraph dev` on the loopback, in a process group of its own that ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The server reads graphs from where it stands, and writes there too.
    for name in ("langgraph.json", "pyproject.toml", "graphs", "lotbench", "data", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    command += ["--port", str(port)]
    quiet = {"LANGSMITH_TRACING": "false", "LANGGRAPH_CLI_NO_ANALYTICS": "1", "PYTHONPATH": str(ROOT)}
    place = {"TMPDIR": str(tmp_path), "LOTBENCH_HOME": str(tmp_path / "home")}
    heard = tmp_path / "server.txt"
    with heard.open("wb") as out:
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=os.environ | quiet | place,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(600):
                assert process.poll() is None, heard.read_text(encoding="utf-8")
                try:
                    if fetched(f"{url}/ok", timeout=2)[0] == 200:
                        break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


@pytest.mark.slow
def test_langgraph_dev_serves_the_graphs_and_plays_two_rounds(tmp_path: Path) -> None:
    pytest.importorskip("langgraph_api")
    with FakeServer(game_rule(solve=0)) as model, dev_server(tmp_path) as url:
        found = fetched(f"{url}/assistants/search", {})[1]
        assert {one["graph_id"] for one in found} == {"studio"}
        for one in found:
            status, schemas = fetched(f"{url}/assistants/{one['assistant_id']}/schemas")
            assert status == 200
            if one["graph_id"] == "studio":
                assert {"model", "roles", "sample", "settings"} <= schemas["context_schema"][
                    "properties"
                ].keys()
        context = asked(model.url, settings=SETTINGS | {"arm": "image+caption"})
        body = {"assistant_id": "studio", "input": {}, "context": context}
        status, last = fetched(f"{url}/runs/wait", body, timeout=120)
        assert status == 200
        wrong = fetched(f"{url}/runs/wait", body | {"context": context | {"sample": "nobody"}})[1]
        assert "nobody" in wrong["__error__"]["message"]
        assert last.get("outcome") == "unsolved", last
        assert rounds(last, "check") == [1, 2]
