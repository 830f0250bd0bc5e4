"""The graph of benchmarks with a panel of judges: respond, judge, grade.

The benchmark's nodes decide how many answers are asked for and how many judges see each. Without a judge, the node `judge`
makes no calls.
"""

from collections.abc import Mapping
from typing import TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from graphs.game import ends_or
from lotbench.harness.episode import AnyEpisode, Episode, Node, recorded
from lotbench.harness.state import EpisodeState

Panel: TypeAlias = CompiledStateGraph[EpisodeState, AnyEpisode, EpisodeState, EpisodeState]
NODES = ("respond", "judge", "grade")


def build(nodes: Mapping[str, Node]) -> Panel:
    """Return the compiled graph of a panel benchmark.

    Args:
        nodes: The functions of the benchmark, by the name of their node.
    """
    graph = StateGraph(EpisodeState, context_schema=Episode)
    for name in NODES:
        graph.add_node(name, recorded(nodes[name]))
    graph.add_edge(START, "respond")
    graph.add_conditional_edges("respond", ends_or("judge"), ["judge", END])
    graph.add_conditional_edges("judge", ends_or("grade"), ["grade", END])
    graph.add_edge("grade", END)
    return graph.compile()
