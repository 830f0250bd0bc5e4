"""The progress of a run while it goes on: a live display on a terminal, plain lines in a pipe."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from lotbench.calls.caller import CallStats
from lotbench.report.markdown import counted, duration, visible
from lotbench.run.session import Status, Watch

if TYPE_CHECKING:
    from rich.table import Table

TERMINAL_S = 0.25
PIPE_S = 15.0
STALL_S = 60.0
"""The seconds without any reply after which the calls in flight are listed."""
SHOWN = 5
BAR = 36
"""The columns of the bar on a terminal."""
COLOURS = {"solved": "green", "done": "green", "unsolved": "yellow", "failed": "bold red"}
STEPS = {"respond": "guessing", "ask": "asking", "answer": "the oracle answers"}
"""What is done in a step of a round; in all others a judge decides."""
ENDING = "writing the report"
"""What a session does after its last game or task, for some seconds if the run is large."""


def watch(stream: TextIO) -> Watch:
    """Return a display of a run's progress that prints to `stream`: live on a terminal, else plain lines."""
    return _on_terminal(stream) if stream.isatty() else _in_pipe(stream)


def _in_pipe(stream: TextIO) -> Watch:
    async def show(status: Status) -> None:
        start, shown = (time.monotonic(), done(status)), ("", 0)
        _warn(status, lambda line: print(line, file=stream, flush=True))
        print(f"run: {status.path}", file=stream, flush=True)

        def show_news() -> None:
            nonlocal shown
            news = counts(status), int((time.monotonic() - status.stats.replied) / STALL_S)
            if news != shown:
                shown = news
                print(lines(status, start), file=stream, flush=True)

        try:
            while True:
                await asyncio.sleep(PIPE_S)
                show_news()
        finally:
            show_news()
            if status.traces:
                print(ENDING, file=stream, flush=True)

    return show


def _on_terminal(stream: TextIO) -> Watch:
    async def show(status: Status) -> None:
        from rich.console import Console, Group  # noqa: PLC0415 - a pipe needs none of it
        from rich.live import Live  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        # No markup: a path and a warning are only text.
        console, start = Console(file=stream, markup=False), (time.monotonic(), done(status))
        _warn(status, console.print)
        console.print(f"run: {status.path}", highlight=False, soft_wrap=True)
        with Live(console=console, auto_refresh=False, transient=False) as live:

            def draw(last: Sequence[str]) -> None:
                shown = Text("\n".join([lines(status, start), *last]), no_wrap=True, overflow="ellipsis")
                live.update(Group(bar(status), shown), refresh=True)

            try:
                while True:
                    draw(doing(status))
                    await asyncio.sleep(TERMINAL_S)
            finally:
                draw([ENDING] if status.traces else [])

    return show


def done(status: Status) -> float:
    """Return the share of a run that is done; a round of an open game counts as a share of `max_rounds`, the current one as a half."""
    most = getattr(status.plan.settings, "max_rounds", 1)
    rounds = sum(min(number, most) - 0.5 for number in status.latest.playing.values())
    return (len(status.traces) + rounds / most) / max(status.total, 1)


def bar(status: Status) -> Table:
    """Return a bar of BAR columns of what is done (`done`), and the counts of finished games or tasks by kind, in colours."""
    from rich.progress_bar import ProgressBar  # noqa: PLC0415 - a pipe needs none of it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    counted = [(f"{count} {kind}", COLOURS[kind]) for kind, count in tally(status).items() if count]
    drawn = Table.grid(padding=(0, 2))
    drawn.add_row(ProgressBar(1.0, done(status), BAR), *(Text(*count) for count in counted))
    return drawn


def tally(status: Status) -> dict[str, int]:
    """Return the numbers of finished games or tasks by kind: solved or done, unsolved, failed."""
    outcomes = Counter(trace.outcome for trace in status.traces.values())
    failed = sum(count for outcome, count in outcomes.items() if outcome.endswith("_failed"))
    solved = "solved" if status.plan.benchmark.graph == "game" else "done"
    unsolved = outcomes["unsolved"]
    return {solved: outcomes.total() - unsolved - failed, "unsolved": unsolved, "failed": failed}


def lines(status: Status, start: tuple[float, float]) -> str:
    """Return the progress of a run in one line, and a line for each thing that slows it down.

    Args:
        status: The state of the run.
        start: The time at which this session began (monotonic seconds), and the share of the run that was done then.
    """
    now, retries = time.monotonic(), status.models.waiting.retries
    failed = [str(trace.why) for trace in status.traces.values() if trace.outcome.endswith("_failed")]
    crowded = [pace for pace in status.models.paces.values() if pace.places < pace.most]
    return "\n".join(
        [
            line(status, now - start[0], start[1]),
            *([f"{len(failed)} failed, the last: {visible(failed[-1])}"[:79]] if failed else []),
            *([f"{retries} waiting on retries"] if retries else []),
            *(f"an endpoint is crowded: {int(pace.places)} of {pace.most} places" for pace in crowded),
            *stalled(status.stats, now, "guess" if status.plan.benchmark.graph == "game" else "respond"),
        ]
    )


def line(status: Status, seconds: float, before: float = 0.0) -> str:
    """Return the progress of a run in one line of about 80 columns, `seconds` after this session began.

    The time left is that of the share of the run that was done since, in proportion; `before` is the share at the beginning.
    Until a game has ended it is a maximum, as for games that use all their rounds, and told after the first round.
    """
    share = done(status)
    known = status.traces or max(status.latest.playing.values(), default=1) > 1
    left = seconds * (1 - share) / (share - before) if known and share > before else 0.0
    return timed(counts(status), seconds, left, "~" if status.traces else "at most ~")


def timed(counts: str, seconds: float, left: float, about: str = "~") -> str:
    """Return counts with the seconds that have passed, and `about` those that are left if they are known (not 0)."""
    return f"{counts}, {duration(seconds)} so far" + (f", {about}{duration(left)} left" if left >= 1 else "")


def counts(status: Status) -> str:
    """Return the numbers of games or tasks, rounds and calls of a run so far, and its cost."""
    traces = list(status.traces.values())
    what = "games" if status.plan.benchmark.graph == "game" else "tasks"
    parts = [f"{len(traces)}/{status.total} {what}"]
    rounds: Any = [trace.score.parts.get("attempts") or 0 for trace in traces]
    rounds += status.latest.playing.values()
    parts += [counted(sum(rounds), "round")] if what == "games" else []
    return ", ".join([*parts, spent(status.stats)])


def spent(stats: CallStats) -> str:
    """Return the number of calls so far, and their cost."""
    return f"{stats.calls:,} calls" + (f", ${stats.cost:.2f}" if stats.cost else "")


def doing(status: Status) -> list[str]:
    """Return a line with the step under way in the game that asked last, and its last judged guess; none for other tasks."""
    episode, question = status.latest.episode, status.latest.question
    if not episode or not question or "turn" not in episode.state or status.plan.benchmark.graph != "game":
        return []
    most = getattr(status.plan.settings, "max_rounds", 1)
    step = STEPS.get(question.step, "judging")
    told = f"{episode.sample.id}: round {max(question.round, 1)} of {most}, {step}"
    turns = enumerate([*episode.state["history"], episode.state["turn"]], 1)
    if judged := [(number, turn) for number, turn in turns if "verdict" in turn]:
        number, turn = judged[-1]
        guess = f"“{visible(turn['guess'])[:30]}”" if turn.get("guess") else "no guess"
        told += f"; round {number}: {guess} {'counted' if turn['verdict'] else 'missed'}"
    return [told]


def stalled(stats: CallStats, now: float, respond: str = "guess") -> list[str]:
    """Return lines that list the calls in flight, longest first; none if a reply came in the last `STALL_S` seconds.

    `now` is the time of the monotonic clock in seconds; `respond` is the word for the step of that name.
    """
    since = now - stats.replied
    if not stats.open or since < STALL_S:
        return []
    waiting = sorted((started, key, model) for key, (started, model) in stats.open.items())
    lines = [f"no reply for {since:.0f} s; {len(waiting)} calls in flight:"]
    for started, key, model in waiting[:SHOWN]:
        sample, repeat, number, step, *_ = key.rsplit("/", 6)
        step = step.replace("respond", respond).replace("_", " ")
        place = f"{sample}, repeat {repeat}, round {number}, {step}"
        lines.append(f"  {now - started:.0f} s  {model}  {place}")
    return lines + ([f"  and {len(waiting) - SHOWN} more"] if len(waiting) > SHOWN else [])


def _warn(status: Status, say: Callable[[str], object]) -> None:
    for warning in status.models.warnings:
        say(f"warning: {warning}")
    if status.damaged:
        say(f"warning: {damage(status.damaged)}: those calls are made again")


def damage(lines: Sequence[int]) -> str:
    """Return a text that names the unreadable lines of a journal by number, the first five of them."""
    numbers = ", ".join(map(str, lines[:5]))
    more = f" and {len(lines) - 5} more" if len(lines) > 5 else ""
    return f"calls.jsonl is damaged in line {numbers}{more}"
