"""LangGraph plays every episode: without it nothing is played, and its updates are the trace."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler

from graphs import game
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.harness.state import start
from lotbench.run.evaluate import evaluate
from tests.fakes import RuleModel
from tests.play import NO, YES, Room, candidate, episode, judge, oracle
from tests.playing import SETTINGS
from tests.rules import game_rule


async def test_the_nodes_that_langgraph_visits_are_the_steps_of_the_trace(tmp_path: Path) -> None:
    room = Room(tmp_path, candidate("bell", "gong"), [judge(NO, YES)], oracle())
    visits: Counter[str] = Counter()
    steps: list[Any] = []
    with room.journal:
        played = game.build(benchmark.nodes).astream(
            start("lot-1", 1),
            {"recursion_limit": 80},
            context=room.episode("lot-1", 1),
            stream_mode="updates",
        )
        async for update in played:
            ((node, changed),) = update.items()
            visits[node] += 1
            steps += changed["steps"]
    assert visits == {"respond": 2, "check": 2, "ask": 1, "answer": 1, "reveal": 1}
    called = [step["call"] for step in steps if step["call"]]
    assert called == [str(entry.key) for entry in room.calls()]
    again = Room(tmp_path, candidate(), [judge()], oracle())
    with again.journal:
        (replayed,) = await again.games(("lot-1", 1))
    assert [step["call"] for step in replayed.trace.steps if step["call"]] == called
    assert replayed.outcome == "solved"


def test_without_langgraph_no_game_is_played() -> None:
    code = (
        "import sys, asyncio; sys.modules['langgraph'] = None\n"
        "from tests.play import candidate, play\n"
        "asyncio.run(play(candidate('alarm clock')))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "langgraph" in ended.stderr.splitlines()[-1]


class Listener(BaseCallbackHandler):
    """Notes the metadata of every node that is visited."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, str, int]] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, metadata: Any = None, **named: Any) -> None:
        if metadata and named.get("name") == metadata.get("langgraph_node"):
            self.nodes.append((named["name"], metadata["sample"], metadata["repeat"]))


async def test_callbacks_see_the_nodes_of_every_episode(tmp_path: Path) -> None:
    rule, listener = game_rule(solve=0.2), Listener()
    run = await evaluate(
        model=RuleModel(rule, model_id="candidate"),
        roles={role: RuleModel(rule, model_id=role) for role in ("judge", "oracle")},
        out=tmp_path,
        limit=2,
        repeats=2,
        settings=SETTINGS,
        fresh=True,
        callbacks=[listener],
    )
    responses = Counter(
        (trace.sample, trace.repeat)
        for trace in run.traces
        for step in trace.steps
        if step["step"] == "respond"
    )
    heard = Counter((sample, repeat) for node, sample, repeat in listener.nodes if node == "respond")
    assert heard.keys() == responses.keys() and len(heard) == 4


async def test_an_episode_without_end_is_ended() -> None:
    async def nothing(state: Any, runtime: Any) -> dict[str, Any]:
        return {"round": state["round"] + 1, "turn": {"question": "?"}}

    endless = game.build(dict.fromkeys(game.NODES, nothing))
    with pytest.raises(RecursionError):
        await endless.ainvoke(start("lot-1", 1), {"recursion_limit": 7}, context=episode(Settings()))
