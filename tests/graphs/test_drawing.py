"""The drawings are the graphs: graphs/*.mmd is what LangGraph draws of each compiled graph.

`LOTBENCH_GOLDEN=1 pytest tests/graphs/test_drawing.py` writes it anew; that is the only way it changes.
"""

import os
import re
from pathlib import Path

import pytest

from graphs import game, panel, studio
from lotbench.benchmarks.lotbench.task import benchmark as GAME
from lotbench.benchmarks.standard.task import benchmark as PANEL

GRAPHS = Path(__file__).parents[2] / "graphs"
DRAWN = {"game": game.build(GAME.nodes), "panel": panel.build(PANEL.nodes), "studio": studio.graph}
STEPS = ("respond", "check", "ask", "answer", "reveal")


def drawn() -> str:
    return DRAWN["game"].get_graph().draw_mermaid()


def edges(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^\s*(\w+) -(?:\.-|-)>\s*(\w+);$", text, re.MULTILINE))


@pytest.mark.parametrize("name", DRAWN)
def test_the_drawing_is_what_the_graph_is(name: str) -> None:
    drawing, made = GRAPHS / f"{name}.mmd", DRAWN[name].get_graph().draw_mermaid()
    if os.environ.get("LOTBENCH_GOLDEN"):
        drawing.write_text(made, encoding="utf-8")
    assert drawing.read_text(encoding="utf-8") == made


def test_the_studio_plays_the_nodes_of_the_game_and_grades_where_it_ends() -> None:
    ends = {(one, "grade" if other == "__end__" else other) for one, other in edges(drawn())}
    opened = {("__start__", "begin"), ("begin", "respond"), ("grade", "__end__")}
    theirs = edges(studio.graph.get_graph().draw_mermaid())
    assert theirs == (ends - {("__start__", "respond")}) | opened


def test_the_drawing_shows_every_way_through_the_game() -> None:
    assert edges(drawn()) == {
        ("__start__", "respond"),
        ("respond", "check"),
        ("check", "ask"),
        ("ask", "answer"),
        ("ask", "reveal"),
        ("answer", "reveal"),
        ("reveal", "respond"),
        # Solved, out of rounds, or a call that brought no reply.
        *((step, "__end__") for step in STEPS if step != "reveal"),
    }
    assert set(DRAWN["game"].get_graph().nodes) == {"__start__", *STEPS, "__end__"}
