"""Ceilings of a run: whatever the ceiling, the overspend is at most the calls that were in flight."""

import asyncio
import io
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from lotbench.calls.budget import Budget, refuse_tier, spending
from lotbench.calls.caller import CallStats
from lotbench.calls.journal import DISCARDED, read_journal
from lotbench.calls.prices import price
from lotbench.cli import judges
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import LimitReached, RunFolderError, UsageError
from lotbench.models import retrying
from lotbench.run import progress
from lotbench.run.evaluate import resume
from lotbench.run.loading import Run, load_run
from lotbench.run.progress import STALL_S, stalled
from lotbench.run.session import Latest
from lotbench.types import Usage
from tests.asking import question
from tests.playing import play
from tests.server import FakeServer
from tests.service import Service

IN_FLIGHT = 4
SHORT = {role: {"max_tokens": 50} for role in ("candidate", "judge", "oracle")}
PRICES = """date = "2026-11-22"
[usd_per_million]
"candidate@{url}" = [1.0, 0.1, 4.0]
"judge@{url}" = [10.0, 1.0, 40.0]
"oracle@{url}" = [2.0, 0.2, 8.0]
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    with FakeServer() as made:
        prices = tmp_path / "prices.toml"
        prices.write_text(PRICES.format(url=made.url), encoding="utf-8")
        monkeypatch.setenv("LOTBENCH_PRICES", str(prices))
        yield made


def spent(run: Path) -> list[tuple[int, float]]:
    """Tokens and US dollars of each call of a run."""
    used = [(entry.reply.usage, parse(entry.asked)) for entry in read_journal(run / "calls.jsonl")]
    return [(usage.input_tokens + usage.output_tokens, price(name).cost(usage)) for usage, name in used]


def at_most_the_calls_in_flight(costs: list[float], ceiling: float) -> bool:
    """Whether what was spent before the last calls, as many as may be in flight, was below the ceiling."""
    return sum(costs) - ceiling <= sum(sorted(costs)[-IN_FLIGHT:]) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("ceiling", [1, 700, 1500, 2500, 4000, 6000, 8000, 9500, 11_000, 12_500])
async def test_a_token_ceiling(server: FakeServer, tmp_path: Path, ceiling: int) -> None:
    with pytest.raises(LimitReached, match="token limit") as caught:
        await play(server, tmp_path / "runs", token_limit=ceiling, concurrency=IN_FLIGHT)
    tokens = [float(each) for each, _ in spent(caught.value.run)]
    assert at_most_the_calls_in_flight(tokens, ceiling)
    over = sum(tokens) - ceiling
    assert ("overspent by" in str(caught.value)) == (over > 0)
    assert load_run(caught.value.run).summary["complete"] is False


async def test_a_cost_ceiling_and_a_higher_one(server: FakeServer, tmp_path: Path) -> None:
    whole = await play(server, tmp_path / "whole", concurrency=IN_FLIGHT)
    for share in (0.02, 0.3, 0.6, 0.9):
        ceiling = share * whole.summary["usage"]["cost_usd"]
        with pytest.raises(LimitReached, match="cost limit") as caught:
            await play(server, tmp_path / "runs", cost_limit=ceiling, concurrency=IN_FLIGHT, fresh=True)
        assert at_most_the_calls_in_flight([cost for _, cost in spent(caught.value.run)], ceiling), share
        done = await resume(caught.value.run, cost_limit=100.0)
        assert done.summary["complete"] is True, share
        assert done.summary["scores"] == whole.summary["scores"], share


@pytest.mark.parametrize(("fault", "told"), [("no_choices", True), ("invalid_json", False)])
async def test_what_was_thrown_away_counts_to_the_ceilings_also_when_resumed(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, told: bool
) -> None:
    """$3.28 were spent of $0.50."""
    monkeypatch.setattr(retrying, "FIRST_WAIT_S", 0.0)
    server.change(faults=lambda index, body: fault if index >= 6 else None)
    with pytest.raises(LimitReached, match="cost limit") as caught:
        await play(
            server, tmp_path / "runs", cost_limit=0.02, concurrency=IN_FLIGHT, max_failed=1.0, sampling=SHORT
        )
    run, requests = caught.value.run, server.log()["requests"]
    lost = list(read_journal(run / DISCARDED))
    assert len(lost) == requests - 6
    assert all((one.reply.usage.output_tokens == 50) != told for one in lost)
    usage = load_run(run).summary["usage"]
    assert usage["calls"] == 6 == len(spent(run))
    tokens = sum(one.reply.usage.input_tokens + one.reply.usage.output_tokens for one in lost)
    assert usage.get("assumed", {}).get("tokens", 0) == (0 if told else tokens)
    assert usage["cost_usd"] + 0.17 * IN_FLIGHT > 0.02
    with pytest.raises(LimitReached):
        await resume(run)
    assert server.log()["requests"] - requests <= IN_FLIGHT
    assert (await resume_well(server, run)).summary["complete"] is True
    assert ("assumed" in (run / "report.md").read_text("utf-8")) != told


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 10}])
async def test_good_replies_without_token_counts_reach_the_limits_too(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usage: object
) -> None:
    monkeypatch.setattr(Service, "_usage", lambda *said: usage)
    with pytest.raises(LimitReached, match="cost limit"):
        await play(server, tmp_path / "runs", cost_limit=0.1, concurrency=IN_FLIGHT)
    with pytest.raises(LimitReached, match="token limit") as caught:
        await play(server, tmp_path / "more", token_limit=9_000, fresh=True, sampling=SHORT)
    run, requests = caught.value.run, server.log()["requests"]
    used = load_run(run).summary["usage"]
    replies = list(read_journal(run / "calls.jsonl"))
    assert used["calls"] == len(replies) == len(list(read_journal(run / DISCARDED)))
    assert 8_000 < used["assumed"]["tokens"] <= 9_000
    with pytest.raises(LimitReached):
        await resume(run)
    assert server.log()["requests"] == requests


async def test_a_limit_holds_when_a_run_is_resumed_without_its_prices(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run was played to its end, and the limit was void."""
    with pytest.raises(LimitReached, match="cost limit") as caught:
        await play(server, tmp_path / "runs", cost_limit=0.3, concurrency=IN_FLIGHT)
    monkeypatch.delenv("LOTBENCH_PRICES")
    requests = server.log()["requests"]
    with pytest.raises(UsageError, match="no price for candidate@"):
        await resume(caught.value.run)
    assert server.log()["requests"] == requests


async def test_a_run_of_another_version_is_not_gone_on_with(server: FakeServer, tmp_path: Path) -> None:
    """Half of its tasks were played by each, and it was trusted."""
    with pytest.raises(LimitReached) as caught:
        await play(server, tmp_path / "runs", cost_limit=0.3, concurrency=IN_FLIGHT)
    file = caught.value.run / "run.json"
    file.write_text(re.sub(r'"version": "\d+"', '"version": "1"', file.read_text("utf-8")), "utf-8")
    with pytest.raises(RunFolderError, match="begun with version 1 of lotbench, this lotbench has"):
        await resume(caught.value.run)


async def resume_well(server: FakeServer, run: Path) -> Run:
    """The run gone on with where the server is well."""
    server.change(faults=None)
    return await resume(run, cost_limit=100.0)


async def test_flex_halves_the_price_where_the_server_says_flex(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("LOTBENCH_PRICES")
    names = {"candidate": "gpt-4o-mini", "judge": "gpt-4o-mini", "oracle": "gpt-4o-mini"}
    run = await play(server, tmp_path / "runs", **names, fresh=True, service_tier="flex")
    listed = sum(cost for _, cost in spent(run.path))
    assert run.summary["usage"]["cost_usd"] == pytest.approx(listed / 2)
    sent = {entry.reply.sent.get("service_tier") for entry in read_journal(run.path / "calls.jsonl")}
    assert sent == {"flex"}


def test_flex_is_refused_where_it_is_not_sold() -> None:
    names = [parse("gpt-4o-mini"), parse("judge@http://127.0.0.1:9/v1"), parse("human")]
    with pytest.raises(
        UsageError, match=r"is OpenAI's, and judge@http://127\.0\.0\.1:9/v1 is asked elsewhere"
    ):
        refuse_tier(Limits(service_tier="flex"), names)
    refuse_tier(Limits(), names)


async def test_a_time_ceiling_lets_the_calls_in_flight_end(tmp_path: Path) -> None:
    with FakeServer(latency=0.05) as server:
        with pytest.raises(LimitReached, match=r"time limit of 0\.2 s"):
            await play(server, tmp_path, time_limit=0.2)
        assert server.log()["repeated"] == {}


async def test_a_time_ceiling_cuts_off_calls_that_hang_and_counts_them(tmp_path: Path) -> None:
    with FakeServer(latency=20) as server:
        began = time.monotonic()
        with pytest.raises(LimitReached, match="time limit of 3 s") as caught:
            await play(server, tmp_path, time_limit=3.0, concurrency=2)
        assert len(list(read_journal(caught.value.run / DISCARDED))) == server.log()["requests"] == 2
        with pytest.raises(LimitReached, match="time limit of 1 s"):
            await resume(caught.value.run, shards=2, time_limit=1.0)
        assert time.monotonic() - began < 16
    run = load_run(caught.value.run)
    assert run.summary["complete"] is False
    assert {entry.source for entry in read_journal(run.path / DISCARDED)} == {"assumed"}


@pytest.mark.parametrize("asked", [0.2, 900.0])
async def test_a_time_ceiling_ends_a_wait_that_a_server_asks_for(asked: float) -> None:
    """Six waits of 900 s went on, and requests were sent after them."""
    tries: list[float] = []

    async def refused() -> None:
        tries.append(asked)
        raise retrying.PassingError("busy", wait=asked)

    spending.set(Budget(Limits(time_limit=0.1)))
    key, limits = question().key, Limits(max_wait_s=900)
    with pytest.raises(LimitReached, match=r"time limit of 0\.1 s"):
        async with asyncio.timeout(2):
            await retrying.retried(refused, "m", key, limits, retrying.Waiting())
    assert tries == [asked]


def test_the_overspend_is_told_in_the_units_of_the_limits() -> None:
    budget = Budget(Limits(token_limit=100, cost_limit=1.0))
    assert budget.overspent == ""
    budget.count(Usage(90, 0, 30), 1.5)
    assert budget.overspent == "20 tokens and $0.5000"


def test_a_stall_says_what_is_waited_for() -> None:
    tally, now = CallStats(), time.monotonic()
    tally.replied = now - STALL_S - 1
    assert stalled(tally, now) == []
    tally.open = {f"lot-{n}/1/2/respond/0/0/1e46": (now - 10 * n, "gpt-4o") for n in range(1, 9)}
    said = stalled(tally, now)
    assert said[0] == "no reply for 61 s; 8 calls in flight:"
    assert said[1] == "  80 s  gpt-4o  lot-8, repeat 1, round 2, guess"
    assert said[-1] == "  and 3 more"
    tally.replied = now - 1
    assert stalled(tally, now) == []


def status(done: int, calls: int, **latest: Any) -> Any:
    """What a game of 120 games in parallel has done; `latest` are fields of its `Latest`."""
    trace = SimpleNamespace(outcome="solved", score=SimpleNamespace(value=2 / 3, parts={"attempts": 10}))
    return SimpleNamespace(
        traces=dict.fromkeys(range(done), trace), total=120, path="runs/x", damaged=(),
        stats=CallStats(calls=calls, cost=0.4), latest=Latest(**latest),
        plan=SimpleNamespace(benchmark=SimpleNamespace(graph="game"), settings=SimpleNamespace(max_rounds=15)),
        models=SimpleNamespace(warnings=(), paces={}, waiting=SimpleNamespace(retries=0)),
    )  # fmt: skip


def drawn(one: Any) -> str:
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    with console.capture() as caught:
        console.print(progress.bar(one))
    return caught.get().rstrip()


def test_a_line_of_progress_fits_a_terminal() -> None:
    last = status(119, 5678, playing={("lot-1", 1): 9})
    said = progress.line(last, 714.0)
    assert said == "119/120 games, 1,199 rounds, 5,678 calls, $0.40, 11:54 so far, ~0:03 left"
    assert len(said) < 80 and "left" not in progress.line(status(0, 3), 10.0)
    assert drawn(last) == f"{'━' * 35}╸  119 solved"
    checked: Any = SimpleNamespace(done=30, total=120, stats=CallStats(calls=31, cost=0.4))
    assert judges._line(checked, 60.0) == "30/120 judgings, 31 calls, $0.40, 1:00 so far, ~3:00 left"


def test_the_time_left_is_in_proportion_to_what_this_session_has_done() -> None:
    playing = {(f"lot-{number}", 1): 4 for number in range(20)}
    # 20 games in round 4, none ended: the time left is a maximum, and the bar shows 3.5 of 15 rounds of 20 of 120 games.
    early = status(0, 80, playing=playing)
    assert progress.line(early, 60.0).endswith(", at most ~24:43 left") and drawn(early) == "━"
    assert "left" not in progress.line(status(0, 9, playing={("lot-1", 1): 1}), 60.0), "no round has ended"
    assert "score" not in progress.line(status(99, 200), 10.0), "the easy games have ended"
    broken: Any = SimpleNamespace(outcome="judge_failed", why="Your credit is used up. " * 9, score=early)
    early.traces[0] = SimpleNamespace(**vars(broken) | {"score": SimpleNamespace(value=None, parts={})})
    assert progress.lines(early, (0.0, 0.0)).splitlines()[1].startswith("1 failed, the last: Your credit is")
    # 24.7 of 120 games in a minute; if 12 of them were done before, the other half of what is left takes twice as long.
    half = status(20, 200, playing=playing)
    assert progress.line(half, 60.0).endswith("~3:52 left")
    assert progress.line(half, 60.0, 0.1).endswith("~7:32 left")
    assert progress.line(status(120, 200), 60.0).endswith(", 1:00 so far")
    # Two of three games of 15 rounds have ended, the last is in its last round.
    last = status(2, 200, playing={("lot-3", 1): 15})
    last.total = 3
    assert progress.line(last, 450.0).endswith("~0:05 left")


def test_the_step_under_way_and_the_last_verdict_are_told_in_one_line() -> None:
    past = [{"guess": "chess", "verdict": False}, {"guess": "skiing \x1b", "verdict": False}]
    tried = {"guess": "ice skating"}
    for step, turn, said in (
        ("respond", {}, "guessing; round 2: “skiing \ufffd” missed"),
        ("check", tried, "judging; round 2: “skiing \ufffd” missed"),
        ("ask", {**tried, "verdict": True}, "asking; round 3: “ice skating” counted"),
        ("ask", {"guess": None, "verdict": False}, "asking; round 3: no guess missed"),
    ):
        episode: Any = SimpleNamespace(
            sample=SimpleNamespace(id="lot-1"), state={"history": past, "turn": turn}
        )
        asked: Any = SimpleNamespace(step=step, round=3)
        assert progress.doing(status(0, 9, episode=episode, question=asked)) == [
            f"lot-1: round 3 of 15, {said}"
        ]
    assert progress.doing(status(0, 0)) == []


async def test_no_line_of_the_display_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    task = asyncio.create_task(progress.watch(screen)(status(119, 5678)))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.wait({task})
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", screen.getvalue()).replace("\r", "\n").splitlines()
    assert max(map(len, shown)) == 50 and "119/120 games, 1,190 rounds, 5,678 calls, $0.40, …" in shown


async def test_a_pipe_gets_a_line_where_something_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PIPE_S", 0.01)
    written, now = io.StringIO(), status(1, 5)
    task = asyncio.create_task(progress.watch(written)(now))
    await asyncio.sleep(0.1)
    now.stats.calls = 6
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.wait({task})
    first, *lines, last = written.getvalue().splitlines()
    assert (first, last) == ("run: runs/x", progress.ENDING)
    assert [" 5 calls" in line for line in lines] == [True, False]


async def test_the_tally_knows_the_calls_in_flight(tmp_path: Path) -> None:
    seen: list[int] = []

    async def watch(status: object) -> None:
        while True:
            seen.append(len(status.stats.open))
            await asyncio.sleep(0.01)

    with FakeServer(latency=0.05) as server:
        await play(server, tmp_path, watch=watch)
    # The four trials of a chain run side by side.
    assert 0 < max(seen) <= 4 * IN_FLIGHT
