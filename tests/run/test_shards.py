"""A run in several processes: whatever their number, one result, one journal, and a kill loses nothing."""

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

from lotbench.calls.budget import Budget
from lotbench.calls.journal import Journal, read_journal
from lotbench.config.experiment import Config, Limits
from lotbench.errors import LimitReached, LotbenchError, RunFolderError, Unescapable, UsageError
from lotbench.run import plan, shards
from lotbench.run.evaluate import begin, resume
from lotbench.run.loading import Run, load_run
from lotbench.storage.run_folder import Folder
from lotbench.types import Usage
from tests.faults import asking
from tests.killing import essence, finish, running, serving, the_run
from tests.playing import SETTINGS, players
from tests.rules import game_rule
from tests.server import FakeServer


async def in_threads(work: Callable[[Any], Any], given: Sequence[Any], died: Any) -> list[Any]:
    """What Ray does, without Ray: each in a thread with an event loop of its own."""
    return await asyncio.gather(*(asyncio.to_thread(work, one) for one in given))


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
            await played(server, tmp_path, 3, token_limit=24_000)
        assert caught.value.run is not None
        left = load_run(caught.value.run)
        assert left.summary["complete"] is False
        usage = left.summary["usage"]
        assert 0 < usage["input_tokens"] + usage["output_tokens"] <= 24_000
        done = await resume(caught.value.run, shards=2, token_limit=10_000_000)
        assert done.summary["complete"] is True


@pytest.mark.slow
async def test_what_killed_shards_leave_behind_is_merged_when_the_run_is_gone_on_with(
    threads: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def killed(*given: Any) -> list[Any]:
        await in_threads(*given)
        return [("Unescapable", "killed")]

    with FakeServer() as server:
        with monkeypatch.context() as patch:
            patch.setattr(shards, "merge", lambda *_: None)
            patch.setattr(shards, "side_by_side", killed)
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
    faults = asking("same_function", "garbage")
    with FakeServer(rule=game_rule(solve=0), faults=faults, caches=False) as server:
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


def test_a_shard_gets_its_part_of_every_rate_and_of_what_is_left() -> None:
    whole = Limits(concurrency=10, rpm=60, token_limit=1_000_000, cost_limit=3.0, time_limit=60)
    used = Budget(whole)
    used.count(Usage(100_000, 0, 100_000), 1.0)
    part = {"concurrency": 2, "rpm": 15, "token_limit": 200_000, "cost_limit": 0.5}
    assert shards.divide_limits(whole, 4, used) == whole.model_dump() | part


async def test_samples_are_shared_out_with_all_their_repeats(tmp_path: Path) -> None:
    with FakeServer() as server:
        made = plan.make(asked(server))
    whole = made.sequences()
    parts = [replace(made, share=(number, 3)).sequences() for number in range(3)]
    assert sorted(map(str, whole)) == sorted(str(sequence) for part in parts for sequence in part)
    samples = [{episode.sample for sequence in part for episode in sequence} for part in parts]
    assert sum(map(len, samples)) == len(set.union(*samples))


async def test_a_person_cannot_be_in_several_processes(threads: None, tmp_path: Path) -> None:
    with FakeServer() as server:
        config = asked(server)
        config = config.model_copy(
            update={"experiment": config.experiment.model_copy(update={"model": "human"})}
        )
        with pytest.raises(UsageError, match="human lives in this process"):
            await begin(config, out=tmp_path, shards=2)


async def test_linked_shards_are_refused_and_nothing_behind_them_is_touched(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await played(server, tmp_path / "runs", 1)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for name in ("calls.jsonl", "traces.jsonl"):
            (elsewhere / name).write_text("theirs\n", "utf-8")
        before = (run.path / "calls.jsonl").read_bytes()
        for at in ("shards", "shards/0"):
            (run.path / at).parent.mkdir(exist_ok=True)
            (run.path / at).symlink_to(elsewhere, target_is_directory=True)
            with pytest.raises(RunFolderError, match="is a link, and no shard of a run is one"):
                await resume(run.path)
            (run.path / at).unlink()
    assert sorted(one.name for one in elsewhere.iterdir()) == ["calls.jsonl", "traces.jsonl"]
    assert (run.path / "calls.jsonl").read_bytes() == before


async def test_a_shard_whose_process_died_is_said_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def one_dies(work: Any, given: Any, died: Any) -> list[Any]:
        return [*(await in_threads(work, given[:1], died)), died]

    monkeypatch.setattr(shards, "side_by_side", one_dies)
    with FakeServer() as server:
        with pytest.raises(LotbenchError, match="a worker process died; the run can be resumed") as caught:
            await played(server, tmp_path, 2)
        assert caught.value.run is not None
        assert (await resume(caught.value.run)).summary["complete"] is True


@pytest.mark.slow
async def test_ray_that_does_not_start_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path / "file" / "ray"))
    with FakeServer() as server:
        with pytest.raises(LotbenchError, match=r"--shards: ray did not start: .*can be resumed") as caught:
            await played(server, tmp_path / "runs", 2)
        assert caught.value.exit_code == 1 and caught.value.run is not None
        assert "Traceback" not in capfd.readouterr().err
        monkeypatch.delenv("RAY_TMPDIR")
        assert (await resume(caught.value.run)).summary["complete"] is True


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_on_ray_in_order(number: int, tmp_path: Path) -> None:
    """It ignored Ctrl-C for 7,950 calls, and died of SIGTERM with a stack trace of Ray's."""
    with serving(0, "--latency", "0.1-0.2") as server:
        cast = [f"--model=c@{server.url}", f"--judge=j@{server.url}", f"--oracle=o@{server.url}"]
        options = ["--set=arm=caption", "--limit=12", "--shards=2", "--concurrency=8"]
        options.append(f"--out={tmp_path / 'runs'}")
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
    run = load_run("latest", tmp_path / "runs")
    assert run.summary["complete"] is False
    assert not (run.path / "shards").exists()
    counted = [*read_journal(run.path / "calls.jsonl"), *read_journal(run.path / "discarded.jsonl")]
    assert len(counted) >= requests, "calls in flight are billed"


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
    with serving(0, "--latency", "0.05-0.1") as server:
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


async def test_shards_are_merged_when_whoever_outlived_a_kill_has_ended(tmp_path: Path) -> None:
    """What a worker wrote while its folder was merged and removed was lost, and paid for again."""
    with FakeServer() as server:
        run = await played(server, tmp_path, 1)
        calls = (run.path / "calls.jsonl").read_bytes().splitlines(keepends=True)
        (run.path / "calls.jsonl").write_bytes(b"".join(calls[:-1]))
        place = run.path / "shards" / "0"

        def outlives() -> None:
            with Folder(place):
                locked.set()
                told.wait(10)
                time.sleep(0.2)
                (place / "calls.jsonl").write_bytes(calls[-1])

        locked, told, worker = threading.Event(), threading.Event(), threading.Thread(target=outlives)
        worker.start()
        assert locked.wait(10)
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


async def test_what_two_shards_asked_is_counted_twice(tmp_path: Path) -> None:
    """212,000 tokens were billed for captions that each shard had asked for, and 56,000 counted."""
    with FakeServer() as server:
        run = await played(server, tmp_path, 1)
    [*_, last] = read_journal(run.path / "calls.jsonl")
    for number in range(3):
        (run.path / "shards" / str(number)).mkdir(parents=True)
        with Journal(run.path / "shards" / str(number) / "calls.jsonl") as journal:
            journal.put(replace(last, started=last.started + number + 1))
    shards.merge(run.path)
    spare = list(read_journal(run.path / "discarded.jsonl"))
    assert [one.reply.usage for one in spare] == [last.reply.usage] * 2


async def test_what_failed_before_in_other_shares_stops_no_shard(threads: None, tmp_path: Path) -> None:
    """2 of 10 had failed and half may; a share of 5 stopped at its first failure, as if it were its third."""
    with FakeServer(rule=game_rule(solve=0), caches=False) as server:
        caption = plan.make(asked(server)).chosen[0].caption
        garbled = asking("same_function", "garbage")
        server.change(faults=lambda at, body: garbled(at, body) if caption in str(body) else None)
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
        server.change(faults=asking("same_function", "500"))
        done = await resume(run.path, shards=2)
    assert done.summary["complete"] is True
    assert [one.outcome for one in done.traces].count("judge_failed") == 3
