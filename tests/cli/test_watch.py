"""`lotbench watch`: a game told again by the lists of its sample, and a live one printed as it goes."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lotbench.cli import main, watch
from lotbench.config import experiment as config
from lotbench.run.evaluate import begin
from lotbench.site.host import HOST, Host
from lotbench.site.people_runs import planned


def drawn() -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, width=80, force_terminal=False), written


def test_the_game_that_is_told_is_judged_by_the_lists_and_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    console, written = drawn()
    watch.tell(console, tmp_path / "runs")
    shown = written.getvalue()
    assert shown.count("✕ not it") == 2 and "✓ it counts: snowboarding" in shown
    assert "Solved in round 3 of 15: score 0.67" in shown and max(map(len, shown.splitlines())) <= 80
    assert main(["replay", "example"]) == 0
    replayed = capsys.readouterr().out
    answers = [line.split()[-1] for line in replayed.splitlines() if "is told" in line]
    assert answers == ["Yes", "No"] and "solved, score 0.6703" in replayed


def test_the_scene_hides_the_answer() -> None:
    console, written = drawn()
    item = watch.show_scene(console)
    assert "for ______." in written.getvalue() and item.key_text not in written.getvalue()
    assert "In the picture: " in written.getvalue() and max(map(len, written.getvalue().splitlines())) <= 80


WRONG = ["chess", "cheese", "chess", "telly"]


@pytest.mark.parametrize(
    ("guesses", "shown"),
    [
        (WRONG, [f"attempt {at} ✕ not it: {guess}" for at, guess in enumerate(WRONG, 1)]),
        (
            ["a; b", "a; b", "c; d", "skiing"],
            ["attempt 1 ✕ no usable guess", "attempt 2 ✓ it counts: skiing"],
        ),
    ],
)
async def test_a_live_game_is_shown_to_its_end(tmp_path: Path, guesses: list[str], shown: list[str]) -> None:
    left = iter([*guesses, *["again"] * 4])

    async def player(messages: list[dict[str, Any]]) -> str:
        return f'{{"guess": "{next(left)}"}}'

    asked = config.load(watch.LIVE, (), {"model": "python:player"})
    console, written = drawn()
    live, by_id = watch.Live(console), planned(asked).by_id
    own = {"python:player": player, HOST: Host(by_id.__getitem__)}
    run = await begin(asked, out=tmp_path, own=own, watch=live.watched, check=False)
    live.ends(run.traces[0])
    assert (run.traces[0].outcome == "solved") is (guesses[-1] == "skiing")
    assert [line.strip() for line in written.getvalue().splitlines() if line.strip()] == shown
