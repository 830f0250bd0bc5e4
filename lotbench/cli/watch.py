"""`lotbench watch`: a recorded good game, then a live game of the embedded model, both printed round by round.

The word lists of the samples judge both games, so that a yes is meaningful although the model is tiny.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from lotbench.cli.evaluate import interruptible
from lotbench.cli.play_terminal import judged, news, show_picture, told_answer
from lotbench.config import experiment as config
from lotbench.run.evaluate import begin
from lotbench.run.plan import Plan
from lotbench.run.session import Status
from lotbench.site.host import HOST, Host, verdict
from lotbench.site.people_runs import planned
from lotbench.site.play_result import result
from lotbench.site.player import Player
from lotbench.types import Trace

TICK_S = 0.1
PACE_S = 0.45
"""The seconds between two lines of the recorded game, at a terminal."""
TOLD = "lot-0034"
ROUNDS = (
    ("chess", "Is it a sport?", "Yes"),
    ("ice skating", "Is it done on a flat surface?", "No"),
    ("snowboarding", None, None),
)
"""The recorded game: guess, question and answer of each round; the lists of the sample give the verdicts."""
LIVE = "lot-0006"
"""The sample that the embedded model plays."""
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


def watch(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench watch`: print a recorded game, then a live one of the embedded model; return exit code 0."""
    console, live_config = Console(highlight=False), config.load(None, (), {**ASKED, "samples": [LIVE]})
    plan = planned(config.load(None, (), {**ASKED, "samples": [TOLD, LIVE]}))
    tell(plan, console, PACE_S if console.is_terminal else 0.0)
    console.rule("Now live: a model of 135 million parameters, on this machine")
    scene(plan, LIVE, console)
    host = {HOST: Host(plan.by_id.__getitem__)}
    screen = Live(console)
    run = interruptible(begin(live_config, out=Path(parsed.out), own=host, watch=screen.watched, check=False))
    trace = run.traces[0]
    screen.ends(trace)
    console.print(
        Text(result(trace, plan.settings.max_rounds).words, "bold"), told_answer(run.samples[LIVE]), sep="\n"
    )
    console.print("It is a tiny model: watch the game, not the score.", style="dim")
    console.print(Text(f"report:  {run.path / 'report.html'}"))
    return 0


def scene(plan: Plan, sample: str, console: Console) -> None:
    """Print the picture of a sample, its caption, and the joke with its blank."""
    item: Any = plan.by_id[sample]
    show_picture(console, plan.pictures.path(sample).read_bytes())
    console.print(Text(f"In the picture: {item.caption}", "dim"))
    before, _, after = item.frame.partition("<MASK>")
    console.print(Text.assemble("\n", before, ("______", "bold underline blue"), after, "\n"))


def tell(plan: Plan, console: Console, pace_s: float) -> None:
    """Print the recorded game line by line, with `pace_s` seconds before each line."""
    sample: Any = plan.by_id[TOLD]
    console.rule("A good game, told again")
    scene(plan, TOLD, console)
    for number, (guess, question, answer) in enumerate(ROUNDS, 1):
        counts, why = verdict(sample, guess)
        lines = [Text(f"round {number}", "dim"), judged(guess, bool(counts)), Text(f"    {why}", "dim")]
        lines += [Text(f"  asks: {question}"), Text(f"  host: {answer}", "bold")] if question else []
        for line in lines:
            time.sleep(pace_s)
            console.print(line)
    console.print(
        Text.assemble(
            f"\nSolved in round {len(ROUNDS)} of 15. The words were: ", (sample.key_text, "bold green")
        )
    )
    console.print(Text(f"{sample.explanation}\n"))


class Live:
    """The printer of a game that is being played; it prints each text once."""

    def __init__(self, console: Console) -> None:
        self._console, self._drawn = console, set[tuple[object, ...]]()
        self._player = Player("", "")

    async def watched(self, status: Status) -> None:
        """Print what is new in the run's game until this task is cancelled at the end of the run."""
        self._player.status = status
        with self._console.status("the model is thinking"):
            while True:
                for text in news(self._player.view, self._drawn, with_questions=True):
                    self._console.print(text)
                await asyncio.sleep(TICK_S)

    def ends(self, trace: Trace) -> None:
        """Print the verdict on the last guess, which came too late for `watched`."""
        last = next(step for step in reversed(trace.steps) if step["step"] == "respond")
        value: Any = last["value"]
        if value.get("guess") and (last["round"], "counts") not in self._drawn:
            self._console.print(judged(str(value["guess"]), trace.outcome == "solved"))
