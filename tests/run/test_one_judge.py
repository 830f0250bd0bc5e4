"""Who is one judge: the store, the judge checks and `compare` agree on it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lotbench import load_run
from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import Wanted
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.config.model_names import address, identity, parse
from lotbench.edge.calls.journal import read_journal
from lotbench.report.leaderboard import differing
from lotbench.run import results
from lotbench.run.loading import Run
from tests.playing import play
from tests.server import FakeServer


def chains(run: Run) -> set[str]:
    """Where a run's causal chains came from."""
    return {entry.source for entry in read_journal(run.path / "calls.jsonl") if entry.key.step == "chain"}


def unlike(*runs: Run) -> list[str]:
    one, other = map(results.entry, runs)
    return differing(one, other)


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("gpt-4o-mini", ""),
        ("openai/gpt-4o-mini", ""),
        ("gpt-4o-mini@https://API.openai.com:443/v1/", ""),
        ("openrouter/openai/gpt-4o-mini", ""),
        ("llama@http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
        ("ollama/llama", "http://127.0.0.1:11434/v1"),
        ("llama@http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        ("vllm/llama", "http://127.0.0.1:8000/v1"),
        ("llama@http://[::1]:80/v1", "http://[::1]/v1"),
        ("hf:maker/llama", ""),
        ("python:judge", ""),
        ("file:runs/one", "file:runs/one"),
    ],
)
def test_an_address_says_who_a_model_is_where_it_is_ones_own(name: str, where: str) -> None:
    assert address(parse(name)) == where
    assert identity(parse(name), "an-id") == (f"an-id@{where}" if where else "an-id")


def test_spellings_of_one_model_have_one_identity() -> None:
    one = {identity(parse(name)) for name in ("m", "openai/m", "m@https://api.openai.com/v1")}
    assert one == {"m"}
    assert identity(parse("ollama/m")) == identity(parse("m@http://127.0.0.1:11434/v1")) != "m"
    assert identity(parse("hf:m")) != identity(parse("m"))


async def test_two_servers_with_one_model_name_share_no_chain(tmp_path: Path) -> None:
    with FakeServer() as one, FakeServer() as other:
        first = await play(one, tmp_path)
        again = await play(one, tmp_path, judge=f"judge@{one.url}/")
        second = await play(other, tmp_path)
    assert first.summary["models"]["judge"] == second.summary["models"]["judge"]
    assert (chains(first), chains(again), chains(second)) == ({"call"}, {"store"}, {"call"})
    assert any(name.startswith("roles.judge:") for name in unlike(first, second))
    assert unlike(first, again) == []


async def test_one_provider_under_two_spellings_is_one_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with FakeServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        first = await play(server, tmp_path, judge="gpt-4o-mini", oracle="gpt-4o-mini")
        second = await play(server, tmp_path, judge="openai/gpt-4o-mini", oracle="gpt-4o-mini")
    assert (chains(first), chains(second)) == ({"call"}, {"store"})
    assert unlike(first, second) == []


GIVEN: dict[str, Any] = {"settings": {"judge_mode": "zero_shot", "confirm": "never"}}


async def checked(server: FakeServer, out: Path) -> Path:
    """The record of a check of a server's judge."""
    experiment = Experiment(roles={"judge": (f"judge@{server.url}",)}, repeats=1, **GIVEN)
    wanted = Wanted(Config(experiment=experiment, limits=Limits()), out=out, limit=8)
    (record,) = (await judge_check(wanted)).kept
    return record


def known(run: Run) -> bool:
    """Whether a run's judge is known to have been checked, its report written anew."""
    again, _ = results.rewritten(load_run(run.path))
    return not any(reason.startswith("the judge was never checked") for reason in again.summary["reasons"])


async def test_two_servers_with_one_model_name_share_no_judge_check(tmp_path: Path) -> None:
    with FakeServer() as one, FakeServer() as other:
        runs = [await play(server, tmp_path, **GIVEN) for server in (one, other)]
        await checked(one, tmp_path)
    assert [known(run) for run in runs] == [True, False]
    told = runs[1].report.read_text("utf-8")
    assert "A check of it is in the store, but with other addresses." in told


async def test_a_check_that_a_run_kept_before_addresses_counted_still_stands(tmp_path: Path) -> None:
    with FakeServer() as server:
        run = await play(server, tmp_path, **GIVEN)
        record = await checked(server, tmp_path)
    assert known(run)
    record.unlink()
    kept = json.loads((run.path / "judge.json").read_text("utf-8"))
    for one in kept["records"]:
        assert one["key"].pop("addresses")
    (run.path / "judge.json").write_text(json.dumps(kept), encoding="utf-8")
    assert known(run)


def test_of_two_names_for_one_seat_the_id_that_came_back_decides() -> None:
    from tests.report.test_leaderboard import one

    def run(asked: list[str], *ids: str) -> Any:
        made = one("x", 0.1, 4)
        return replace(made, conditions={**made.conditions, "roles": {"judge": asked}}, ids={"judge": ids})

    dated = "gpt-4o-mini-2024-07-18"
    assert differing(run(["gpt-4o-mini"], dated), run([dated], dated)) == []
    assert differing(run(["gpt-4o-mini"], dated), run([dated])) != []
    assert differing(run(["gpt-4o-mini"], "a"), run([dated], "b")) != []
    assert differing(run(["gpt-4o-mini", "x"], dated), run([dated, "y"], dated)) != []
