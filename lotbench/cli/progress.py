"""The progress of a run while it goes on: a live display on a terminal, plain lines in a pipe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from lotbench.calls.caller import CallStats
from lotbench.report.markdown import duration
from lotbench.run.session import Status, Watch

TERMINAL_S = 0.25
PIPE_S = 15.0
STALL_S = 60.0
"""The seconds without any reply after which the calls in flight are listed."""
SHOWN = 5
BAR = 8
"""The width of the progress bar in characters."""


def watch(stream: TextIO) -> Watch:
    """Return a display of a run's progress that prints to `stream`: live on a terminal, else plain lines."""
    return _on_terminal(stream) if stream.isatty() else _in_pipe(stream)


def _in_pipe(stream: TextIO) -> Watch:
    async def show(status: Status) -> None:
        started, begun = time.monotonic(), len(status.traces)
        _warn(status, lambda line: print(line, file=stream, flush=True))
        print(f"run: {status.path}", file=stream, flush=True)
        try:
            while True:
                await asyncio.sleep(PIPE_S)
                print(line(status, time.monotonic() - started, begun), file=stream, flush=True)
                for waited in stalled(status.stats, time.monotonic()):
                    print(waited, file=stream, flush=True)
        finally:
            print(line(status, time.monotonic() - started, begun), file=stream, flush=True)

    return show


def _on_terminal(stream: TextIO) -> Watch:
    async def show(status: Status) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        # No markup: a path and a warning are only text.
        console, started, begun = Console(file=stream, markup=False), time.monotonic(), len(status.traces)
        _warn(status, console.print)
        console.print(f"run: {status.path}", highlight=False)

        def table() -> Table:
            grid = Table.grid(padding=(0, 1))
            bar = ProgressBar(total=max(status.total, 1), completed=len(status.traces), width=BAR)
            grid.add_row(bar, line(status, time.monotonic() - started, begun))
            for waited in stalled(status.stats, time.monotonic()):
                grid.add_row("", Text(waited))
            return grid

        with Live(table(), console=console, auto_refresh=False, transient=False) as live:
            try:
                while True:
                    await asyncio.sleep(TERMINAL_S)
                    live.update(table(), refresh=True)
            finally:
                live.update(table(), refresh=True)

    return show


def line(status: Status, seconds: float, begun: int = 0) -> str:
    """Return the progress of a run in one line; beside the bar it fits 80 columns unless tasks fail or calls have to wait.

    Args:
        status: The state of the run.
        seconds: The seconds since this session began.
        begun: The number of tasks that were finished before this session.
    """
    stats, traces = status.stats, list(status.traces.values())
    solved = sum(trace.outcome == "solved" for trace in traces)
    failed = sum(trace.outcome.endswith("_failed") for trace in traces)
    what = "games" if status.plan.benchmark.graph == "game" else "tasks"
    parts = [f"{len(traces)}/{status.total} {what}" + (f", {solved} solved" if solved else "")]
    parts += [f"{failed} failed"] if failed else []
    rounds: Any = [trace.score.parts.get("attempts") or 0 for trace in traces]
    parts += [f"{sum(rounds):,} rounds"] if what == "games" else []
    parts.append(f"{stats.calls:,} calls")
    if stats.cost:
        parts.append(f"${stats.cost:.2f}")
    fresh = len(traces) - begun
    if fresh > 0 and len(traces) < status.total:
        parts.append(f"{duration(seconds / fresh * (status.total - len(traces)))} left")
    if status.models.waiting.retries:
        parts.append(f"{status.models.waiting.retries} waiting on retries")
    for pace in status.models.paces.values():
        if pace.places < pace.most:
            parts.append(f"an endpoint is crowded: {int(pace.places)} of {pace.most} places")
    return ", ".join(parts)


def stalled(stats: CallStats, now: float) -> list[str]:
    """Return lines that list the calls in flight, longest first; none if a reply came in the last `STALL_S` seconds.

    `now` is the time of the monotonic clock in seconds.
    """
    since = now - stats.replied
    if not stats.open or since < STALL_S:
        return []
    waiting = sorted((started, key, model) for key, (started, model) in stats.open.items())
    lines = [f"no reply for {since:.0f} s; {len(waiting)} calls in flight:"]
    lines += [f"  {now - started:.0f} s  {model}  {key}" for started, key, model in waiting[:SHOWN]]
    return lines + ([f"  and {len(waiting) - SHOWN} more"] if len(waiting) > SHOWN else [])


def _warn(status: Status, say: Callable[[str], object]) -> None:
    for warning in status.models.warnings:
        say(f"warning: {warning}")
    if status.damaged:
        say(f"warning: {damage(status.damaged)}: those calls are made again")


def damage(lines: Sequence[int]) -> str:
    """Return a text that names the unreadable lines of a journal by number, the first five of them."""
    numbers = ", ".join(map(str, lines[:5]))
    return f"calls.jsonl is damaged in line {numbers}" + (
        f" and {len(lines) - 5} more" if len(lines) > 5 else ""
    )
