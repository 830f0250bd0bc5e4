"""The game for `langgraph dev`: the same nodes, begun from a context of plain JSON.

A server of graphs can hand over names and numbers but no clients or pictures. Each node turns the one into the other, and
the state names only the folder of its journal: a walk that is gone on with later, or taken again from an earlier node, pays
for no reply twice.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.game import NODES, assemble
from lotbench.config import experiment as config
from lotbench.edge.calls.caller import Caller
from lotbench.edge.calls.store import Store
from lotbench.edge.models.registry import Models
from lotbench.errors import LotbenchError, UsageError
from lotbench.harness.episode import nobody, visit
from lotbench.harness.state import EpisodeState, Update, start
from lotbench.run import plan
from lotbench.run.calling import journaled
from lotbench.run.plan import Plan
from lotbench.types import Reply, Request


@dataclass(frozen=True, slots=True)
class Asked:
    """What one walk is to be; plain JSON.

    Attributes:
        model: The candidate, in any of the model name forms that need no Python object.
        roles: The models of each other role, by name.
        data: A shipped data set's name or a folder; the benchmark's own if empty.
        sample: The id of the sample; the first if empty.
        repeat: Which of the independent walks on it, from 1; another one draws other replies.
        settings: Of the benchmark, by name.
    """

    model: str = ""
    roles: dict[str, list[str]] = field(default_factory=dict)
    benchmark: str = config.DEFAULT_BENCHMARK
    data: str = ""
    sample: str = ""
    repeat: int = 1
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)


class StudioState(EpisodeState, total=False):
    """The state of a walk, where its journal is, and in the end what it is worth."""

    folder: str
    score: dict[str, Any]


Studio: TypeAlias = StateGraph[StudioState, Asked, StudioState, StudioState]


class Unkept(Store):
    """A store that keeps nothing: the server refuses writes in its event loop, and the journal has every reply."""

    def get(self, request: Request, model_id: str, address: str = "") -> Reply | None:
        """Nothing is ever there."""
        return None

    def put(self, request: Request, reply: Reply, address: str = "") -> None:
        """Keep nothing."""


class StudioError(ValueError):
    """What ended a walk early, as an error whose words the server passes on; of others it tells the type only."""


async def begin(state: StudioState, *, runtime: Runtime[Asked]) -> Update:
    """Make the plan and the models of a walk; the state in which it begins.

    Raises:
        StudioError: Something asked for is missing, unknown or does not fit.
    """
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="lotbench-studio-")
    async with _opened(folder, runtime.context) as (made, _):
        return {**start(made.chosen[0].id, runtime.context.repeat), "folder": folder}


async def grade(state: StudioState, *, runtime: Runtime[Asked]) -> Update:
    """Say what the finished walk is worth."""
    made = await asyncio.to_thread(_plan, runtime.context)
    score = made.benchmark.grade(made.episode(state["sample"], state["repeat"], nobody).at(state))
    return {"score": asdict(score)}


def build() -> Studio:
    """The uncompiled graph."""
    studio: Studio = StateGraph(StudioState, context_schema=Asked)
    studio.add_node("begin", begin)
    studio.add_node("grade", grade)
    assemble(studio, {name: _node(name) for name in NODES}, end="grade")
    studio.add_edge(START, "begin")
    studio.add_edge("begin", "respond")
    studio.add_edge("grade", END)
    return studio


def _node(name: str) -> Callable[..., Awaitable[Update]]:
    async def node(state: StudioState, *, runtime: Runtime[Asked]) -> Update:
        async with _opened(state["folder"], runtime.context) as (made, caller):
            episode = made.episode(state["sample"], state["repeat"], caller.ask)
            ours = {key: value for key, value in state.items() if key in EpisodeState.__annotations__}
            return await visit(made.benchmark.nodes[name], ours, episode)

    return node


@asynccontextmanager
async def _opened(folder: str, asked: Asked) -> AsyncIterator[tuple[Plan, Caller]]:
    """The plan of a walk, and whom it asks through: opened for each node, so that nothing stays open after it.

    A causal chain is made before the eyes of whoever watches: none is taken out of the store.

    Raises:
        StudioError: Something asked for is missing, unknown or does not fit.
    """
    try:
        # Files are read and a model may be started: the server refuses to wait for that in its event loop.
        made = await asyncio.to_thread(_plan, asked)
        async with Models(made.pictures, made.limits, {}) as models:
            role_models = await asyncio.to_thread(models.role_models, made.names)
            async with journaled(made, role_models, Path(folder), Unkept()) as caller:
                yield made, caller
    except LotbenchError as error:
        raise StudioError(str(error)) from error


def _plan(asked: Asked) -> Plan:
    """The plan of one walk, its picture read."""
    if asked.repeat < 1:
        raise UsageError(f"repeat {asked.repeat}: tasks are counted from 1")
    given = {
        "benchmark": asked.benchmark,
        "model": asked.model,
        "roles": asked.roles,
        "data": asked.data,
        "samples": [asked.sample] if asked.sample else [],
        "repeats": asked.repeat,
        "seed": asked.seed,
        "settings": asked.settings,
    }
    made = plan.make(config.load(None, (), given))
    picture = made.pictures.get(made.chosen[0].id)
    if picture is not None:
        made.pictures.data_url(picture.sha256)
    return made


graph: CompiledStateGraph[StudioState, Asked, StudioState, StudioState] = build().compile()
