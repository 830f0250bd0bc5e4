"""`lotbench watch`: the embedded model live, then a recorded good player at the same joke, both printed round by round.

The word lists of the sample judge both games, so that a yes is meaningful although the model is tiny. Both become runs.
"""

import argparse
import asyncio
import json
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lotbench.cli.evaluate import interruptible
from lotbench.cli.lines import wrapped
from lotbench.cli.play_terminal import judged, news, show_picture, told_answer
from lotbench.config import experiment as config
from lotbench.models.python_models import NAMED
from lotbench.run.evaluate import begin
from lotbench.run.loading import Run
from lotbench.run.session import Status
from lotbench.site.host import HOST, Host
from lotbench.site.people_runs import planned
from lotbench.site.play_result import result
from lotbench.site.player import Player
from lotbench.types import Reply, Request, Trace

TICK_S = 0.1
PACE_S = 0.45
"""The seconds between two lines of the recorded game, at a terminal."""
ROUNDS = (
    ("chess", "Is it a sport?", "Yes"),
    ("ice skating", "Is it done on a flat surface?", "No"),
    ("snowboarding", None, None),
)
"""The recorded game: guess, question and answer of each round; the lists of the sample give the verdicts."""
LIVE = Path(__file__).with_name("watch.toml")
"""The configuration of the live game."""
EXAMPLE: Mapping[str, Any] = {
    "model": "python:example",
    "roles.oracle": ["python:script"],
    "settings.max_rounds": 15,
    "settings.ask": True,
    "settings.clues": True,
    "sampling.candidate.temperature": 1.0,
    "seed": 0,
}
"""The fields in which the recorded game differs, a run which `lotbench replay example` finds by its name."""
WHY = (
    "135 million parameters are enough to write English, and too few to find the joke: "
    "the guesses may fit the sentence, but they pass over the picture. (Its seed was chosen for guesses that differ.)"
)
"""Why the embedded model fails, for the viewer of the live game."""


def watch(parsed: argparse.Namespace) -> None:
    """Carry out `lotbench watch`: a live game of the embedded model, then a recorded good one of the same joke."""
    console, out = Console(highlight=False), Path(parsed.out)
    console.rule("Which words make the joke?")
    item = show_scene(console)
    console.rule("Live on this machine: a tiny model")
    if play({}, console, out).traces[0].outcome == "unsolved":
        console.print(Text(WHY, "dim"), "", sep="\n")
    console.rule("A good player at the same joke, recorded: it may ask")
    run = tell(console, out, PACE_S if console.is_terminal else 0.0)
    console.print("", told_answer(item.model_dump()), sep="\n")
    print(wrapped(str(run.path / "report.html"), "report"))
    program = "lotbench" if shutil.which("lotbench") else sys.argv[0]
    print(f"next    {program + ' view':34}every run, and every game round by round")
    print(f"        {program + ' play --browser':34}you are the player; no key needed")


def show_scene(console: Console) -> Any:
    """Print picture, caption and sentence of the sample that both play, and return the sample."""
    plan = planned(config.load(LIVE, (), EXAMPLE))
    item: Any = plan.chosen[0]
    show_picture(console, plan.pictures.path(item.id).read_bytes())
    console.print(Text(f"In the picture: {item.caption}", "dim"))
    before, _, after = item.frame.partition("<MASK>")
    console.print(Text.assemble("\n", before, ("______", "bold underline blue"), after, "\n"))
    return item


def tell(console: Console, out: Path, pace_s: float = 0.0) -> Run:
    """Play the recorded game and print it, with a pause before each reply."""
    script = Script(pace_s)
    return play(EXAMPLE, console, out, {"python:example": script, "python:script": script})


def play(asked: Mapping[str, Any], console: Console, out: Path, own: Mapping[str, Any] | None = None) -> Run:
    """Play a game of one sample, print its rounds as they go, and return its run.

    Args:
        asked: The fields of the configuration that differ from the live game's.
        console: The console to print to.
        out: The folder of runs.
        own: Models that are Python objects, by name.
    """
    run_config = config.load(LIVE, (), asked)
    plan, live = planned(run_config), Live(console)
    objects = {HOST: Host(plan.by_id.__getitem__), **(own or {})}
    run = interruptible(begin(run_config, out=out, own=objects, watch=live.watched, check=False))
    live.ends(run.traces[0])
    words = result(run.traces[0], plan.settings.max_rounds).words
    console.print(Text(f"\n{words}: score {run.traces[0].score.value or 0:.2f}", "bold"))
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
        player = "script" if request.key.step == "answer" else "example"
        return Reply(json.dumps(said[request.key.step]), player)


NAMED.add(Script)


class Live:
    """The printer of a game that is being played; it prints each turn once."""

    def __init__(self, console: Console) -> None:
        self._console, self._drawn = console, set[tuple[object, ...]]()
        self._player = Player("", "")

    async def watched(self, status: Status) -> None:
        """Print what is new in the run's game until this task is cancelled at the end of the run."""
        self._player.status = status
        began = time.monotonic()
        with self._console.status("thinking") as spinner:
            try:
                while True:
                    spinner.update(f"thinking, {time.monotonic() - began:.0f} s")
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
            self._console.print(judged(last["round"], value.get("guess"), trace.outcome == "solved"))
