"""Kill a run at chosen moments and go on with it: what the kill tests share."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PATIENCE_S = 120.0
JOURNAL = "calls.jsonl"


@dataclass(frozen=True)
class Server:
    """A server process, by its address."""

    url: str

    def log(self) -> dict[str, Any]:
        """What came and went so far."""
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/control/log", timeout=10) as response:
            found: dict[str, Any] = json.load(response)
            return found

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.split(":")[-1].partition("/")[0])


def program(module: str) -> list[str]:
    """The command of a module."""
    return [sys.executable, "-m", module]


@contextlib.contextmanager
def serving(port: int = 0, *options: str) -> Iterator[Server]:
    """A fake server in a process of its own; the same port gives the same game."""
    command = [*program("tests.server"), "--port", str(port), "--no-caches", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process.stdout.readline().strip())
        finally:
            process.terminate()


@contextlib.contextmanager
def running(home: Path, *arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A run in a process of its own, with a store of its own."""
    environment = os.environ | {"LOTBENCH_HOME": str(home)}
    command = [*program("tests.runner"), *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(home: Path, *arguments: str | Path) -> None:
    """Let a run come to its end."""
    with running(home, *arguments) as process:
        told, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, told


def killed_at(moments: Iterable[int], home: Path, out: Path, *arguments: str | Path) -> None:
    """Play a run whose process is killed when its journal has each of these numbers of lines, to its end."""
    for moment in moments:
        with running(home, *arguments) as process:
            stop_at(process, out, moment, signal.SIGKILL)
            assert process.returncode == -signal.SIGKILL
        arguments = ("resume", the_run(out))
    finish(home, *arguments)


def stop_at(process: subprocess.Popen[str], out: Path, lines: int, how: signal.Signals) -> int:
    """Send a signal when the journal in `out` has that many lines; returns how many it has at the end."""
    deadline = time.monotonic() + PATIENCE_S
    while journaled(out) < lines:
        assert process.poll() is None, f"the run ended before it had {lines} calls: {process.stdout.read()}"  # type: ignore[union-attr]
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(how)
    process.wait(PATIENCE_S)
    return journaled(out)


def journaled(out: Path) -> int:
    """How many whole lines the one run in `out` has in its journal."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob(f"*/{JOURNAL}"))


def the_run(out: Path) -> Path:
    """The one run in `out`."""
    (path,) = out.glob("*/run.json")
    return path.parent


def essence(run: Path, *, usage: bool = True) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The summary and the traces of a run without what a clock put there; without `usage`, also without what was used."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    del summary["wall_s"]
    if not usage:
        del summary["usage"]
    text = re.sub(r'"seconds":[0-9.e-]+', '"seconds":0', (run / "traces.jsonl").read_text(encoding="utf-8"))
    traces = [json.loads(line) for line in text.splitlines()]
    return summary, [{name: trace[name] for name in trace if name != "crc"} for trace in traces]


def lost(log: dict[str, Any]) -> int:
    """How many replies a server gave more than once."""
    return sum(count - 1 for count in log["repeated"].values())
