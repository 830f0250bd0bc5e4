"""A run in two shards beside the same run in one process: what it takes, and how exactly a cost ceiling is kept.

    python -m tests.bench.shard_costs [--limit 40 --repeats 3 --rounds 6] [--concurrency 60] [--turns 1]

First the run for 1 and 2 shards by turns: wall, and CPU of all its processes, Ray's own among them. Then a run in two shards
with a ceiling of half of what the whole costs: one worker is killed on the way, the run stops at the ceiling and is gone on
with, and its traces are compared with those of one process. Exit 1 if they differ, if the ceiling was overspent by more
than the calls in flight, or if a finished call was made again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from lotbench.edge.calls.journal import read_journal
from tests.killing import Server, essence, journaled, running, serving, the_run

STOPPED = 3
"""Exit code of a run that a ceiling stopped."""
USD = (10.0, 10.0, 30.0)
"""Per million tokens: of input, cached input and output."""


@dataclass
class Used:
    """CPU seconds by process: of all that have this run's store, and of the workers that play."""

    seconds: dict[int, float]
    workers: set[int]

    def of(self, *, workers: bool) -> float:
        """The sum over all, or over the workers alone."""
        return sum(cpu for pid, cpu in self.seconds.items() if not workers or pid in self.workers)


def processes(home: Path) -> Iterator[tuple[int, bool]]:
    """The processes of the run with this store, and whether each is a worker that plays."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"LOTBENCH_HOME={home}".encode() in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name), (place / "cmdline").read_bytes().startswith(b"ray::play")


@contextmanager
def watched(home: Path) -> Iterator[Used]:
    """Look at the CPU of a run's processes four times a second; what each used after its last look is missed."""
    used, over = Used({}, set()), threading.Event()

    def watch() -> None:
        while not over.wait(0.25):
            for pid, worker in processes(home):
                with suppress(OSError):
                    found = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                    used.seconds[pid] = (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")
                    used.workers |= {pid} if worker else set()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield used
    finally:
        over.set()
        thread.join()


def cost(run: Path) -> tuple[float, float]:
    """What the calls in a run's journal cost, together and the dearest, in US dollars."""
    usages = [made.reply.usage for made in read_journal(run / "calls.jsonl") if made.source == "call"]
    each = [(USD[0] * one.input_tokens + USD[2] * one.output_tokens) / 1e6 for one in usages]
    return sum(each), max(each)


class Bench:
    """Runs of one size against one server, each with a store and a folder of its own."""

    def __init__(self, server: Server, place: Path, options: argparse.Namespace) -> None:
        self.server, self.place, self.most = server, place, options.concurrency
        models = {role: f"{role}@{server.url}" for role in ("candidate", "judge", "oracle")}
        priced = "".join(f'"{name}" = {list(USD)}\n' for name in models.values())
        (place / "prices.toml").write_text(f'date = "2026-01-01"\n[usd_per_million]\n{priced}', "utf-8")
        os.environ["LOTBENCH_PRICES"] = str(place / "prices.toml")
        cast = ("--model", models["candidate"], "--judge", models["judge"], "--oracle", models["oracle"])
        size = ("--limit", options.limit, "--repeats", options.repeats, "--max-rounds", options.rounds)
        self.asked = [*cast, *map(str, (*size, "--concurrency", options.concurrency))]

    def play(self, name: str, shards: int) -> Path:
        """Play the whole and print what it took; returns the run."""
        home, started = self.place / f"home-{name}", time.monotonic()
        command: list[str | Path] = [
            "cli",
            "evaluate",
            *self.asked,
            "--shards",
            str(shards),
            "--out",
            self.place / name,
        ]
        with watched(home) as used, running(home, *command) as process:
            said, _ = process.communicate()
            assert process.returncode == 0, said
        wall, calls = time.monotonic() - started, journaled(self.place / name)
        all_ms, play_ms = (1e3 * used.of(workers=one) / calls for one in (False, True))
        alone = f", of the workers {play_ms:.2f}" if shards > 1 else ""
        print(f"{shards} shards: {calls} calls, {wall:.1f} s, CPU a call {all_ms:.2f} ms{alone}", flush=True)
        return the_run(self.place / name)

    def capped(self, ceiling: float) -> tuple[Path, list[str]]:
        """Play in two shards up to a ceiling, a worker killed on the way; returns the run and what is wrong."""
        home, out, before = self.place / "home-capped", self.place / "capped", self.server.log()
        command: list[str | Path] = [
            "cli",
            "evaluate",
            *self.asked,
            "--shards",
            "2",
            "--cost-limit",
            f"{ceiling:.6f}",
            "--out",
            out,
        ]
        with running(home, *command) as process:
            while self.server.log()["finished"] - before["finished"] < self.most * 5:
                assert process.poll() is None, process.communicate()[0]
                time.sleep(0.05)
            os.kill(next(pid for pid, worker in processes(home) if worker), signal.SIGKILL)
            said, _ = process.communicate()
        wrong = [] if process.returncode == STOPPED else [f"exit {process.returncode}: {said[-400:]}"]
        (spent, dearest), run = cost(the_run(out)), the_run(out)
        lost = self.server.log()["finished"] - before["finished"] - journaled(out)
        over = spent + lost * dearest - ceiling
        print(
            f"ceiling ${ceiling:.4f}: ${spent:.4f} in the journal, {lost} replies lost with the worker, over by at most "
            f"{max(over, 0) / dearest:.1f} calls of the dearest kind, {self.most} in flight"
        )
        wrong += [f"overspent by ${over:.4f}"] if over > self.most * dearest else []
        wrong += [f"{lost} replies lost"] if lost > self.most else []
        with running(
            home, "cli", "resume", run, "--shards", "2", "--cost-limit", f"{4 * ceiling:.6f}"
        ) as process:
            said, _ = process.communicate()
        return run, wrong + (
            [] if process.returncode == 0 else [f"resume: exit {process.returncode}: {said[-400:]}"]
        )


def main() -> None:
    """Measure, print, and judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("limit", 40), ("repeats", 3), ("rounds", 6), ("concurrency", 60), ("turns", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--latency", default="0.05-0.1")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, serving(0, "--latency", options.latency) as server:
        bench = Bench(server, Path(place), options)
        for turn in range(options.turns):
            order = (1, 2) if turn % 2 == 0 else (2, 1)
            runs = {shards: bench.play(f"{turn}-{shards}", shards) for shards in order}
        before = server.log()["repeated"]
        run, wrong = bench.capped(cost(runs[1])[0] / 2)
        after = server.log()["repeated"]
        again = sum(
            count - 2 * options.turns - 1 for count in after.values() if count > 2 * options.turns + 1
        )
        print(f"calls made once more after the kill: {again} (of {len(before)})")
        wrong += [f"{again} calls made again"] if again > options.concurrency else []
        wholes = [essence(one) for one in (runs[1], runs[2], run)]
        wrong += [] if wholes[0][1] == wholes[1][1] == wholes[2][1] else ["traces differ"]
        print(json.dumps(wrong) if wrong else "traces are equal; as it should be")
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
