"""The graph of the game for `langgraph dev`: the nodes of `graphs.game`, started from a context of plain JSON.

A graph server passes names and numbers but no clients or pictures. The first node makes these and keeps them outside the
state, which only names the folder of the journal. An episode that is continued later, or repeated from an earlier node,
opens that folder again and reuses all replies.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from graphs.game import NODES, assemble
from lotbench.calls.caller import RoleModel
from lotbench.calls.store import Store
from lotbench.config import experiment as config
from lotbench.errors import LotbenchError, UsageError
from lotbench.harness.episode import nobody, visit
from lotbench.harness.state import EpisodeState, Update, start
from lotbench.models.registry import Models
from lotbench.run import plan
from lotbench.run.calling import journaled
from lotbench.run.plan import Plan


@dataclass(frozen=True, slots=True)
class StudioContext:
    """The context of an episode, as plain JSON.

    Attributes:
        model: The candidate, by any model name that needs no Python object.
        roles: The names of the models of each other role.
        data: The name of a shipped data set, or a folder; if empty, the benchmark's own data set.
        sample: The id of the sample; if empty, the first of the data set.
        repeat: The number of the independent episode on the sample, from 1.
        settings: The benchmark's settings.
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
    """The state of an episode, with the folder of its journal and finally its score."""

    folder: str
    score: dict[str, Any]


Studio: TypeAlias = StateGraph[StudioState, StudioContext, StudioState, StudioState]


@dataclass(frozen=True, slots=True)
class LiveEpisode:
    """The objects of a running episode that the state cannot hold."""

    plan: Plan
    models: Models
    role_models: Mapping[str, tuple[RoleModel, ...]]
    loop: asyncio.AbstractEventLoop
    """The event loop of the connections."""


_live: dict[str, LiveEpisode] = {}
"""Running episodes by folder; abandoned ones stay until the server ends."""


class StudioError(ValueError):
    """An error of the studio's graph. The server shows its message; of errors of other types it shows only the type."""


class Node(Protocol):
    """A node of the studio's graph."""

    async def __call__(self, state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
        """Run the node and return its changes of the state."""
        ...


async def begin(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
    """Make the plan and the models of an episode, and return its initial state with a new folder for its journal.

    Raises:
        StudioError: A part of the context is missing, unknown or invalid.
    """
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="lotbench-studio-")
    with _studio_errors():
        run_plan = (await _live_episode(folder, runtime.context)).plan
    sample, repeat = run_plan.chosen[0], runtime.context.repeat
    return {**start(sample.id, repeat), "folder": folder}


async def grade(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
    """Score the finished episode, close its models, and return the score as a change of the state."""
    run_plan = (await _live_episode(state["folder"], runtime.context)).plan
    score = run_plan.benchmark.grade(run_plan.episode(state["sample"], state["repeat"], nobody).at(state))
    await _close(state["folder"])
    return {"score": asdict(score)}


def build() -> Studio:
    """Return the graph of the studio, not yet compiled."""
    studio: Studio = StateGraph(StudioState, context_schema=StudioContext)
    studio.add_node("begin", begin)
    studio.add_node("grade", grade)
    assemble(studio, {name: _node(name) for name in NODES}, end="grade")
    studio.add_edge(START, "begin")
    studio.add_edge("begin", "respond")
    studio.add_edge("grade", END)
    return studio


def _node(name: str) -> Node:
    async def node(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
        folder = state["folder"]
        with _studio_errors():
            live = await _live_episode(folder, runtime.context)
            try:
                return await _visit(name, state, live)
            except BaseException:
                await _close(folder)
                raise

    return node


async def _visit(name: str, state: StudioState, live: LiveEpisode) -> Update:
    """Run one node and return its changes of the state.

    The journal is opened anew each time, so that a node which is repeated may ask for the same keys again.
    """
    run_plan, path = live.plan, Path(state["folder"])
    # A store that reads nothing: a person who watches an episode sees the calls that build its causal chain.
    async with journaled(run_plan, live.role_models, path, Store(path, fresh=True)) as caller:
        episode = run_plan.episode(state["sample"], state["repeat"], caller.ask)
        ours = {key: value for key, value in state.items() if key in EpisodeState.__annotations__}
        return await visit(run_plan.benchmark.nodes[name], ours, episode)


@contextmanager
def _studio_errors() -> Iterator[None]:
    try:
        yield
    except LotbenchError as error:
        raise StudioError(str(error)) from error


async def _live_episode(folder: str, context: StudioContext) -> LiveEpisode:
    """Return the objects of an episode; make them if missing or if they belong to another event loop."""
    loop = asyncio.get_running_loop()
    live = _live.get(folder)
    if live is None or live.loop is not loop:
        # The server forbids blocking its event loop with reading files and starting models.
        run_plan = await asyncio.to_thread(_plan, context)
        models = Models(run_plan.pictures, run_plan.limits, {})
        try:
            role_models = await asyncio.to_thread(models.role_models, run_plan.names)
        except BaseException:
            await models.__aexit__()
            raise
        live = _live[folder] = LiveEpisode(run_plan, models, role_models, loop)
    return live


async def _close(folder: str) -> None:
    live = _live.pop(folder, None)
    if live is not None:
        await live.models.__aexit__()


def _plan(context: StudioContext) -> Plan:
    """Return the plan of one episode and read its picture."""
    if context.repeat < 1:
        raise UsageError(f"repeat {context.repeat}: tasks are counted from 1")
    fields = {
        "benchmark": context.benchmark,
        "model": context.model,
        "roles": context.roles,
        "data": context.data,
        "samples": [context.sample] if context.sample else [],
        "repeats": context.repeat,
        "seed": context.seed,
        "settings": context.settings,
    }
    run_plan = plan.make(config.load(None, (), fields))
    picture = run_plan.pictures.get(run_plan.chosen[0].id)
    if picture is not None:
        run_plan.pictures.data_url(picture.sha256)
    return run_plan


graph: CompiledStateGraph[StudioState, StudioContext, StudioState, StudioState] = build().compile()
