"""A soak: runs against a server that fails, killed again and again, with the viewer and a table to play at open beside.

    python -m tests.bench.soak [--hours 12 --times 12] [--kill-s 300] [--faults mixed --rate 0.3]

All processes have a clock that runs --times as fast (`tests.clock`), so twelve hours of calls, retries, kills and people
who come and go take one; only what a processor does takes as long as ever. A run is begun, killed -9 at random moments
and gone on with until it ends, then the next one is begun. Beside it `lotbench view` is asked for every kind of page, and
at `lotbench play --browser` people sit down, answer, finish or leave. Prints a line for each run, and what memory did
over the second half: its slope with a 95 % interval. Ends with exit 1 if a finished call was lost or made twice, a run
did not end whole, or memory surely grew by more than a twentieth in that half.
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

import numpy as np
from scipy import stats

from tests.bench.joins import sent
from tests.killing import ROOT, journaled, lost, program, running, serving, the_run
from tests.runner import CONCURRENCY

SAMPLES, REPEATS, ROUNDS = 8, 3, 10
BLOCKS = 12
"""Means of the memory over so many equal parts of the second half are what its slope is of: neighbours are alike."""


@contextmanager
def pages(home: Path, *arguments: str, times: float) -> Iterator[tuple[str, int]]:
    """A command that serves pages, in a process of its own; its address and its process id."""
    command = [*program("tests.runner", times), "cli", *arguments, "--no-browser", "--port", "0"]
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


def playing(address: str, stop: threading.Event, seen: list[int], who: str) -> None:
    """Sit down under one name after the other and answer what is asked; every third leaves in the middle of a game."""
    number = 0
    while not stop.wait(1):
        number += 1
        code, said = sent(f"{address}join", {"name": f"{who} {number}", "agree": ["yes"]})
        if code != 200:
            continue
        seat = address + said.split('"')[3].removesuffix("index.html")
        for _ in range(8 if number % 3 == 0 else 80):
            page = opened(f"{seat}index.html")
            asked = re.search(r'name="version" value="(\d+)"', page)
            field = re.search(r'name="(filling|question)"', page)
            if asked and field:
                text = "a wooden spoon" if field[1] == "filling" else "Is it made of wood?"
                seen.append(sent(f"{seat}answer", {"version": asked[1], field[1]: text})[0])
            if stop.wait(0.2) or "last game" in page:
                # Whoever has ended looks at every game again.
                seen += [bool(opened(f"{seat}{game}")) for game in re.findall(r'href="(game/[^"]+)"', page)]
                break


def soaked(url: str, place: Path, given: argparse.Namespace, ends: float) -> tuple[int, int, int]:
    """One run, killed until it ends or the time is over; its kills, calls and walks."""
    out, kills = place / "runs", 0
    arguments: list[str | Path] = ["begin", url, out, str(SAMPLES), str(REPEATS), str(ROUNDS)]
    while True:
        patience = given.kill_s / given.times * random.uniform(0.6, 1.4)
        with running(place / "home", *arguments, times=given.times) as process:
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
    for name, value in (("hours", 12.0), ("times", 12.0), ("kill-s", 300.0), ("rate", 0.3)):
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--faults", default="mixed")
    parser.add_argument("--latency", default="1.2-4.8")
    parser.add_argument("--people", type=int, default=2, help="how many sit at the table at once")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(_soak(given, Path(folder)))


def _soak(given: argparse.Namespace, place: Path) -> int:
    begun, stop = time.monotonic(), threading.Event()
    ends = begun + 3600 * given.hours / given.times
    looked: list[int] = []
    answered: list[int] = []
    memory: dict[str, list[tuple[float, float]]] = {"view": [], "play": []}
    for folder in ("runs", "done"):
        (place / folder).mkdir()
    with (
        serving(0, "--latency", "0.5", times=given.times) as calm,
        _sites(place, calm.url, given) as (view, table),
    ):
        workers = [
            threading.Thread(target=looking, args=(view[0], stop, looked)),
            threading.Thread(
                target=_watched, args=({"view": view[1], "play": table[1]}, memory, stop, given.times)
            ),
        ]
        for who in range(given.people):
            named = (table[0], stop, answered, f"person {'abcdefgh'[who]}")
            workers.append(threading.Thread(target=playing, args=named))
        for worker in workers:
            worker.start()
        fine, number = True, 0
        while time.monotonic() < ends:
            number += 1
            fine &= _one_run(number, place, given, ends)
        stop.set()
        for worker in workers:
            worker.join()
    took = time.monotonic() - begun
    people = len(list((place / "people").glob("*/run.json")))
    print(f"{len(looked)} pages looked at, {answered.count(200)} answers of {people} people, {took:.0f} s")
    grown = [_grown(name, found) for name, found in memory.items()]
    fine &= bool(looked) and not any(grown)
    print("as it should be" if fine else "NOT AS IT SHOULD BE")
    return 0 if fine else 1


@contextmanager
def _sites(
    place: Path, calm: str, given: argparse.Namespace
) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The viewer of the run that is under way, and a table to play at; address and process id of each."""
    roles = ["--judge", f"judge@{calm}", "--oracle", f"oracle@{calm}", "--limit", "2", "--max-rounds", "5"]
    with (
        pages(place / "home", "view", str(place / "runs"), times=given.times) as view,
        pages(
            place / "home2", "play", "--browser", "--out", str(place / "people"), *roles, times=given.times
        ) as table,
    ):
        yield view, table


def _one_run(number: int, place: Path, given: argparse.Namespace, ends: float) -> bool:
    """Begin a run, kill it until it has ended, print what became of it; whether that is as it should be."""
    faults = ("--faults", given.faults, "--rate", str(given.rate), "--seed", str(number))
    with serving(0, "--latency", given.latency, *faults, times=given.times) as busy:
        kills, calls, walks = soaked(busy.url, place, given, ends)
        log = busy.log()
    twice = lost(log)
    fine = walks == SAMPLES * REPEATS and twice <= kills * CONCURRENCY and log["finished"] - calls == twice
    os.replace(the_run(place / "runs"), place / "done" / f"{number:04}")
    print(
        f"run {number}: {calls} calls, {walks} walks, {kills} kills, {twice} replies in flight lost; "
        f"{'as it should be' if fine else 'NOT AS IT SHOULD BE'}",
        flush=True,
    )
    return fine


def _grown(name: str, found: list[tuple[float, float]]) -> bool:
    """Print what the memory of a server did; whether it surely grew by more than a twentieth in the second half."""
    half = np.array(found[len(found) // 2 :])
    parts = [part.mean(axis=0) for part in np.array_split(half, BLOCKS)]
    hours, megabytes = np.array(parts).T
    fit = stats.linregress(hours, megabytes)
    reach = float(stats.t.ppf(0.975, BLOCKS - 2)) * fit.stderr
    low, high = fit.slope - reach, fit.slope + reach
    print(
        f"{name}: {found[0][1]:.0f} MB first, {found[len(found) // 2][1]:.0f} half way, {found[-1][1]:.0f} at the end, "
        f"{max(size for _, size in found):.0f} at most; over the second half {fit.slope:+.2f} MB an hour of the fast "
        f"clock ({low:+.2f} to {high:+.2f})"
    )
    return bool(low * (hours[-1] - hours[0]) > megabytes.mean() / 20)


def _watched(
    pids: dict[str, int], memory: dict[str, list[tuple[float, float]]], stop: threading.Event, times: float
) -> None:
    """Note the memory of processes every 5 s, by hours of their clocks."""
    begun = time.monotonic()
    while not stop.wait(5):
        for name, pid in pids.items():
            memory[name].append(((time.monotonic() - begun) * times / 3600, memory_mb(pid)))


if __name__ == "__main__":
    main()
