"""The game: respond, check, ask, answer, reveal, and again, until a response is accepted or rounds run out.

The graph knows the order of the nodes and nothing of what is asked in them: each node puts the questions
that the benchmark wants put at that step, and looks only at what has come of it to say where to go.
"""

from __future__ import annotations

from graphs.machine import END, Machine
from lotbench.harness.state import State

NODES = {
    "respond": ("check", END),
    "check": ("ask", END),
    "ask": ("answer", "reveal", END),
    "answer": ("reveal", END),
    "reveal": ("respond",),
}
"""The nodes in the order of a round, and where each may lead."""


def after(step: str, state: State) -> str:
    """Where a node leads: to the end with an outcome, past the oracle without a question, else on."""
    if state["outcome"] is not None:
        return END
    if step == "ask" and not state["turn"].get("question"):
        return "reveal"
    return NODES[step][0]


machine = Machine(NODES, after)
graph = machine.graph
