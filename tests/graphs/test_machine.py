"""A walk by hand is the walk of LangGraph, and LangGraph takes it where a tracer listens."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langsmith import tracing_context
from langsmith.utils import get_env_var

from graphs import machine as machines
from graphs.game import machine
from lotbench.harness.state import start
from lotbench.run.evaluate import evaluate
from lotbench.types import Trace
from tests.fakes import RuleModel
from tests.playing import SETTINGS
from tests.rules import game_rule


async def traces(folder: Path) -> list[Trace]:
    """Games of which some are solved, some are not and some break off, without what the clock says."""
    rule = game_rule(solve=0.2, unreadable=0.1)
    run = await evaluate(
        model=RuleModel(rule, model_id="candidate"),
        roles={role: RuleModel(rule, model_id=role) for role in ("judge", "oracle")},
        out=folder,
        limit=4,
        repeats=2,
        settings=SETTINGS,
        fresh=True,
    )
    return [
        replace(trace, steps=tuple({**step, "seconds": 0} for step in trace.steps)) for trace in run.traces
    ]


async def test_by_hand_and_by_langgraph_a_run_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = await traces(tmp_path / "hand")
    taken: list[Any] = []
    whole = type(machine.compiled).ainvoke

    async def counted(self: Any, *given: Any, **named: Any) -> Any:
        taken.append(given)
        return await whole(self, *given, **named)

    monkeypatch.setattr(type(machine.compiled), "ainvoke", counted)
    monkeypatch.setattr(machines, "_traced", lambda: True)
    assert await traces(tmp_path / "langgraph") == by_hand
    assert len(taken) == len(by_hand) == 8


def test_a_tracer_is_known_by_its_environment_and_by_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not machines._traced()
    with tracing_context(enabled=True):
        assert machines._traced()
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    get_env_var.cache_clear()
    assert machines._traced()
    get_env_var.cache_clear()


def test_an_untraced_run_imports_no_tracer() -> None:
    code = "import sys, graphs.machine as m; assert not m._traced() and 'langsmith' not in sys.modules"
    quiet = {name: value for name, value in os.environ.items() if not machines.TRACED.match(name)}
    subprocess.run([sys.executable, "-c", code], check=True, env=quiet)


async def test_a_walk_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(step: str, state: Any, context: Any) -> dict[str, Any]:
        return {"round": state["round"] + 1}

    monkeypatch.setattr(machines, "take", nothing)
    with pytest.raises(RecursionError, match="7 nodes"):
        await machine.ainvoke(start("lot-0001", 1, ""), {"recursion_limit": 7}, context=SimpleNamespace())
