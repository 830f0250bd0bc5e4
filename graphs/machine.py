"""What the graphs have in common: a node puts the questions of its step, and says itself where it leads.

A graph is a table of nodes and a function of the state; it knows nothing of what is asked. The node answers
with a Command: a conditional edge would read the state again, for a tenth of what a call costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from lotbench.harness.benchmark import Context, take
from lotbench.harness.state import State, WalkState

Machine: TypeAlias = CompiledStateGraph[WalkState, Context, WalkState, WalkState]
After: TypeAlias = Callable[[str, State], str]
"""Where a node leads, from the state after it."""


class Node(Protocol):
    """A node: from a state to what it changes and where it leads."""

    async def __call__(self, state: WalkState, *, runtime: Runtime[Context]) -> Command[str]:
        """Put the questions of one step."""
        ...


def machine(nodes: Mapping[str, tuple[str, ...]], after: After) -> Machine:
    """The compiled graph of nodes (in order, each with where it may lead), begun at the first."""
    drawn: StateGraph[WalkState, Context, WalkState, WalkState] = StateGraph(
        WalkState, context_schema=Context
    )
    for step, destinations in nodes.items():
        drawn.add_node(step, _node(step, after), destinations=destinations)
    drawn.add_edge(START, next(iter(nodes)))
    return drawn.compile()


def _node(step: str, after: After) -> Node:
    async def node(state: WalkState, *, runtime: Runtime[Context]) -> Command[str]:
        changed = await take(step, state, runtime.context)
        # What `after` looks at has no reducer, so the update simply replaces it.
        return Command(update=changed, goto=after(step, {**state, **changed}))

    return node
