"""Many short runs in shards, one after the other: how many end in order, and what the others say.

    python -m tests.bench.shard_runs [--runs 100] [--shards 2]

Each is the command line's own process with Ray, against the fake server; it ends in order if it exits 0, every game is
finished, no shards folder is left, and nothing of a crash was said. Prints a line for each that does not, and the count.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.killing import ROOT, serving

CRASH = re.compile(r"Check failed|core dumped|Fatal Python error|Traceback|SIGABRT|terminate called")


def main() -> None:
    """Run and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--shards", type=int, default=2)
    given = parser.parse_args()
    fine, begun = 0, time.monotonic()
    with serving() as server:
        for number in range(1, given.runs + 1):
            trouble = _run(server.url, given.shards)
            fine += not trouble
            took = time.monotonic() - begun
            if trouble or number % 10 == 0:
                print(
                    f"{number}: {trouble or 'fine so far'}; {fine} of {number} in order, {took:.0f} s",
                    flush=True,
                )
    print(f"{fine} of {given.runs} runs in {given.shards} shards ended in order")
    sys.exit(fine < given.runs)


def _run(url: str, shards: int) -> str:
    """What was wrong with one run; "" if nothing was."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "runs"
        flags = ["--model", f"candidate@{url}", "--judge", f"judge@{url}", "--oracle", f"oracle@{url}"]
        size = [
            "--limit",
            "4",
            "--repeats",
            "1",
            "--max-rounds",
            "2",
            "--set",
            "arm=caption",
            "--concurrency",
            "4",
        ]
        command = [sys.executable, "-m", "tests.runner", "cli", "evaluate", *flags, *size]
        ended = subprocess.run(
            [*command, "--shards", str(shards), "--out", str(out)],
            cwd=ROOT,
            env=os.environ | {"LOTBENCH_HOME": f"{place}/home"},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        said = ended.stdout + ended.stderr
        if ended.returncode:
            return f"exit {ended.returncode}: {said[-300:]!r}"
        if found := CRASH.search(said):
            return f"said {found[0]!r}"
        [run] = out.iterdir()
        walks = (run / "traces.jsonl").read_bytes().count(b"\n")
        return (
            ""
            if walks == 4 and not (run / "shards").exists()
            else f"{walks} walks, {sorted(os.listdir(run))}"
        )


if __name__ == "__main__":
    main()
