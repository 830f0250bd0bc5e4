"""LiveIdeaBench at its full size against the fake server: memory, journal, time to resume, time to report.

    python -m tests.bench.scale --models 41 --keywords 1180      the paper's size, hours
    python -m tests.bench.scale --models 1                       one model of the 41

Each model is a run of its own, in a process of its own, as `lotbench evaluate` would be. A row a run: walks, calls,
the process's peak memory after a tenth of the walks, after the last and with the report, the journal's size, and what it takes to resume the
finished run (which loads the journal and writes the report again).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.killing import ROOT, serving


def main() -> None:
    """Measure, and print a row a run."""
    if sys.argv[1:2] == ["--inside"]:
        _inside(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=1)
    parser.add_argument("--keywords", type=int, default=1180)
    parser.add_argument("--judges", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, serving(0, "--latency", "0.02") as server:
        folder = Path(place)
        _keywords(folder / "keywords", options.keywords)
        environment = os.environ | {"LOTBENCH_HOME": str(folder / "home")}
        print(
            "| model | walks | calls | s | MB at a tenth | at the last walk | with the report | journal MB | resume s |"
        )
        print("|---|---|---|---|---|---|---|---|---|", flush=True)
        for model in range(options.models):
            given = [server.url, str(folder), str(model), str(options.judges), str(options.concurrency)]
            command = [sys.executable, "-m", "tests.bench.scale", "--inside", *given]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)


def _keywords(folder: Path, count: int) -> None:
    folder.mkdir()
    rows = [
        {"id": f"kw-{n:04}", "language": "en", "keyword": f"keyword {n}", "category": f"Category {n % 22}"}
        for n in range(1, count + 1)
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _inside(url: str, place: str, model: str, judges: str, concurrency: str) -> None:
    from lotbench.run.evaluate import evaluate_sync, resume

    early: list[float] = []

    async def watch(status: Any) -> None:
        import asyncio

        try:
            while True:
                if not early and len(status.traces) >= status.total / 10:
                    early.append(_peak_mb())
                await asyncio.sleep(0.2)
        finally:
            early.append(_peak_mb())

    started = time.monotonic()
    run = evaluate_sync(
        "liveideabench",
        model=f"candidate-{model}@{url}",
        roles={"judge": [f"judge-{n}@{url}" for n in range(int(judges))]},
        data=str(Path(place) / "keywords"),
        out=Path(place) / f"runs-{model}",
        concurrency=int(concurrency),
        watch=watch,
    )
    seconds, peak = time.monotonic() - started, _peak_mb()
    calls = run.path / "calls.jsonl"
    import asyncio

    started = time.monotonic()
    asyncio.run(resume(run.path, check=False))
    resumed = time.monotonic() - started
    with calls.open("rb") as lines:
        count = sum(1 for _ in lines)
    size = calls.stat().st_size / 1e6
    print(
        f"| {model} | {len(run.traces)} | {count} | {seconds:.0f} | {early[0]:.0f} | {early[-1]:.0f} | {peak:.0f} "
        f"| {size:.0f} | {resumed:.1f} |",
        flush=True,
    )


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    main()
