"""The graph of the game: respond, check, ask, answer, reveal, until a guess is accepted or rounds run out.

These are lines 2 to 10 of Algorithm 1 of *A Causality-aware Paradigm for Evaluating Creativity of Multimodal Large Language
Models*. The graph defines the order of the nodes; the benchmark defines the nodes. `check` counts to N, `harness/loop.py`
plays the m games (lines 1 and 11), and `score.py` computes S_c (line 13).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from lotbench.harness.episode import AnyEpisode, Episode, Node, recorded
from lotbench.harness.state import EpisodeState

Game: TypeAlias = CompiledStateGraph[EpisodeState, AnyEpisode, EpisodeState, EpisodeState]
NODES = ("respond", "check", "ask", "answer", "reveal")


def ends_or(name: str, end: str = END) -> Callable[[EpisodeState], Awaitable[str]]:
    """Return the condition of an edge: it leads to the node `name`, or to `end` once the state has an outcome."""

    # Asynchronous, since LangGraph runs other conditions in a thread.
    async def next_node(state: EpisodeState) -> str:
        return end if state["outcome"] is not None else name

    return next_node


def assemble(graph: StateGraph[Any, Any, Any, Any], nodes: Mapping[str, Any], end: str = END) -> None:
    """Add to a graph the nodes of a round (Algorithm 1, lines 2 to 10) and their edges; an outcome leads to `end`.

    `end` is END or the name of a node: the graph in `studio` continues after a game.
    """

    async def next_node(state: EpisodeState) -> str:
        """Return the node after `ask`: `answer`, `reveal` if no question was asked, or `end` once there is an outcome."""
        if state["outcome"] is not None:
            return end
        return "answer" if state["turn"].get("question") else "reveal"

    for name in NODES:
        graph.add_node(name, nodes[name])
    graph.add_conditional_edges("respond", ends_or("check", end), ["check", end])
    graph.add_conditional_edges("check", ends_or("ask", end), ["ask", end])
    graph.add_conditional_edges("ask", next_node, ["answer", "reveal", end])
    graph.add_conditional_edges("answer", ends_or("reveal", end), ["reveal", end])
    graph.add_edge("reveal", "respond")


def build(nodes: Mapping[str, Node]) -> Game:
    """Return the compiled graph of a game; `nodes` has a function for each name in NODES."""
    graph = StateGraph(EpisodeState, context_schema=Episode)
    assemble(graph, {name: recorded(nodes[name]) for name in NODES})
    graph.add_edge(START, "respond")
    return graph.compile()
