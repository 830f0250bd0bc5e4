"""The game: respond, check, ask, answer, reveal, and again, until a response is accepted or rounds run out.

The graph knows the order of the nodes and nothing of what is asked in them: each node puts the questions
that the benchmark wants put at that step, and looks only at what has come of it to say where to go. It says
so itself, in a Command: a conditional edge would read the state again, for a tenth of what a call costs.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from lotbench.benchmark import Context, take
from lotbench.state import State, WalkState

Game: TypeAlias = StateGraph[WalkState, Context, WalkState, WalkState]


NODES = {
    "respond": ("check", END),
    "check": ("ask", END),
    "ask": ("answer", "reveal", END),
    "answer": ("reveal", END),
    "reveal": ("respond",),
}
"""The nodes in the order of a round, and where each may lead."""


class Node(Protocol):
    """A node: from a state to what it changes and where it leads."""

    async def __call__(self, state: WalkState, *, runtime: Runtime[Context]) -> Command[str]:
        """Put the questions of one step."""
        ...


def after(step: str, state: State) -> str:
    """Where a node leads: to the end with an outcome, past the oracle without a question, else on."""
    if state["outcome"] is not None:
        return END
    if step == "ask" and not state["turn"].get("question"):
        return "reveal"
    return NODES[step][0]


def build() -> Game:
    """The uncompiled graph."""
    game: Game = StateGraph(WalkState, context_schema=Context)
    for step, destinations in NODES.items():
        game.add_node(step, _node(step), destinations=destinations)
    game.add_edge(START, "respond")
    return game


def _node(step: str) -> Node:
    async def node(state: WalkState, *, runtime: Runtime[Context]) -> Command[str]:
        changed = await take(step, state, runtime.context)
        # What `after` looks at has no reducer, so the update simply replaces it.
        return Command(update=changed, goto=after(step, {**state, **changed}))

    return node


graph: CompiledStateGraph[WalkState, Context, WalkState, WalkState] = build().compile()
