"""A full-size run through mixed faults, beside the same run without one: the same scores, no finished call repeated.

    python -m tests.bench.faults [--samples 108 --repeats 3 --rounds 15] [--rate 0.3] [--concurrency 20]

Prints what came of both; ends with exit 1 if they differ or if a finished call was made twice.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from lotbench.run.evaluate import evaluate_sync
from tests.killing import essence, lost, serving
from tests.playing import players


def main() -> None:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(description="A run through mixed faults.")
    parser.add_argument("--samples", type=int, default=108)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rate", default="0.3")
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--solve", default="0.02")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        sys.exit(_measure(options, Path(place)))


def _measure(options: argparse.Namespace, place: Path) -> int:
    os.environ["LOTBENCH_HOME"] = str(place / "home")
    found, port, repeated = [], 0, 0
    for name, served in (
        ("calm", ()),
        ("rough", ("--faults", "mixed", "--rate", options.rate, "--seed", "1")),
    ):
        # The address is part of the models' names and draws the game: both runs have the same one.
        with serving(port, "--latency", "0.02", "--solve", options.solve, *served) as server:
            port, started = server.port, time.monotonic()
            run = evaluate_sync(
                out=place / name,
                fresh=True,
                limit=options.samples,
                repeats=options.repeats,
                concurrency=options.concurrency,
                settings={"max_rounds": options.rounds},
                **players(server.url),
            )
            log = server.log()
        repeated += lost(log)
        found.append(essence(run.path))
        faults = sum(log["by_fault"].values())
        usage = run.summary["usage"]["calls"]
        print(
            f"{name}: {len(run.traces)} games, {usage} calls, {log['requests']} requests, {faults} faults, "
            f"{time.monotonic() - started:.0f} s, outcomes {run.summary['outcomes']}, "
            f"creativity_score {run.score()}, finished calls repeated: {lost(log)}",
            flush=True,
        )
        print("  faults by kind: " + ", ".join(f"{k} {n}" for k, n in sorted(log["by_fault"].items())))
    same = found[0][0]["scores"] == found[1][0]["scores"] and found[0][1] == found[1][1]
    print(f"scores and traces are {'equal' if same else 'NOT equal'}")
    return 0 if same and not repeated else 1


if __name__ == "__main__":
    main()
