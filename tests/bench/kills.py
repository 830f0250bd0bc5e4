"""Kill -9 a run twenty times at random moments, go on with it each time, and compare it with one never killed.

    python -m tests.bench.kills [--kills 20] [--seed 1] [--samples 6 --repeats 3 --rounds 10] [--faults mixed --rate 0.3]

Prints a row for each kill and what became of the whole; ends with exit 1 if anything differs. What was billed and
thrown away may differ: a call that was in flight at a kill is asked again, and the server may answer it with another
such reply. So the tokens of the journals are compared, and each summary with the tokens of its own two files.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lotbench.calls.journal import DISCARDED
from tests.killing import (
    JOURNAL,
    Server,
    essence,
    finish,
    journaled,
    lost,
    running,
    serving,
    stop_at,
    the_run,
    tokens,
    used,
)
from tests.runner import CONCURRENCY


@dataclass(frozen=True)
class Kill:
    """One kill: the lines of the journal when it was wanted and when it had happened, and what was lost."""

    wanted: int
    lines: int
    finished: int
    lost: int
    seconds: float


def main() -> None:
    """Measure, print, and judge."""
    options = _options()
    with tempfile.TemporaryDirectory() as place:
        sys.exit(_measure(options, Path(place)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill a run at random moments.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--latency", default="0.01-0.05")
    parser.add_argument("--faults", default="none")
    parser.add_argument("--rate", default="0.05", help="share of requests that meet a fault")
    return parser.parse_args()


def _measure(options: argparse.Namespace, place: Path) -> int:
    served = ("--latency", options.latency, "--faults", options.faults, "--rate", options.rate, "--seed", "1")
    size = (str(options.samples), str(options.repeats), str(options.rounds))
    with serving(0, *served) as server:
        started = time.monotonic()
        finish(place / "home-whole", "begin", server.url, place / "whole", *size)
        unbroken_s = time.monotonic() - started
        port, calls = server.port, journaled(place / "whole")
    chance = random.Random(options.seed)
    moments = sorted(chance.sample(range(1, calls - 2 * CONCURRENCY), options.kills))
    with serving(port, *served) as server:
        kills = _killed(server, place, moments, size, chance)
        log = server.log()
    whole, broken = the_run(place / "whole"), the_run(place / "killed")
    same_summary, same_traces = (
        a == b for a, b in zip(essence(whole, usage=False), essence(broken, usage=False), strict=True)
    )
    same_tokens = tokens(whole / JOURNAL) == tokens(broken / JOURNAL)
    counted = all(used(run) == tokens(run / JOURNAL, run / DISCARDED) for run in (whole, broken))
    repeated = log["finished"] - journaled(place / "killed")
    _print(kills)
    print(f"\nunbroken: {calls} calls in {unbroken_s:.1f} s with {CONCURRENCY} in flight")
    print(f"killed {len(kills)} times: {journaled(place / 'killed')} calls in the journal")
    print(f"replies given twice: {lost(log)} ({lost(log) / len(kills):.1f} a kill), all of them in flight")
    print(
        f"summary identical but for wall_s and usage: {same_summary}; traces identical but for seconds: {same_traces}"
    )
    print(f"tokens of the journals identical: {same_tokens}; all that was billed is counted: {counted}")
    fine = (
        same_summary
        and same_traces
        and same_tokens
        and counted
        and repeated == lost(log) <= len(kills) * CONCURRENCY
    )
    print("as it should be" if fine else "NOT AS IT SHOULD BE")
    return 0 if fine else 1


def _killed(
    server: Server, place: Path, moments: list[int], size: tuple[str, ...], chance: random.Random
) -> list[Kill]:
    out, home, kills = place / "killed", place / "home-killed", []
    arguments: list[str | Path] = ["begin", server.url, out, *size]
    for moment in moments:
        started = time.monotonic()
        if moment <= journaled(out):
            continue
        with running(home, *arguments) as process:
            lines = stop_at(process, out, moment, signal.SIGKILL, chance.uniform(0, 0.02))
        log = server.log()
        kills.append(Kill(moment, lines, log["finished"], lost(log), time.monotonic() - started))
        arguments = ["resume", the_run(out)]
    finish(home, *arguments)
    return kills


def _print(kills: list[Kill]) -> None:
    print("| kill | wanted at line | lines in the journal | replies sent | sent twice so far | s |")
    print("|-----:|---------------:|---------------------:|-------------:|------------------:|--:|")
    for number, kill in enumerate(kills, 1):
        cells = (number, kill.wanted, kill.lines, kill.finished, kill.lost, f"{kill.seconds:.1f}")
        print(f"| {' | '.join(map(str, cells))} |")


if __name__ == "__main__":
    main()
