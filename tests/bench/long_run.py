"""What a run of 100,000 walks costs `lotbench view`: its memory, and how long requests take that come at once.

    python -m tests.bench.long_run [--samples 1000] [--repeats 100] [--rounds 3] [--readers 4]

The run is synthetic: one game is played against the fake server and told again for every sample and repeat, traces
and journal alike. The server is the command line's own process. Readers open pages of every kind at once, each the
next one when it has the last; a page that says that it is still being read is opened again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer
from tests.views import ONE, told_again


def made_run(root: Path, samples: int, repeats: int, rounds: int) -> Path:
    """A run folder of so many walks."""
    import asyncio

    with FakeServer(game_rule(solve=0.0)) as server:
        settings = {"max_rounds": rounds, "arm": "caption"}
        asyncio.run(play(server, root, limit=None, samples=(ONE,), settings=settings))
    [place] = root.iterdir()
    told_again(place, samples, repeats)
    return place


@contextmanager
def viewing(root: Path) -> Iterator[tuple[str, int]]:
    """`lotbench view` in a process of its own; its address and its process id."""
    program = "import sys; from lotbench.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "view", str(root), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1], process.pid
        finally:
            process.terminate()


def peak_mb(pid: int) -> float:
    """The most memory that a process ever had, in MB."""
    [line] = [
        one for one in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines() if one.startswith("VmHWM")
    ]
    return int(line.split()[1]) / 1024


class Reader(threading.Thread):
    """Opens pages one after the other, and notes what each took."""

    def __init__(self, base: str, paths: list[str], until: threading.Event) -> None:
        super().__init__(daemon=True)
        self.base, self.paths, self.until = base, paths, until
        self.took: list[tuple[float, str]] = []
        self.shown: dict[str, float] = {}
        """When each page first came as itself."""

    def run(self) -> None:
        begun = time.perf_counter()
        while not self.until.is_set():
            for path in self.paths:
                start = time.perf_counter()
                try:
                    with urllib.request.urlopen(self.base + path, timeout=120) as got:
                        page = got.read()
                except urllib.error.HTTPError as error:
                    page = str(error.code).encode()
                except OSError:
                    page = b'data-wait="": no answer at all'
                now = time.perf_counter()
                self.took.append((now - start, path))
                if b'data-wait="' not in page:
                    self.shown.setdefault(path, now - begun)
            time.sleep(0.1)


def main() -> None:
    """Make the run, open it, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("samples", 1000), ("repeats", 100), ("rounds", 3), ("readers", 4), ("seconds", 300)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--made", help="a runs folder that was made before; begun if it is not there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(given.made or f"{folder}/runs")
        os.environ["LOTBENCH_HOME"] = f"{folder}/home"
        if not root.is_dir():
            made_run(root, given.samples, given.repeats, given.rounds)
        [place] = root.iterdir()
        size = sum(file.stat().st_size for file in place.iterdir() if file.is_file())
        print(f"{given.samples * given.repeats} walks, {size / 1e6:.0f} MB of records", flush=True)
        _measure(root, place.name, given)


def _measure(root: Path, name: str, given: argparse.Namespace) -> None:
    last = f"game/{name}/s{given.samples - 1:06}-{given.repeats}.html"
    group = "sample/none/s000000.html"
    paths = ["index.html", f"run/{name}.html", f"game/{name}/s000000-1.html", last, group]
    stop = threading.Event()
    with viewing(root) as (base, pid):
        before = peak_mb(pid)
        readers = [
            Reader(base, paths[at % len(paths) :] + paths[: at % len(paths)], stop)
            for at in range(given.readers)
        ]
        for reader in readers:
            reader.start()
        ends = time.monotonic() + given.seconds
        while time.monotonic() < ends and any(len(one.shown) < len(paths) for one in readers):
            stop.wait(1)
        stop.wait(20)
        stop.set()
        for reader in readers:
            reader.join()
        took = sorted(one for reader in readers for one in reader.took)
        print(f"memory: {before:.0f} MB before the first request, {peak_mb(pid):.0f} MB at most")
        print(f"{len(took)} requests: slowest {took[-1][0]:.2f} s ({took[-1][1].replace(name, 'RUN')})")
        print(f"median {took[len(took) // 2][0]:.3f} s, 99 % within {took[int(len(took) * 0.99)][0]:.2f} s")
        for path in paths:
            shown = [reader.shown[path] for reader in readers if path in reader.shown]
            slow = max(took for took, which in took if which == path)
            first = f"first shown after {min(shown):.1f} s" if shown else "never shown"
            print(f"  {path.replace(name, 'RUN'):32} slowest {slow:6.2f} s, {first}")


if __name__ == "__main__":
    main()
