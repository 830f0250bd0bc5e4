"""The graph of the game for `langgraph dev`: the nodes of `graphs.game`, started from a context of plain JSON.

A graph server passes names and numbers but no clients or pictures. Each node makes these from the context, and the state
names the folder of the journal. An episode that is continued later, or repeated from an earlier node, reuses all replies.
"""

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
from lotbench.calls.caller import Caller
from lotbench.calls.store import Store
from lotbench.config import experiment as config
from lotbench.errors import LotbenchError, UsageError
from lotbench.harness.episode import nobody, visit
from lotbench.harness.state import EpisodeState, Update, start
from lotbench.models.registry import Models
from lotbench.run import plan
from lotbench.run.calling import journaled
from lotbench.run.plan import Plan
from lotbench.types import Reply, Request


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


class Unkept(Store):
    """A store that keeps no reply: the server forbids writes in its event loop, and whoever watches sees each call for a chain."""

    def put(self, request: Request, reply: Reply, address: str = "") -> None:
        """Ignore the reply; the journal has it."""


class StudioError(ValueError):
    """An error of the studio's graph. The server shows its message; of errors of other types it shows only the type."""


async def begin(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
    """Return the initial state of an episode with a new folder for its journal.

    Raises:
        StudioError: A part of the context is missing, unknown or invalid.
    """
    folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="lotbench-studio-")
    async with _opened(folder, runtime.context) as (run_plan, _):
        return {**start(run_plan.chosen[0].id, runtime.context.repeat), "folder": folder}


async def grade(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
    """Score the finished episode, and return the score as a change of the state."""
    run_plan = await asyncio.to_thread(_plan, runtime.context)
    score = run_plan.benchmark.grade(run_plan.episode(state["sample"], state["repeat"], nobody).at(state))
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


def _node(name: str) -> Callable[..., Awaitable[Update]]:
    async def node(state: StudioState, *, runtime: Runtime[StudioContext]) -> Update:
        async with _opened(state["folder"], runtime.context) as (run_plan, caller):
            episode = run_plan.episode(state["sample"], state["repeat"], caller.ask)
            ours = {key: value for key, value in state.items() if key in EpisodeState.__annotations__}
            return await visit(run_plan.benchmark.nodes[name], ours, episode)

    return node


@asynccontextmanager
async def _opened(folder: str, context: StudioContext) -> AsyncIterator[tuple[Plan, Caller]]:
    """Open the plan of an episode, its models, and its journal in `folder`; each node opens them anew.

    So a node that is repeated may make calls with the same keys again, and their replies come from the journal.

    Raises:
        StudioError: An error of lotbench.
    """
    try:
        # The server forbids blocking its event loop with reading files and starting models.
        run_plan = await asyncio.to_thread(_plan, context)
        async with Models(run_plan.pictures, run_plan.limits, {}) as models:
            role_models = await asyncio.to_thread(models.role_models, run_plan.names)
            async with journaled(run_plan, role_models, Path(folder), Unkept(fresh=True)) as caller:
                yield run_plan, caller
    except LotbenchError as error:
        raise StudioError(str(error)) from error


def _plan(context: StudioContext) -> Plan:
    """Return the plan of one episode and read its picture."""
    if context.repeat < 1:
        raise UsageError(f"repeat {context.repeat}: tasks are counted from 1")
    fields = asdict(context)
    sample, repeats = fields.pop("sample"), fields.pop("repeat")
    fields |= {"samples": [sample] if sample else [], "repeats": repeats}
    run_plan = plan.make(config.load(None, (), fields))
    picture = run_plan.pictures.get(run_plan.chosen[0].id)
    if picture is not None:
        run_plan.pictures.data_url(picture.sha256)
    return run_plan


graph: CompiledStateGraph[StudioState, StudioContext, StudioState, StudioState] = build().compile()
