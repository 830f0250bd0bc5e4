"""`lotbench watch`: a recorded good game, then a live game of the embedded model, both printed round by round.

The word lists of the samples judge both games, so that a yes is meaningful although the model is tiny. Both become runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lotbench.cli.evaluate import interruptible
from lotbench.cli.play_terminal import judged, news, no_guess, show_picture, told_answer
from lotbench.config import experiment as config
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site.host import HOST, Host
from lotbench.site.people_runs import ANSWERED, planned
from lotbench.site.play_result import result
from lotbench.site.player import Player
from lotbench.types import Reply, Request, Trace

TICK_S = 0.1
PACE_S = 0.45
"""The seconds between two lines of the recorded game, at a terminal."""
EXAMPLE_SAMPLE, LIVE = ANSWERED
"""The sample of the recorded game, and the one that the embedded model plays."""
ROUNDS = (
    ("chess", "Is it a sport?", "Yes"),
    ("ice skating", "Is it done on a flat surface?", "No"),
    ("snowboarding", None, None),
)
"""The recorded game: guess, question and answer of each round; the lists of the sample give the verdicts."""
ASKED: Mapping[str, Any] = {
    "benchmark": "lotbench",
    "model": "local",
    "data": "lotbench_easy",
    "repeats": 1,
    "roles.judge": [HOST],
    "roles.oracle": [HOST],
    "settings.arm": "caption",
    "settings.max_rounds": 4,
    "settings.clue_interval": 1,
    # The questions of so small a model are unreadable, and a viewer would wait for them.
    "settings.ask": False,
    "sampling.candidate.temperature": 0.8,
    "settings.judge_mode": "zero_shot",
}
EXAMPLE: Mapping[str, Any] = {
    **ASKED,
    "model": "python:example",
    "samples": [EXAMPLE_SAMPLE],
    "roles.oracle": ["python:script"],
    "settings.max_rounds": 15,
    "settings.clue_interval": 5,
    "settings.ask": True,
}
"""The configuration of the recorded game as a run, which `lotbench replay example` finds by its name."""


def watch(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench watch`: print a recorded game, then a live one of the embedded model; return exit code 0."""
    console, out = Console(highlight=False), Path(parsed.out)
    console.rule("A good game, told again")
    tell(console, out, PACE_S if console.is_terminal else 0.0)
    console.rule("Now live: a model of 135 million parameters, on this machine")
    run = play({**ASKED, "samples": [LIVE]}, console, out)
    console.print("It is a tiny model: watch the game, not the score.", style="dim")
    console.print(Text(f"report:  {run.path / 'report.html'}"))
    return 0


def tell(console: Console, out: Path, pace_s: float = 0.0) -> Run:
    """Play the recorded game and print it, with a pause before each reply."""
    script = Script(pace_s)
    return play(EXAMPLE, console, out, {"python:example": script, "python:script": script})


def play(asked: Mapping[str, Any], console: Console, out: Path, own: Mapping[str, Any] | None = None) -> Run:
    """Play a game of one sample, print it as it goes, and return its run.

    Args:
        asked: The fields of the configuration.
        console: The console to print to.
        out: The folder of runs.
        own: Models that are Python objects, by name.
    """
    run_config = config.load(None, (), asked)
    plan = planned(run_config)
    item: Any = plan.chosen[0]
    show_picture(console, plan.pictures.path(item.id).read_bytes())
    console.print(Text(f"In the picture: {item.caption}", "dim"))
    before, _, after = item.frame.partition("<MASK>")
    console.print(Text.assemble("\n", before, ("______", "bold underline blue"), after, "\n"))
    live = Live(console)
    objects = {HOST: Host(plan.by_id.__getitem__), **(own or {})}
    run = interruptible(begin(run_config, out=out, own=objects, watch=live.watched, check=False))
    live.ends(run.traces[0])
    ended = result(run.traces[0], plan.settings.max_rounds)
    console.print(Text(f"\n{ended.words}", "bold"), told_answer(run.samples[item.id]), sep="\n")
    return run


class Script:
    """A model that plays the candidate and the oracle of the recorded game, with a pause before each reply."""

    takes_requests = True

    def __init__(self, pace_s: float) -> None:
        self._pace_s = pace_s

    async def __call__(self, request: Request) -> Reply:
        """Return the reply of the recorded game to a request, by its round and step."""
        await asyncio.sleep(self._pace_s)
        guess, question, answer = ROUNDS[request.key.round - 1]
        said = {"respond": {"guess": guess}, "ask": {"question": question}, "answer": {"answer": answer}}
        return Reply(
            json.dumps(said[request.key.step]), "script" if request.key.step == "answer" else "example"
        )


class Live:
    """The printer of a game that is being played; it prints each text once."""

    def __init__(self, console: Console) -> None:
        self._console, self._drawn = console, set[tuple[object, ...]]()
        self._player = Player("", "")

    async def watched(self, status: Status) -> None:
        """Print what is new in the run's game until this task is cancelled at the end of the run."""
        self._player.status = status
        with self._console.status("thinking"):
            try:
                while True:
                    self._print_news()
                    await asyncio.sleep(TICK_S)
            finally:
                self._print_news()

    def _print_news(self) -> None:
        for text in news(self._player.view, self._drawn, with_questions=True):
            self._console.print(text)

    def ends(self, trace: Trace) -> None:
        """Print the verdict on the last guess, which came too late for `watched`."""
        last = next(step for step in reversed(trace.steps) if step["step"] == "respond")
        value: Any = last["value"]
        if (last["round"], "counts") not in self._drawn:
            guess, solved = value.get("guess"), trace.outcome == "solved"
            self._console.print(judged(str(guess), solved) if guess else no_guess(last["round"]))
