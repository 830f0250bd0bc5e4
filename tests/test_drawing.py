"""The drawing of the game is the game: graphs/game.mmd is what LangGraph draws of the compiled graph.

`LOTBENCH_GOLDEN=1 pytest tests/test_drawing.py` writes it anew; that is the only way it changes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from graphs.game import graph

DRAWING = Path(__file__).parent.parent / "graphs" / "game.mmd"
STEPS = ("respond", "check", "ask", "answer", "reveal")


def drawn() -> str:
    return graph.get_graph().draw_mermaid()


def edges(text: str) -> set[tuple[str, str]]:
    return set(re.findall(r"^\s*(\w+) -(?:\.-|-)>\s*(\w+);$", text, re.MULTILINE))


def test_the_drawing_is_what_the_graph_is() -> None:
    if os.environ.get("LOTBENCH_GOLDEN"):
        DRAWING.write_text(drawn(), encoding="utf-8")
    assert DRAWING.read_text(encoding="utf-8") == drawn()


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
    assert set(graph.get_graph().nodes) == {"__start__", *STEPS, "__end__"}
