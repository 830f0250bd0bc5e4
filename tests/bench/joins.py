"""What people who sit down cost `lotbench play --browser`: memory a join, and how long a page takes meanwhile.

    python -m tests.bench.joins [--joins 72]

The server is the command line's own process, with the fake server as judge and oracle. Names join one after the other,
each as soon as the one before it was answered, and nobody plays on. A page is opened all the while.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.bench.long_run import peak_mb
from tests.rules import game_rule
from tests.server import FakeServer

PROGRAM = "import sys; from lotbench.cli import main; sys.exit(main(sys.argv[1:]))"


def sent(address: str, table: dict[str, object]) -> tuple[int, str]:
    """The status and the text of the answer to a message."""
    request = urllib.request.Request(
        address, json.dumps(table).encode(), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def watched(address: str, took: list[float], stop: threading.Event) -> None:
    """Open the first page again and again."""
    while not stop.wait(0.05):
        start = time.perf_counter()
        with urllib.request.urlopen(address, timeout=60) as got:
            got.read()
        took.append(time.perf_counter() - start)


def main() -> None:
    """Join and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--joins", type=int, default=72)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, FakeServer(game_rule(solve=0.0)) as server:
        flags = [
            "--judge",
            f"judge@{server.url}",
            "--oracle",
            f"oracle@{server.url}",
            "--out",
            f"{folder}/runs",
        ]
        command = [sys.executable, "-c", PROGRAM, "play", "--browser", "--no-browser", "--port", "0", *flags]
        environment = {**os.environ, "LOTBENCH_HOME": f"{folder}/home"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                assert process.stdout is not None
                _join(process.stdout.readline().split()[1], process.pid, given.joins)
                print(f"{len(list(Path(folder, 'runs').glob('*/run.json')))} run folders")
            finally:
                process.terminate()


def _join(address: str, pid: int, joins: int) -> None:
    took: list[float] = []
    stop = threading.Event()
    thread = threading.Thread(target=watched, args=(address, took, stop))
    thread.start()
    print(f"before: {peak_mb(pid):.0f} MB")
    refused = 0
    for number in range(joins):
        code, said = sent(f"{address}join", {"name": f"person {number}", "agree": ["yes"]})
        if code != 200:
            refused += 1
            last = json.loads(said)["error"]
            continue
        seat = address + re.sub(r"index\.html$", "", json.loads(said)["go"])
        for _ in range(600):
            with urllib.request.urlopen(seat + "index.html", timeout=60) as got:
                if b'data-wait="' not in got.read():
                    break
            time.sleep(0.05)
        if number in (0, joins // 2):
            print(f"after {number + 1} joins: {peak_mb(pid):.0f} MB", flush=True)
    stop.set()
    thread.join()
    print(f"after {joins} joins, {refused} of them refused: {peak_mb(pid):.0f} MB")
    if refused:
        print(f"the last was told: {last}")
    print(
        f"the first page meanwhile: {len(took)} times, slowest {max(took):.2f} s, median {sorted(took)[len(took) // 2]:.3f} s"
    )


if __name__ == "__main__":
    main()
