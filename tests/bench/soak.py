"""A soak: runs against a server that fails, killed again and again, with the viewer and a table to play at open beside.

    python -m tests.bench.soak [--minutes 60] [--kill-s 25] [--faults mixed --rate 0.3]

Time runs twelve times as fast as at a real server, whose calls take that much longer: an hour here has the calls of
twelve there, and a kill each 25 s is one each five minutes. A run is begun, killed -9 at random moments and gone on with
until it ends, then the next one is begun. Beside it `lotbench view` is asked for every kind of page, and at `lotbench
play --browser` somebody sits down and answers. Prints a line for each run and each minute; ends with exit 1 if a finished
call was lost or made twice, a run did not end whole, or the memory of a server of pages grew by more than a half after
the first third.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
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

from tests.bench.joins import PROGRAM, sent
from tests.killing import ROOT, journaled, lost, running, serving, the_run
from tests.runner import CONCURRENCY

SAMPLES, REPEATS, ROUNDS = 8, 3, 10


@contextmanager
def pages(home: Path, *arguments: str) -> Iterator[tuple[str, int]]:
    """A command that serves pages, in a process of its own; its address and its process id."""
    command = [sys.executable, "-c", PROGRAM, *arguments, "--no-browser", "--port", "0"]
    environment = os.environ | {"LOTBENCH_HOME": str(home)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1], process.pid
        finally:
            process.terminate()


def memory_mb(pid: int) -> float:
    """The memory of a process now, in MB."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found is not None
    return int(found[1]) / 1024


def opened(address: str) -> str:
    """A page; "" if it could not be had."""
    try:
        with urllib.request.urlopen(address, timeout=60) as got:
            return str(got.read().decode())
    except (urllib.error.HTTPError, OSError):
        return ""


def looking(address: str, stop: threading.Event, seen: list[int]) -> None:
    """Follow the links of the viewer, a run and a game a time."""
    while not stop.wait(1):
        for run in re.findall(r'href="(run/[^"]+)"', opened(address))[:3]:
            page = opened(address + run)
            games = re.findall(r'href="\.\./(game/[^"]+)"', page)
            seen.append(len(page))
            if games:
                seen.append(len(opened(address + random.choice(games))))


def playing(address: str, stop: threading.Event, seen: list[int]) -> None:
    """Sit down under one name after the other and answer what is asked."""
    number = 0
    while not stop.wait(1):
        number += 1
        code, said = sent(f"{address}join", {"name": f"person {number}", "agree": ["yes"]})
        if code != 200:
            continue
        seat = address + said.split('"')[3].removesuffix("index.html")
        for _ in range(30):
            page = opened(f"{seat}index.html")
            asked = re.search(r'name="version" value="(\d+)"', page)
            field = re.search(r'name="(filling|question)"', page)
            if asked and field:
                text = "a wooden spoon" if field[1] == "filling" else "Is it made of wood?"
                seen.append(sent(f"{seat}answer", {"version": asked[1], field[1]: text})[0])
            if stop.wait(0.5) or "last game" in page:
                break


def soaked(url: str, place: Path, given: argparse.Namespace, ends: float) -> tuple[int, int, int]:
    """One run, killed until it ends or the time is over; its kills, calls and walks."""
    out, kills = place / "runs", 0
    arguments: list[str | Path] = ["begin", url, out, str(SAMPLES), str(REPEATS), str(ROUNDS)]
    while True:
        patience = given.kill_s * random.uniform(0.6, 1.4)
        with running(place / "home", *arguments) as process:
            try:
                code = process.wait(600 if time.monotonic() > ends else patience)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
            else:
                assert code == 0, process.stdout.read() if process.stdout else code
                break
        if list(out.glob("*/run.json")):
            arguments = ["resume", the_run(out)]
    walks = (the_run(out) / "traces.jsonl").read_bytes().count(b"\n")
    return kills, journaled(out), walks


def main() -> None:
    """Soak, print, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("minutes", 60.0), ("kill-s", 25.0), ("rate", 0.3)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--faults", default="mixed")
    parser.add_argument("--latency", default="0.1-0.4")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(_soak(given, Path(folder)))


def _soak(given: argparse.Namespace, place: Path) -> int:
    begun, fine = time.monotonic(), True
    ends, stop = begun + 60 * given.minutes, threading.Event()
    looked: list[int] = []
    answered: list[int] = []
    memory: dict[str, list[float]] = {"view": [], "play": []}
    server = ("--latency", given.latency, "--faults", given.faults, "--rate", str(given.rate))
    for folder in ("runs", "done"):
        (place / folder).mkdir()
    with serving(0, "--latency", "0.05") as calm, pages(place / "home", "view", str(place / "runs")) as view:
        roles = ["--judge", f"judge@{calm.url}", "--oracle", f"oracle@{calm.url}", "--limit", "2"]
        with pages(place / "home2", "play", "--browser", "--out", str(place / "people"), *roles) as table:
            workers = [
                threading.Thread(target=looking, args=(view[0], stop, looked)),
                threading.Thread(target=playing, args=(table[0], stop, answered)),
                threading.Thread(target=_watched, args=({"view": view[1], "play": table[1]}, memory, stop)),
            ]
            for worker in workers:
                worker.start()
            number = 0
            while time.monotonic() < ends:
                number += 1
                with serving(0, *server, "--seed", str(number)) as busy:
                    kills, calls, walks = soaked(busy.url, place, given, ends)
                    log = busy.log()
                twice, whole = lost(log), walks == SAMPLES * REPEATS
                fine &= whole and twice <= kills * CONCURRENCY and log["finished"] - calls == twice
                # The viewer shows the run that is under way.
                os.replace(the_run(place / "runs"), place / "done" / f"{number:04}")
                print(
                    f"run {number}: {calls} calls, {walks} walks, {kills} kills, {twice} replies in flight lost; "
                    f"{'as it should be' if fine else 'NOT AS IT SHOULD BE'}",
                    flush=True,
                )
            stop.set()
            for worker in workers:
                worker.join()
    print(
        f"{len(looked)} pages looked at, {answered.count(200)} answers given, {time.monotonic() - begun:.0f} s"
    )
    for name, found in memory.items():
        third = found[len(found) // 3] if found else 0.0
        print(
            f"{name}: {third:.0f} MB after a third, {found[-1]:.0f} MB at the end, {max(found):.0f} MB at most"
        )
        fine &= found[-1] <= 1.5 * third
    print("as it should be" if fine else "NOT AS IT SHOULD BE")
    return 0 if fine else 1


def _watched(pids: dict[str, int], memory: dict[str, list[float]], stop: threading.Event) -> None:
    while not stop.wait(5):
        for name, pid in pids.items():
            memory[name].append(memory_mb(pid))


if __name__ == "__main__":
    main()
