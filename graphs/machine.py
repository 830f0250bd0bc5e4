"""What the graphs have in common: a node puts the questions of its step, and says itself where it leads.

A graph is a table of nodes and a function of the state; it knows nothing of what is asked. LangGraph draws it, serves
it and traces it. A run that nobody traces takes the same nodes in the same order by hand: LangGraph's bookkeeping
costs 0.3 ms a node, about as much as all else that lotbench does for a call.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from lotbench.harness.benchmark import Context, take
from lotbench.harness.state import State, WalkState, joined

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.runtime import Runtime
    from langgraph.types import Command

    Compiled: TypeAlias = CompiledStateGraph[WalkState, Context, WalkState, WalkState]
    Node: TypeAlias = Callable[..., Awaitable[Command[str]]]

TRACED = re.compile("LANG(SMITH|CHAIN)_")
"""Variables by which LangSmith can be told to listen."""
END = "__end__"
"""Where a walk ends, as LangGraph calls it."""
After: TypeAlias = Callable[[str, State], str]
"""Where a node leads, from the state after it."""


@dataclass(frozen=True)
class Machine:
    """Nodes in order, each with where it may lead, begun at the first."""

    nodes: Mapping[str, tuple[str, ...]]
    after: After

    async def ainvoke(self, input: WalkState, config: Any = None, *, context: Any = None) -> Any:
        """Run from the first node to the last; returns the last state. `recursion_limit` bounds the nodes it visits.

        Raises:
            RecursionError: The walk has no end.
        """
        if _traced():
            return await self.compiled.ainvoke(input, config, context=context)
        state: dict[str, Any] = dict(input)
        step, most = next(iter(self.nodes)), config["recursion_limit"]
        for _ in range(most):
            state = joined(state, await take(step, state, context))
            step = self.after(step, state)
            # A walk whose replies are all in the journal waits for nothing, and others want their turn.
            await asyncio.sleep(0)
            if step == END:
                return state
        raise RecursionError(f"{most} nodes were visited and the task has no end")

    def graph(self) -> Compiled:
        """The same for LangGraph, which draws, serves and traces it."""
        return self.compiled

    @cached_property
    def compiled(self) -> Compiled:
        """The same as a graph of LangGraph."""
        from langgraph.graph import START, StateGraph

        drawn: StateGraph[WalkState, Context, WalkState, WalkState] = StateGraph(
            WalkState, context_schema=Context
        )
        for step, destinations in self.nodes.items():
            drawn.add_node(step, _node(step, self.after), destinations=destinations)
        drawn.add_edge(START, next(iter(self.nodes)))
        return drawn.compile()


def _node(step: str, after: After) -> Node:
    from langgraph.types import Command

    async def node(state: WalkState, *, runtime: Runtime[Context]) -> Command[str]:
        changed = await take(step, state, runtime.context)
        # What `after` looks at has no reducer, so the update simply replaces it.
        return Command(update=changed, goto=after(step, {**state, **changed}))

    return node


def _traced() -> bool:
    """Whether LangSmith listens: by the environment or by a context that it was given.

    Without a word of the environment only who has imported it can have given one; to ask it costs 0.3 s.
    """
    if "langsmith" not in sys.modules and not any(map(TRACED.match, os.environ)):
        return False
    from langsmith.utils import tracing_is_enabled

    return bool(tracing_is_enabled())
