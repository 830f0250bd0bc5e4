"""The panel: respond, judge, grade; one way through.

A candidate may be asked for several answers, and each answer may go to several judges: how many of which is the
benchmark's to say. A benchmark without a judge asks nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from lotbench.harness.episode import AnyEpisode, Episode, Node, recorded
from lotbench.harness.state import EpisodeState

Panel: TypeAlias = CompiledStateGraph[EpisodeState, AnyEpisode, EpisodeState, EpisodeState]
NODES = ("respond", "judge", "grade")


def build(nodes: Mapping[str, Node]) -> Panel:
    """Return the graph of a benchmark that is a panel, from its nodes by name."""

    def ends_or(name: str) -> Any:
        def next_node(state: EpisodeState) -> str:
            return END if state["outcome"] is not None else name

        return next_node

    graph = StateGraph(EpisodeState, context_schema=Episode)
    for name in NODES:
        graph.add_node(name, recorded(nodes[name]))
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", ends_or("judge"), ["judge", END])
    graph.add_conditional_edges("judge", ends_or("grade"), ["grade", END])
    graph.add_edge("grade", END)
    return graph.compile()
