"""A run that was stopped, killed or half failed goes on to the same end, and pays for nothing twice."""

import asyncio
import json
import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lotbench.errors import RunFolderError, UsageError
from lotbench.run.evaluate import resume
from lotbench.run.loading import Run, load_run
from lotbench.run.session import Status
from tests.fakes import game_rule
from tests.faults import Mixed, asking
from tests.judging import data_set, shipped
from tests.killing import essence, finish, journaled, killed_at, lost, running, serving, stop_at, the_run
from tests.playing import outcomes, play, steps
from tests.runner import CONCURRENCY
from tests.server import FakeServer

SMALL: dict[str, Any] = {"limit": 3, "repeats": 2, "concurrency": 4}
Whole = tuple[FakeServer, Path, dict[str, Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """A server, the folder of an unbroken run there, and what the server logged of it."""
    with FakeServer(caches=False) as server:
        run = asyncio.run(play(server, tmp_path_factory.mktemp("whole"), **SMALL))
        yield server, run.path, server.log()


@pytest.fixture
def copy(whole: Whole, tmp_path: Path) -> Path:
    """A copy of the unbroken run, to be damaged."""
    return Path(shutil.copytree(whole[1], tmp_path / "run"))


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


def keys(run: Path) -> list[str]:
    return [json.dumps(line["key"], sort_keys=True) for line in lines(run)]


async def test_an_unbroken_run_asks_for_nothing_twice_and_is_resumed_without_a_call(
    whole: Whole, copy: Path
) -> None:
    server, run, log = whole
    assert log["repeated"] == {}
    assert log["finished"] == len(lines(run)) == len(set(keys(run)))
    assert load_run(run).summary["usage"]["calls"] == log["finished"]
    calls = server.log()["requests"]
    assert essence((await resume(copy)).path) == essence(run)
    assert server.log()["requests"] == calls


async def test_what_a_kill_leaves_is_gone_on_with_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Whole
) -> None:
    """A copy of the folder in the middle of a run, with its last lines torn, is what kill -9 leaves."""
    server, first, _ = whole
    chance = random.Random(2)
    moment = chance.randrange(1, len(lines(first)))
    copy = tmp_path / "killed" / "run"

    async def snap(status: Status) -> None:
        while status.stats.calls < moment:
            await asyncio.sleep(0)
        shutil.copytree(status.path, copy)

    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home-killed"))
    await play(server, tmp_path / "living", **SMALL, watch=snap)
    kept = len(lines(copy))
    for name in ("calls.jsonl", "traces.jsonl"):
        with (copy / name).open("ab") as file:
            file.write(b'{"key": {"sample": "lot-00'[: chance.randrange(1, 26)])
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home-resumed"))
    finished = server.log()["finished"]
    done = await resume(copy)
    # The journal was there; the store of the killed process was not.
    assert server.log()["finished"] - finished == len(lines(first)) - kept
    assert essence(done.path) == essence(first)
    assert sorted(keys(done.path)) == sorted(keys(first))


async def test_a_cancelled_run_goes_on_to_the_same_end(tmp_path: Path, whole: Whole) -> None:
    server, first, _ = whole
    chance = random.Random(1)
    finished = server.log()["finished"]
    server.change(latency=0.002)
    game = asyncio.create_task(play(server, tmp_path / "out", **SMALL))
    before = asyncio.all_tasks()
    for moment in sorted(chance.sample(range(1, len(lines(first)) - 8), 3)):
        while not game.done() and journaled(tmp_path / "out") < moment:
            await asyncio.sleep(0)
        game.cancel()
        with pytest.raises(asyncio.CancelledError):
            await game
        assert asyncio.all_tasks() <= before
        left = load_run(the_run(tmp_path / "out"))
        assert left.summary["complete"] is False
        game = asyncio.create_task(resume(left.path, concurrency=4))
        before = asyncio.all_tasks()
    done = await game
    server.change(latency=0.0)
    # A reply that was on its way is given once more.
    assert server.log()["finished"] - finished - len(lines(first)) <= 3 * 2 * SMALL["concurrency"]
    # What an interrupted call may have used is counted.
    assert essence(done.path, usage=False) == essence(first, usage=False)
    assert len(set(keys(done.path))) == len(lines(done.path))


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The folder of a run in a process that nothing befell, and the port of its server."""
    folder = tmp_path_factory.mktemp("unbroken")
    with serving(0, "--latency", "0.01") as server:
        finish(folder / "home", "begin", server.url, folder / "whole")
        return folder / "whole", server.port


@pytest.mark.slow
def test_three_kills_cost_the_calls_in_flight_alone(tmp_path: Path, unbroken: tuple[Path, int]) -> None:
    """And this among faults, of which the unbroken run had none."""
    options = ("--latency", "0.005-0.03", "--faults", "mixed", "--rate", "0.05", "--seed", "1")
    first, port = unbroken
    calls = journaled(first)
    out, moments = tmp_path / "killed", sorted(random.Random(5).sample(range(1, calls - 10), 3))
    with serving(port, *options) as server:
        killed_at(moments, tmp_path / "home-2", out, "begin", server.url, out)
        log = server.log()
    # Replies that faults cut short were paid for, and there were none in the unbroken run.
    assert essence(the_run(out), usage=False) == essence(the_run(first), usage=False)
    assert len(set(keys(the_run(out)))) == journaled(out) == calls
    # Every reply beyond the journal's was on its way when the process died.
    assert log["finished"] - calls == lost(log) <= 3 * CONCURRENCY


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path: Path, unbroken: tuple[Path, int]) -> None:
    first, port = unbroken
    with serving(port, "--latency", "0.01") as server:
        out, home = tmp_path / "stopped", tmp_path / "home-2"
        with running(home, "begin", server.url, out) as process:
            stop_at(process, out, 40, signal.SIGINT)
            told = process.stdout.read() if process.stdout else ""
            assert process.returncode == -signal.SIGINT
        assert told.strip().endswith("KeyboardInterrupt")
        assert "never retrieved" not in told and "was destroyed" not in told
        left = load_run(the_run(out))
        assert left.summary["complete"] is False and (left.path / "report.md").is_file() == bool(left.traces)
        finish(home, "resume", left.path)
    assert essence(left.path, usage=False) == essence(the_run(first), usage=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data set of one's own: two shipped samples with their pictures."""
    return data_set(tmp_path / "mine", shipped(2))


async def stopped(server: FakeServer, out: Path, **fields: Any) -> Path:
    """A run that was cancelled after a few calls."""
    game = asyncio.create_task(play(server, out, **fields))
    while journaled(out) < 6:
        await asyncio.sleep(0.001)
        assert not game.done()
    game.cancel()
    await asyncio.gather(game, return_exceptions=True)
    return the_run(out)


def change_json(path: Path, *place: str, value: Any) -> None:
    table = json.loads(path.read_text(encoding="utf-8"))
    inner = table
    for name in place[:-1]:
        inner = inner[name]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    path.write_text(json.dumps(table), encoding="utf-8")


async def test_another_picture_refuses_to_be_gone_on_with(tmp_path: Path, data: Path) -> None:
    with FakeServer() as server:
        shown = {"arm": "image+caption"}
        run = await stopped(server, tmp_path / "runs", data=str(data), limit=2, settings=shown)
        calls, before = server.log()["requests"], (run / "calls.jsonl").read_bytes()
        # What became of the data set does not matter: the run has its own samples.
        samples = (data / "samples.jsonl").read_text(encoding="utf-8")
        (data / "samples.jsonl").write_text(samples.replace("toaster", "roaster"), encoding="utf-8")
        played = json.loads((run / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
        picture = data / played["image"]
        content = picture.read_bytes()
        picture.write_bytes(next(p for p in (data / "images").iterdir() if p != picture).read_bytes())
        with pytest.raises(
            RunFolderError, match=rf"changed since the run began: data, data.{played['id']}.image"
        ):
            await resume(run)
        assert server.log()["requests"] == calls
        assert (run / "calls.jsonl").read_bytes() == before
        picture.write_bytes(content)
        run_json = (run / "run.json").read_text(encoding="utf-8")
        # A folder from somebody else could name any picture of this machine, and no digest of it.
        change_json(run / "run.json", "recorded", "pictures", value={})
        with pytest.raises(RunFolderError, match=rf"data.{played['id']}.image"):
            await resume(run)
        assert server.log()["requests"] == calls
        (run / "run.json").write_text(run_json, encoding="utf-8")
        assert (await resume(run)).summary["complete"] is True


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("seed",), 5),
        (("settings", "max_rounds"), 4),
        (("sampling",), {"judge": {"temperature": 1.0}}),
        (("roles", "judge"), ["python:judge-9"]),
    ],
)
async def test_another_experiment_is_not_resumed(tmp_path: Path, place: tuple[str, ...], value: Any) -> None:
    with FakeServer() as server:
        run = await stopped(server, tmp_path)
        change_json(run / "run.json", "experiment", *place, value=value)
        with pytest.raises(RunFolderError, match=r"changed since the run began: .*experiment"):
            await resume(run)


async def test_limits_may_change_and_nothing_else_may(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await stopped(server, tmp_path)
        with pytest.raises(UsageError, match="seed: unknown key; there are: concurrency"):
            await resume(run, seed=3)
        with pytest.raises(UsageError, match="retries: "):
            await resume(run, retries=-1)
        done = await resume(run, concurrency=1, retries=2, timeout_s=30, token_limit=10**9, max_failed=1.0)
    assert done.summary["complete"] is True


async def test_a_run_that_another_session_writes_cannot_be_resumed(tmp_path: Path) -> None:
    with FakeServer(latency=0.01) as server:
        game = asyncio.create_task(play(server, tmp_path))
        while journaled(tmp_path) < 6:
            await asyncio.sleep(0.001)
        with pytest.raises(RunFolderError, match="another process is writing to this run"):
            await resume(the_run(tmp_path))
        assert (await game).summary["complete"] is True


@pytest.mark.parametrize(
    ("asks", "fault", "retry_failed"),
    [("same_creative_point", "500", False), ("scene_chain", "garbage", True)],
)
async def test_episodes_are_played_again_if_their_last_call_was_lost_or_a_chain_that_was_unreadable_is_wanted_anew(
    asks: str, fault: str, retry_failed: bool, tmp_path: Path, waits: list[float]
) -> None:
    with FakeServer(rule=game_rule(solve=0), faults=asking(asks, fault)) as server:
        run = await play(server, tmp_path, max_failed=1.0)
        assert set(outcomes(run).values()) == {"judge_failed"}
        assert [trace.arrived for trace in run.traces] == [retry_failed] * 3
        assert run.summary["complete"] is True
        server.change(faults=None)
        done = await resume(run.path, retry_failed=retry_failed, max_failed=1.0)
        assert retry_failed or server.log()["repeated"] == {}
    assert set(outcomes(done).values()) == {"unsolved"}
    assert len(done.traces) == len(run.traces) == 3


async def test_episodes_that_ended_on_unreadable_replies_stand_until_wanted_anew(tmp_path: Path) -> None:
    with FakeServer(rule=game_rule(solve=0), faults=asking("same_creative_point", "garbage")) as server:
        run = await play(server, tmp_path, max_failed=1.0, settings={"judge_mode": "explained"})
        assert set(outcomes(run).values()) == {"judge_failed"}
        assert all(trace.arrived for trace in run.traces)
        server.change(faults=None)
        calls = server.log()["requests"]
        stands = await resume(run.path, max_failed=1.0)
        assert server.log()["requests"] == calls
        assert outcomes(stands) == outcomes(run)
        done = await resume(run.path, retry_failed=True)
        again = await resume(run.path)
    assert set(outcomes(done).values()) == {"unsolved"}
    assert outcomes(again) == outcomes(done)
    # The guesses that came before the verdict were readable and are not asked for again.
    responds = [line["key"] for line in lines(run.path) if line["key"]["step"] == "respond"]
    assert len(responds) == len({json.dumps(key) for key in responds})


async def test_what_a_run_takes_from_the_store_is_in_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(rule=game_rule(solve=0)) as server:
        played = {"samples": ["lot-0001", "lot-0002", "lot-0003"]}
        first = await play(server, tmp_path / "1", **played)
        second = await play(server, tmp_path / "2", seed=1, **played)
        third = await play(server, tmp_path / "3", seed=2, fresh=True, **played)

    def shared(run: Run, source: str) -> set[str]:
        return {
            json.dumps(line["key"], sort_keys=True)
            for line in lines(run.path)
            if line["from"] == source and line["key"]["step"] in ("chain", "chain_check")
        }

    assert shared(first, "call") and not shared(first, "store")
    assert shared(second, "store") == shared(first, "call") and not shared(second, "call")
    assert shared(third, "call") and not shared(third, "store")
    # Nothing else comes from there, and what comes from there was not paid for.
    taken = [line for line in lines(second.path) if line["from"] == "store"]
    assert {line["key"]["step"] for line in taken} <= {"chain", "chain_check"}
    assert second.summary["usage"]["calls"] == len(lines(second.path)) - len(taken)
    assert steps(first, "chain")[0] == steps(second, "chain")[0]
    # A run folder is complete in itself: neither that store nor a server is needed.
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home-nothing"))
    before = essence(second.path)
    (second.path / "summary.json").unlink()
    (second.path / "traces.jsonl").unlink()
    again = await resume(second.path, check=False, max_failed=1.0)
    assert essence(again.path) == before and load_run(again.path).summary["complete"] is True


@pytest.mark.parametrize("damage", ["zeros", "a letter"])
async def test_a_damaged_journal_line_costs_that_call(damage: str, whole: Whole, copy: Path) -> None:
    server, first, _ = whole
    text = (copy / "calls.jsonl").read_bytes().splitlines(keepends=True)
    place = next(n for n, line in enumerate(text) if b'"step":"respond"' in line)
    spoilt = text[place].replace(b'"text":"{\\"', b'"text":"{\\"x')
    assert spoilt != text[place] and json.loads(spoilt)
    text[place] = spoilt if damage == "a letter" else b"\x00" * 40 + b"\n"
    (copy / "calls.jsonl").write_bytes(b"".join(text))
    (copy / "traces.jsonl").unlink()
    calls = server.log()["finished"]
    done = await resume(copy)
    assert server.log()["finished"] == calls + 1
    assert essence(done.path) == essence(first)


async def test_a_damaged_trace_is_played_again_without_a_call(whole: Whole, copy: Path) -> None:
    server, first, _ = whole
    calls = server.log()["finished"]
    text = (copy / "traces.jsonl").read_text("utf-8")
    spoilt = text.replace('"round":1', '"round":3', 1)
    assert spoilt != text and json.loads(spoilt.splitlines()[0])
    (copy / "traces.jsonl").write_text(spoilt, "utf-8")
    with pytest.raises(RunFolderError, match=r"traces\.jsonl:1: damaged; lotbench resume writes it anew"):
        load_run(copy)
    done = await resume(copy)
    assert server.log()["finished"] == calls
    assert essence(done.path) == essence(first)


async def test_faults_on_the_way_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home-calm"))
    with FakeServer(caches=False) as server:
        first = await play(server, tmp_path / "calm", **SMALL)
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path / "home-rough"))
    with FakeServer(caches=False, port=server.port, faults=Mixed(rate=0.4, seed=3)) as server:
        done = await resume(await stopped(server, tmp_path / "rough", **SMALL))
        assert lost(server.log()) <= 2 * SMALL["concurrency"]
    rough, calm = essence(done.path), essence(first.path)
    # What was paid for and thrown away is used too.
    assert rough[0].pop("usage")["input_tokens"] > calm[0].pop("usage")["input_tokens"]
    assert rough == calm
