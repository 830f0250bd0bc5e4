"""A run in several processes: whatever their number, one result, one journal, and a kill loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from lotbench.config.experiment import Config, Limits
from lotbench.edge.calls.journal import Entry, Journal, read_journal
from lotbench.edge.calls.shared import SharedReplies, Sharing
from lotbench.edge.files.run_folder import Folder
from lotbench.errors import LimitReached, LotbenchError, RunFolderError, Unescapable, UsageError
from lotbench.run import calling, plan, results, shards
from lotbench.run.evaluate import begin, resume
from lotbench.run.results import Run
from lotbench.types import Key, Reply, Usage
from tests.killing import essence, finish, running, serving, the_run
from tests.playing import SETTINGS, players
from tests.rules import game_rule
from tests.server import FakeServer


def in_threads(
    work: Callable[[Any], Any], given: Sequence[Any], stop: Any, on_stop: Any, retaken: int = 0
) -> list[Any]:
    """What Ray does, without Ray: each in a thread with an event loop of its own."""
    found: dict[int, Any] = {}
    threads = [
        threading.Thread(target=lambda at=at, one=one: found.__setitem__(at, work(one)))
        for at, one in enumerate(given)
    ]
    for thread in threads:
        thread.start()
    told = False
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.02)
        if stop.is_set() and not told:
            told = True
            on_stop()
    return [found[at] for at in range(len(given))]


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "side_by_side", in_threads)


def asked(server: FakeServer, **limits: Any) -> Config:
    given = players(server.url)
    experiment = {"model": given["model"], "roles": given["roles"], "limit": 5, "repeats": 2}
    return Config(
        experiment=plan.Experiment(**experiment, settings=SETTINGS),
        limits=Limits(**({"concurrency": 4} | limits)),
    )


async def played(server: FakeServer, out: Path, k: int, **limits: Any) -> Run:
    return await begin(asked(server, **limits), out=out, fresh=True, shards=k)


@pytest.mark.slow
async def test_the_number_of_shards_changes_no_score(threads: None, tmp_path: Path) -> None:
    with FakeServer(caches=False) as server:
        one, three = [await played(server, tmp_path / str(k), k) for k in (1, 3)]
        # A causal chain, too, is asked for once for all shards.
        assert set(server.log()["repeated"].values()) == {2}
    assert len(three.traces) == 10
    assert essence(one.path) == essence(three.path)
    assert not (three.path / "shards").exists()
    calls = (three.path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    keys = [json.dumps(json.loads(line)["key"], sort_keys=True) for line in calls]
    assert len(set(keys)) == len(keys)


@pytest.mark.slow
async def test_a_limit_stops_every_shard_and_a_higher_one_goes_on(threads: None, tmp_path: Path) -> None:
    with FakeServer() as server:
        with pytest.raises(LimitReached) as caught:
            await played(server, tmp_path, 3, token_limit=9000)
        assert caught.value.run is not None
        left = results.load_run(caught.value.run)
        assert left.summary["complete"] is False
        usage = left.summary["usage"]
        assert 0 < usage["input_tokens"] + usage["output_tokens"] <= 9000 * 1.2
        done = await resume(caught.value.run, shards=2, token_limit=10_000_000)
        assert done.summary["complete"] is True


@pytest.mark.slow
async def test_what_killed_shards_leave_behind_is_merged_when_the_run_is_gone_on_with(
    threads: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer() as server:
        with monkeypatch.context() as patch:
            patch.setattr(shards, "merge", lambda *_: None)
            patch.setattr(shards, "worst", lambda ended: Unescapable("killed"))
            with pytest.raises(Unescapable) as caught:
                await played(server, tmp_path, 3)
        path = caught.value.run
        assert path is not None
        assert len(list((path / "shards").glob("[0-9]/calls.jsonl"))) == 3
        requests = server.log()["requests"]
        done = await resume(path)
        # The connection test of a resumed run is in the journal too: nothing is asked again.
        assert server.log()["requests"] == requests
    assert done.summary["complete"] is True
    assert not (path / "shards").exists()


@pytest.mark.slow
async def test_shards_ask_anew_for_what_could_not_be_read(threads: None, tmp_path: Path) -> None:
    def garbled(index: int, body: Any) -> str | None:
        return "garbage" if "same_function" in json.dumps(body.get("response_format", {})) else None

    with FakeServer(rule=game_rule(solve=0), faults=garbled, caches=False) as server:
        run = await played(server, tmp_path / "run", 1, max_failed=1.0)
        assert {trace.outcome for trace in run.traces} == {"judge_failed"}
        server.change(faults=None)
        whole = await resume(copytree(run.path, tmp_path / "whole"), retry_failed=True)
        done = await resume(run.path, retry_failed=True, shards=2)
        requests = server.log()["requests"]
        again = await resume(run.path)
        assert server.log()["requests"] == requests
    assert {trace.outcome for trace in done.traces} == {"unsolved"}
    assert len(done.traces) == len(run.traces)
    assert essence(whole.path) == essence(done.path)
    assert list(again.traces) == list(done.traces)


def test_a_shard_gets_its_part_of_the_places_and_all_of_every_other_limit() -> None:
    whole = Limits(concurrency=10, rpm=60, token_limit=1_000_000, cost_limit=3.0, time_limit=60)
    assert shards.divided(whole, 4) == whole.model_dump() | {"concurrency": 3}


async def test_lanes_are_shared_out_whole(tmp_path: Path) -> None:
    with FakeServer() as server:
        made = plan.make(asked(server))
    whole = made.lanes()
    parts = [replace(made, share=(number, 3)).lanes() for number in range(3)]
    assert sorted(map(str, whole)) == sorted(str(lane) for part in parts for lane in part)


async def test_a_person_cannot_be_in_several_processes(threads: None, tmp_path: Path) -> None:
    with FakeServer() as server:
        config = asked(server)
        config = config.model_copy(
            update={"experiment": config.experiment.model_copy(update={"model": "human"})}
        )
        with pytest.raises(UsageError, match="human lives in this process"):
            await begin(config, out=tmp_path, shards=2)


@pytest.mark.slow
async def test_ray_takes_the_shards(tmp_path: Path) -> None:
    with FakeServer(caches=False) as server:
        one, two = [await played(server, tmp_path / str(k), k) for k in (1, 2)]
    assert essence(one.path)[1] == essence(two.path)[1]
    assert one.summary["scores"] == two.summary["scores"]


@pytest.mark.parametrize("at", ["shards", "shards/0"])
async def test_shards_that_are_links_are_refused_and_nothing_behind_them_is_touched(
    at: str, tmp_path: Path
) -> None:
    with FakeServer() as server:
        run = await played(server, tmp_path / "runs", 1)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for name in ("calls.jsonl", "traces.jsonl", "stop"):
            (elsewhere / name).write_text("theirs\n", "utf-8")
        before = (run.path / "calls.jsonl").read_bytes()
        (run.path / at).parent.mkdir(exist_ok=True)
        (run.path / at).symlink_to(elsewhere, target_is_directory=True)
        with pytest.raises(RunFolderError, match="is a link, and no shard of a run is one"):
            await resume(run.path)
    assert sorted(one.name for one in elsewhere.iterdir()) == ["calls.jsonl", "stop", "traces.jsonl"]
    assert (run.path / "calls.jsonl").read_bytes() == before


async def test_a_run_in_shards_that_is_interrupted_keeps_what_came_and_goes_on(
    threads: None, tmp_path: Path
) -> None:
    with FakeServer(latency=0.05, caches=False) as server:
        task = asyncio.create_task(played(server, tmp_path, 2))
        while server.log()["finished"] < 12:
            await asyncio.sleep(0.02)
        task.cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        path = Path(caught.value.args[0])
        before = server.log()
        assert not (path / "shards").exists()
        kept = (path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        assert 12 <= len(kept) <= before["finished"]
        done = await resume(path, shards=2)
        asked = server.log()["finished"] - before["finished"]
    assert done.summary["complete"] is True
    lines = (path / "calls.jsonl").read_text(encoding="utf-8").splitlines()
    assert lines[: len(kept)] == kept
    new = [json.loads(line) for line in lines[len(kept) :]]
    # A causal chain is asked for by both shards, and once more by each that was stopped while it was built.
    shared = sum(one["key"]["repeat"] == 0 for one in map(json.loads, lines))
    assert len(new) <= asked <= len(new) + shared


async def test_a_shard_whose_process_died_is_said_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "side_by_side", lambda *given, **more: [*in_threads(*given)[:1], None])
    with FakeServer() as server:
        with pytest.raises(LotbenchError, match="a worker process died; the run can be resumed") as caught:
            await played(server, tmp_path, 2)
        assert caught.value.run is not None
        assert (await resume(caught.value.run)).summary["complete"] is True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_on_ray_in_order(number: int, tmp_path: Path) -> None:
    """It ignored Ctrl-C for 7,950 calls, and died of SIGTERM with a stack trace of Ray's."""
    with serving(0, "--latency", "0.1-0.2") as server:
        cast = [f"--model=c@{server.url}", f"--judge=j@{server.url}", f"--oracle=o@{server.url}"]
        options = [
            "--set",
            "arm=caption",
            "--limit=12",
            "--shards=2",
            "--concurrency=8",
            f"--out={tmp_path / 'runs'}",
        ]
        with running(tmp_path / "home", "cli", "evaluate", *cast, *options) as process:
            until = time.monotonic() + 120
            while server.log()["finished"] < 30:
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.1)
            process.send_signal(number)
            said, _ = process.communicate(timeout=60)
        requests = server.log()["requests"]
        time.sleep(1)
        assert server.log()["requests"] == requests
    assert process.returncode == 130, said
    assert "go on with: lotbench resume" in said
    assert "Traceback" not in said
    run = results.load_run("latest", tmp_path / "runs")
    assert run.summary["complete"] is False
    assert not (run.path / "shards").exists()


def workers(home: Path) -> list[int]:
    """The processes of Ray that take shares of the run with this store."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            named = (place / "cmdline").read_bytes().startswith(b"ray::play")
            if named and f"LOTBENCH_HOME={home}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
    return found


@pytest.mark.slow
def test_the_share_of_a_worker_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    """Same traces and summary as without shards; what was in flight is asked again and nothing else."""
    with serving(0, "--latency", "0.1-0.2") as server:
        cast = [f"--model=c@{server.url}", f"--judge=j@{server.url}", f"--oracle=o@{server.url}"]
        size = ["--set", "arm=caption", "--limit=8", "--repeats=2", "--max-rounds=4", "--concurrency=8"]
        finish(tmp_path / "home-1", "cli", "evaluate", *cast, *size, f"--out={tmp_path / 'whole'}")
        once, home = server.log()["finished"], tmp_path / "home-2"
        command = ["cli", "evaluate", *cast, *size, "--shards=2", f"--out={tmp_path / 'killed'}"]
        with running(home, *command) as process:
            until = time.monotonic() + 300
            while server.log()["finished"] < once + 40:
                assert time.monotonic() < until and process.poll() is None
                time.sleep(0.05)
            os.kill(workers(home)[0], signal.SIGKILL)
            said, _ = process.communicate(timeout=180)
        assert process.returncode == 0, said
        again = [count - 2 for count in server.log()["repeated"].values() if count > 2]
    assert sum(again) <= 4
    assert essence(the_run(tmp_path / "killed")) == essence(the_run(tmp_path / "whole"))


async def test_processes_keep_one_budget_and_what_a_dead_one_had_set_aside_comes_back(tmp_path: Path) -> None:
    limits = Limits(token_limit=100, cost_limit=1.0)
    earlier, one, other = (Sharing(tmp_path, slot, 3).budget(limits) for slot in range(3))
    earlier.count(Usage(10, 0, 10), 0.2)
    one.reserve(40, 0.1)
    other.reserve(30, 0.1)
    with pytest.raises(LimitReached, match="token limit of 100"):
        other.reserve(20, 0.1)
    one.settle(40, 0.1, Usage(20, 0, 10), 0.7)
    with pytest.raises(LimitReached, match=r"cost limit of \$1 is used up \(\$0.9000 used\)"):
        other.reserve(1, 0.05)
    # The second process dies; who takes its share over counts what its journal has.
    again = Sharing(tmp_path, 2, 3).budget(limits)
    again.count(Usage(5, 0, 5), 0.0)
    one.reserve(40, 0.1)
    with pytest.raises(LimitReached, match="60 used"):
        again.reserve(1, 0.0)
    assert one.overspent == ""


async def test_processes_keep_one_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def slept(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", slept)
    buckets = [Sharing(tmp_path, slot, 3).bucket("http://host", "calls", 60) for slot in (1, 2)]
    for number in range(14):
        await buckets[number % 2].take(1)
    # Ten seconds' worth is there at first, whoever takes it.
    assert [round(wait) for wait in waits if wait > 0.1] == [1, 2, 3, 4]


async def test_a_shared_question_is_asked_by_one_process_and_by_the_next_if_that_one_dies(
    tmp_path: Path,
) -> None:
    replies = [SharedReplies(tmp_path) for _ in range(2)]
    key = Key("lot-0001", 0, 1, "chain", 0, 0, "d")
    reply = Reply("a chain", "m")
    asked: list[int] = []

    async def asks(number: int, fails: bool) -> str:
        async with replies[number].asking(key):
            if (known := replies[number].get(key)) is not None:
                return known.reply.text
            asked.append(number)
            await asyncio.sleep(0.05)
            if fails:
                raise LotbenchError("dies")
            replies[number].put(Entry(key, "judge", 0, "m", "call", 0.0, reply))
            return reply.text

    first, second = await asyncio.gather(asks(0, True), asks(1, False), return_exceptions=True)
    assert isinstance(first, LotbenchError) and second == "a chain"
    assert await asks(0, False) == "a chain" and asked == [0, 1]


async def test_shards_are_merged_when_whoever_outlived_a_kill_has_ended(tmp_path: Path) -> None:
    """What a worker wrote while its folder was merged and removed was lost, and paid for again."""
    with FakeServer() as server:
        run = await played(server, tmp_path, 1)
        calls = (run.path / "calls.jsonl").read_bytes().splitlines(keepends=True)
        (run.path / "calls.jsonl").write_bytes(b"".join(calls[:-1]))
        place = run.path / "shards" / "0"

        def outlives() -> None:
            with Folder(place):
                told.wait(10)
                while not (run.path / "shards" / "stop").exists():
                    time.sleep(0.01)
                (place / "calls.jsonl").write_bytes(calls[-1])

        told, worker = threading.Event(), threading.Thread(target=outlives)
        worker.start()
        while not (place / ".lock").exists():
            time.sleep(0.01)
        told.set()
        shards.merge(run.path)
        worker.join()
    assert (run.path / "calls.jsonl").read_bytes() == b"".join(calls)
    assert not (run.path / "shards").exists()


async def test_a_reply_wanted_anew_holds_though_the_clock_was_put_back(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await played(server, tmp_path, 1)
    [*_, last] = read_journal(run.path / "calls.jsonl")
    anew = replace(last, started=last.started - 3600, reply=replace(last.reply, text="anew"))
    (run.path / "shards" / "0").mkdir(parents=True)
    with Journal(run.path / "shards" / "0" / "calls.jsonl") as journal:
        journal.put(anew)
    shards.merge(run.path)
    with Journal(run.path / "calls.jsonl", writes=False) as journal:
        assert journal.get(last.key) == anew


async def test_what_failed_before_in_other_shares_stops_no_shard(threads: None, tmp_path: Path) -> None:
    """2 of 10 had failed and half may; a share of 5 stopped at its first failure, as if it were its third."""

    def judged(body: Any) -> bool:
        return "same_function" in json.dumps(body.get("response_format", {}))

    with FakeServer(rule=game_rule(solve=0), caches=False) as server:
        caption = plan.make(asked(server)).chosen[0].caption
        server.change(faults=lambda at, body: "garbage" if judged(body) and caption in str(body) else None)
        run = await played(server, tmp_path, 1, max_failed=0.5, retries=0)
        assert [one.outcome for one in run.traces].count("judge_failed") == 2
        again = run.traces[-1]
        for name, kept in (
            ("traces.jsonl", lambda row: (row["sample"], row["repeat"]) != (again.sample, again.repeat)),
            (
                "calls.jsonl",
                lambda row: (row["key"]["sample"], row["key"]["step"]) != (again.sample, "check"),
            ),
        ):
            lines = (run.path / name).read_text("utf-8").splitlines(keepends=True)
            (run.path / name).write_text("".join(one for one in lines if kept(json.loads(one))), "utf-8")
        server.change(faults=lambda at, body: "500" if judged(body) else None)
        done = await resume(run.path, shards=2)
    assert done.summary["complete"] is True
    assert [one.outcome for one in done.traces].count("judge_failed") == 3


def test_calls_that_hold_a_lock_each_are_places_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that shares questions opened twice the files that it had counted."""
    wanted: list[int] = []
    monkeypatch.setattr(calling, "room", lambda files: (wanted.append(files), (files - 12, "few files"))[1])
    with FakeServer() as server:
        made = plan.make(asked(server, concurrency=10))
    for shared, files, left in ((False, 10, 1), (True, 20, 4)):
        limits, _ = calling._fitting(made, shared=shared)
        assert (wanted.pop(), limits.concurrency) == (files, left)
