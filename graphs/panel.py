"""The panel: respond, judge, grade; one way through, each node for as long as it has something to ask.

A candidate may be asked for several answers, one after another or all at once, and each answer may go to
several judges: how many of which is the benchmark's to say, question by question. A benchmark without a
judge asks nothing there.
"""

from __future__ import annotations

from graphs.machine import END, Machine
from lotbench.harness.state import State

NODES = {"respond": ("judge", END), "judge": ("grade", END), "grade": (END,)}
"""The nodes in order, and where each may lead."""


def after(step: str, state: State) -> str:
    """Where a node leads: to the end with an outcome, else on."""
    return END if state["outcome"] is not None else NODES[step][0]


machine = Machine(NODES, after)
graph = machine.graph
