"""What exporting a run takes, by its walks: peak memory of a process for each tool's format, and its seconds.

    python -m tests.bench.exports [--walks 100 1000 10000] [--rounds 3] [--tools inspect otel]

The run is synthetic: one game is played against the fake server and told again for every sample, traces and journal
alike. Nothing is drawn by a seed in it, so that each walk's requests have the keys of the journal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lotbench.config.experiment import digest
from lotbench.integrations import EXPORTERS
from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer
from tests.views import ONE, told_again

PROGRAM = """
import resource, sys
from lotbench.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
sys.exit(code)
"""


def made_run(root: Path, walks: int, rounds: int) -> Path:
    """A run folder of so many walks, each of a sample of its own."""
    sampling = {role: {"seed": False} for role in ("candidate", "judge", "oracle")}
    with FakeServer(game_rule(solve=0.0)) as server:
        settings = {"max_rounds": rounds, "arm": "caption"}
        asyncio.run(
            play(server, root, limit=None, samples=(ONE,), settings=settings, sampling=sampling, check=False)
        )
    [place] = root.iterdir()
    told_again(place, walks, 1)
    table = json.loads((place / "run.json").read_text(encoding="utf-8"))
    samples = [
        json.loads(line) for line in (place / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    table["recorded"] |= {"samples": digest(samples), "of": walks, "pictures": {}}
    (place / "run.json").write_text(json.dumps(table), encoding="utf-8")
    return place


def measured(tool: str, run: Path, out: Path) -> tuple[float, float, int]:
    """Peak megabytes, seconds, and bytes written of one export; every walk must have its calls."""
    command = [sys.executable, "-c", PROGRAM, "export", str(run), "--to", tool, "--out", str(out)]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    took = time.perf_counter() - begun
    written = [path for path in out.rglob("*") if path.is_file()]
    for path in written:
        assert b'"whole": false' not in (path.read_bytes() if path.suffix == ".jsonl" else b"")
    return float(done.stderr.splitlines()[-1]), took, sum(path.stat().st_size for path in written)


def main() -> None:
    """Make the runs, export each, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", nargs="+", choices=sorted(EXPORTERS), default=sorted(EXPORTERS))
    given = parser.parse_args()
    print("| walks | tool | peak MB | seconds | MB written |\n| --- | --- | --- | --- | --- |", flush=True)
    for walks in given.walks:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LOTBENCH_HOME"] = f"{folder}/home"
            run = made_run(Path(folder, "runs"), walks, given.rounds)
            for tool in given.tools:
                peak, took, size = measured(tool, run, Path(folder, tool))
                row = f"| {walks:,} | {tool} | {peak:.0f} | {took:.1f} | {size / 1e6:.1f} |"
                print(row, flush=True)


if __name__ == "__main__":
    main()
