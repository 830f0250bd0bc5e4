"""The game: respond, check, ask, answer, reveal, and again, until a response is accepted or rounds run out.

The graph knows the order of the nodes and nothing of what is asked in them: each node puts the questions
that the benchmark wants put at that step, and the edges look only at what has come of it.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from lotbench.benchmark import Context, take
from lotbench.state import Update, WalkState

Game: TypeAlias = StateGraph[WalkState, Context, WalkState, WalkState]


class Node(Protocol):
    """A node: from a state to what it changes."""

    async def __call__(self, state: WalkState, *, runtime: Runtime[Context]) -> Update:
        """Put the questions of one step."""
        ...


def respond(state: WalkState) -> str:
    """After respond: what was filled in is checked, unless no reply came."""
    return "check" if state["outcome"] is None else END


def checked(state: WalkState) -> str:
    """After check: the game is over when it is solved, failed, or out of rounds."""
    return "ask" if state["outcome"] is None else END


def asked(state: WalkState) -> str:
    """After ask: a question goes to the oracle; a round without one goes on."""
    if state["outcome"] is not None:
        return END
    return "answer" if state["turn"].get("question") else "reveal"


def answered(state: WalkState) -> str:
    """After answer: the round closes, unless no reply came."""
    return "reveal" if state["outcome"] is None else END


def build() -> Game:
    """The uncompiled graph."""
    game: Game = StateGraph(WalkState, context_schema=Context)
    for step in ("respond", "check", "ask", "answer", "reveal"):
        game.add_node(step, _node(step))
    game.add_edge(START, "respond")
    game.add_conditional_edges("respond", respond, ["check", END])
    game.add_conditional_edges("check", checked, ["ask", END])
    game.add_conditional_edges("ask", asked, ["answer", "reveal", END])
    game.add_conditional_edges("answer", answered, ["reveal", END])
    game.add_edge("reveal", "respond")
    return game


def _node(step: str) -> Node:
    async def node(state: WalkState, *, runtime: Runtime[Context]) -> Update:
        return await take(step, state, runtime.context)

    return node


graph: CompiledStateGraph[WalkState, Context, WalkState, WalkState] = build().compile()
