"""A person's game at the terminal: the same as on the page, and nothing that a model wrote steers the terminal."""

import asyncio
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.console import Console

from lotbench.cli.play_terminal import WIDTH, draw_picture, play_here
from lotbench.errors import Unescapable
from lotbench.models.person import in_daemon_thread
from lotbench.run.loading import Run
from lotbench.site.player import Player
from tests.rules import game_rule
from tests.server import FakeServer
from tests.site.test_view import game


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(game_rule(solve=0.0)) as made:
        yield made


async def played(
    server: FakeServer, tmp_path: Path, lines: Iterator[str], **asked: Any
) -> tuple[Run, str, list[str]]:
    """A run, what was drawn, and what was asked of the person; the terminal is closed after the last line."""
    written, prompts = io.StringIO(), list[str]()

    def asks(before: str) -> str:
        prompts.append(before)
        for line in lines:
            return line
        raise EOFError

    console = Console(file=written, width=90, force_terminal=False)
    run = await asyncio.wait_for(
        play_here(game(server, **asked), tmp_path, Player("", "Ann"), console, asks), 60
    )
    return run, written.getvalue(), prompts


async def test_a_game_with_slips_left_out_and_given_up_questions(server: FakeServer, tmp_path: Path) -> None:
    typed = "show|a spoon|what is it?|?|help|y|a  spoon|Is it big?|A Spoon!|a fork|a knife||give up"
    run, shown, prompts = await played(server, tmp_path, iter(typed.split("|")))
    assert [trace.outcome for trace in run.traces] == ["unsolved", "unsolved"]
    assert shown.count("✕ not it: ") == 2 and "That asks what, who or how." in shown
    assert shown.count("You already tried that, in round 1. Nothing is used up.") == 2
    assert "That is no word. Nothing is used up. Type a" in shown
    assert "Here: Your question, or your next guess (Enter: go on)\n" in shown
    assert "“quit” leaves, and the game waits" in shown
    assert "“show” is for a guess that I cannot judge" in shown and "not it: help" not in shown
    assert "Not solved in 3 rounds" in shown and "Given up at once" in shown
    first = run.samples["lot-0001"]
    assert str(first["explanation"]).split()[0] in shown and "______" in shown and "◉" in shown
    assert prompts[0] == "Your guess > " and "Your question, or your next guess (Enter: go on) > " in prompts
    for word in ("WRONG-ANS", "<MASK>", "IMAGE CAPTION"):
        assert word not in shown


async def test_a_solve_is_said_with_how_others_did(server: FakeServer, tmp_path: Path) -> None:
    run, shown, _ = await played(server, tmp_path, iter(["sunbathers", ""]), limit=1)
    assert run.traces[0].outcome == "solved" and "Solved in round 1 of 3" in shown
    assert "you" in shown and "round 1" in shown


async def test_who_closes_the_terminal_can_go_on_later(server: FakeServer, tmp_path: Path) -> None:
    with pytest.raises(Unescapable, match="lotbench play --name Ann"):
        await played(server, tmp_path, iter(["a spoon"]), limit=1)
    run, shown, _ = await played(server, tmp_path, iter(["Is it big?", "sunbathers"]), limit=1)
    assert run.traces[0].outcome == "solved" and "✕ not it: a spoon" in shown
    assert len(list(tmp_path.glob("*/run.json"))) == 1


def test_an_interrupted_game_does_not_wait_for_enter() -> None:
    typed = threading.Event()

    async def play() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_daemon_thread(typed.wait), 0.05)

    game = threading.Thread(target=asyncio.run, args=(play(),), daemon=True)
    game.start()
    game.join(10)
    assert not game.is_alive(), "the end of the loop waits for no line that nobody types"
    typed.set()


def test_a_picture_in_half_blocks() -> None:
    body = io.BytesIO()
    Image.new("RGB", (96, 64), "red").save(body, "PNG")
    rows = draw_picture(body.getvalue()).plain.splitlines()
    assert len(rows) == 16 and set(map(len, rows)) == {WIDTH}
