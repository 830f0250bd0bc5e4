"""The environment: games stepped from outside are the games of a run, whatever is done to them on the way."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lotbench
from lotbench.calls.journal import read_journal
from lotbench.cli import main
from lotbench.environment.game import LONGEST, Game
from lotbench.errors import CallFailed, LimitReached, RunFolderError, Unreachable, UsageError
from lotbench.run.evaluate import evaluate, resume
from lotbench.run.rescore import replay_run, requests
from lotbench.run.results import rewritten
from lotbench.types import Reply, Usage
from tests.bench.stepping import stepped
from tests.pages import ROOT
from tests.stepping import Counted, judges, play, player, policy, ruled, timeless

SMALL: dict[str, Any] = {
    "seed": 1,
    "limit": 3,
    "settings": {"max_rounds": 4, "clue_interval": 2},
    "check": False,
}
ARMS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "frame hidden": {"frame": "hidden"},
    "frame earned": {"frame": "earned"},
    "encore": {"encore": True},
    "encore, frame earned": {"encore": True, "frame": "earned", "arm": "caption"},
    "conversation": {"conversation": "growing"},
    "conversation, frame earned": {"conversation": "growing", "frame": "earned"},
    "several draws": {"framework": "cot_sc", "votes": 3, "chain": "per_call"},
    "notes": {"framework": "ddcot"},
}


def small(**settings: Any) -> dict[str, Any]:
    return {**SMALL, "settings": SMALL["settings"] | settings}


def keys(run: Path) -> Counter[str]:
    return Counter(str(entry.key) for entry in read_journal(run / "calls.jsonl"))


FAST = ("the paper's", "conversation, frame earned", "several draws")


@pytest.mark.parametrize(
    "arm", [*FAST, *(pytest.param(arm, marks=pytest.mark.slow) for arm in ARMS if arm not in FAST)]
)
async def test_stepped_games_leave_the_traces_of_evaluate(arm: str, tmp_path: Path) -> None:
    asked = small(**ARMS[arm])
    run = await evaluate(model=player, roles=judges(), out=tmp_path / "run", repeats=4, **asked)
    async with lotbench.games(out=tmp_path / "stepped", fresh=True, **judges(), **asked) as games:
        names = [(trace.sample, trace.repeat) for trace in run.traces]
        traces = await asyncio.gather(*map(play, [await games.new(*name) for name in names]))
    assert list(map(timeless, traces)) == list(map(timeless, run.traces))
    # A guess counts by its digest: in this arm each game has one that does.
    assert "unsolved" in {trace.outcome for trace in traces} or arm == "encore, frame earned"
    assert keys(games.path) == keys(run.path)


@pytest.mark.parametrize(
    ("benchmark", "roles"),
    [("liveideabench", ["judge"]), ("standard", []), ("hicbench", ["judge"]), ("rinobench", ["judge"])],
)
async def test_other_benchmarks_step_alike(benchmark: str, roles: list[str], tmp_path: Path) -> None:
    # Forms with lists in them are told by their schema alone.
    count = 3 if benchmark == "liveideabench" else 1
    models = {role: [ruled(f"{role}{index}") for index in range(count)] for role in roles}
    asked: dict[str, Any] = {"limit": 2, "repeats": 1, "check": False}
    run = await evaluate(benchmark, model=player, roles=models, out=tmp_path / "run", **asked)
    async with lotbench.games(
        benchmark, roles=models, out=tmp_path / "stepped", fresh=True, **asked
    ) as games:
        traces = [await play(await games.new(before.sample, before.repeat)) for before in run.traces]
    assert list(map(timeless, traces)) == list(map(timeless, run.traces))


async def test_an_observation_is_what_the_candidate_would_be_sent(tmp_path: Path) -> None:
    sent: list[list[dict[str, Any]]] = []

    async def player(messages: list[dict[str, Any]]) -> str:
        sent.append(messages)
        return policy(messages)

    asked = small() | {"limit": 1, "concurrency": 1}
    await evaluate(model=player, roles=judges(), out=tmp_path / "run", repeats=1, **asked)
    shown = []
    async with lotbench.games(out=tmp_path / "stepped", **judges(), **asked) as games:
        game = await games.new(*games.samples, 1)
        wanted = [game.observation.wants] if game.observation else []
        while game.observation is not None:
            shown.append(game.observation.messages)
            await game.step(policy(shown[-1]))
            wanted += [game.observation.wants] if game.observation else []
    assert shown == sent
    parts = [part for message in shown[0] for part in message["content"] if isinstance(part, dict)]
    assert any(part["type"] == "image_url" for part in parts)
    assert set(wanted) == {"guess", "question"}


async def test_a_step_tells_what_came_of_it(tmp_path: Path) -> None:
    async with lotbench.games(out=tmp_path, **judges(), **small(max_rounds=1)) as games:
        game = await games.new(next(iter(games.samples)))
        assert game.observation is not None
        assert (game.observation.round, game.reward, game.done) == (1, None, False)
        observation, reward, done, info = await game.step(game.observation.answer("a blue kettle"))
    assert observation is None
    assert done
    assert [step["step"] for step in info["steps"]][-1] in ("check", "chain_accepted")
    assert info["steps"][0]["value"]["guess"] == "a blue kettle"
    assert info["outcome"] in ("solved", "unsolved")
    assert reward == info["score"]["value"] == game.reward
    assert {"rounds", "first_positive", "attempts", "tier"} <= info["score"]["parts"].keys()


async def test_a_judge_that_fails_gives_no_reward(tmp_path: Path) -> None:
    async def fails(messages: list[dict[str, Any]]) -> str:
        raise ValueError("out of order")

    async with lotbench.games(
        out=tmp_path, judge=Counted("judge", fails), oracle=Counted("oracle"), **small()
    ) as games:
        game = await games.new(next(iter(games.samples)))
        assert game.observation is not None
        observation, reward, done, info = await game.step(game.observation.answer("a blue kettle"))
    assert (observation, reward, done) == (None, None, True)
    assert info["outcome"] == "judge_failed"
    assert "out of order" in info["why"]
    assert info["score"]["value"] is None


async def wrong_actions(game: Game, before: str) -> None:
    """Everything that is no action here; each is refused with its reason, and nothing has moved."""
    assert game.observation is not None
    here = game.observation
    for action, told in (
        ("", "the action is empty; a (guess|question) is wanted"),
        (" \n", "is empty"),
        ("x" * 1_000_000, f"1,000,000 characters, {LONGEST:,} at most"),
        (Reply("x" * 1_000_000, "mine"), "at most"),
        (b"bytes", "an action is a text or a Reply, not bytes"),
        (None, "not NoneType"),
    ):
        with pytest.raises(UsageError, match=told):
            await game.step(action)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"replies to .*, the game wants"):
        await game.step("a kettle", to=before)
    assert game.observation is here


async def test_a_wrong_action_is_an_error_and_loses_no_game(tmp_path: Path) -> None:
    run = await evaluate(model=player, roles=judges(), out=tmp_path / "run", repeats=1, **small())
    async with lotbench.games(out=tmp_path / "stepped", **judges(), **small()) as games:
        steps = 0
        for wanted in run.traces:
            game, before = await games.new(wanted.sample, 1), "another/1/1/respond/0/0/0"
            rewards = []
            while game.observation is not None:
                await wrong_actions(game, before)
                before = game.observation.key
                rewards.append((await game.step(policy(game.observation.messages), to=before))[1])
            assert game.trace is not None
            assert set(rewards[:-1]) <= {0.0} and rewards[-1] == game.trace.score.value
            assert timeless(game.trace) == timeless(wanted)
            steps += len(rewards)
            with pytest.raises(UsageError, match=r"is over \((solved|unsolved)\): it takes no more actions"):
                await game.step("once more")
    assert steps > len(run.traces)


async def test_two_steps_at_once_are_refused_and_a_cancelled_one_is_waited_for(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def waits(messages: list[dict[str, Any]]) -> str:
        await gate.wait()
        return await Counted("judge")(messages)

    async with lotbench.games(
        out=tmp_path, judge=Counted("judge", waits), oracle=Counted("oracle"), **small()
    ) as games:
        game = await games.new(next(iter(games.samples)))
        assert game.observation is not None
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(game.step(game.observation.answer("a blue kettle")), 0.05)
        with pytest.raises(UsageError, match="a step is under way"):
            await game.step("a red kettle")
        gate.set()
        await game.wait()
        assert (await play(game)).outcome in ("solved", "unsolved")


async def test_what_was_said_is_not_asked_again_when_a_folder_is_opened_again(tmp_path: Path) -> None:
    asked = small() | {"folder": tmp_path / "games"}
    first = judges()
    async with lotbench.games(**first, **asked) as games:
        names = list(games.samples)
        over = await play(await games.new(names[0], 5))
        game, before = await games.new(names[2], 5), []
        for _ in range(3):
            if game.observation is not None:
                before += (await game.step(policy(game.observation.messages)))[3]["steps"]
        stopped_at = game.observation
    assert stopped_at is not None
    async with lotbench.games(**judges(), **asked) as games:
        # Who names no seed gets a game from its beginning, and not one that was left half played.
        fresh = [await games.new(names[2]) for _ in range(6)]
        assert [(game.seed, game.observation.round) for game in fresh if game.observation] == [
            (seed, 1) for seed in (0, 1, 2, 3, 4, 6)
        ]
    again = judges()
    async with lotbench.games(**again, **asked) as games:
        finished = await games.new(names[0], 5)
        assert finished.done
        assert finished.trace == over
        game = await games.new(names[2], 5)
        assert game.observation is not None
        assert game.observation.key == stopped_at.key
        assert game.observation.messages == stopped_at.messages
        assert (again["judge"].calls, again["oracle"].calls) == (0, 0)
        _, _, _, told = await game.step(policy(game.observation.messages))
        trace = await play(game)
        # What came of the actions of the first session is not told as what came of this one.
        assert list(told["steps"]) == list(trace.steps[len(before) : len(before) + len(told["steps"])])
    whole = judges()
    async with lotbench.games(**whole, **small(), out=tmp_path, fresh=True) as games:
        assert timeless(await play(await games.new(names[0], 5))) == timeless(over)
        assert timeless(await play(await games.new(names[2], 5))) == timeless(trace)
    for role in ("judge", "oracle"):
        assert first[role].calls + again[role].calls == whole[role].calls


async def test_a_game_whose_last_call_never_arrived_is_played_again(tmp_path: Path) -> None:
    async def down(messages: list[dict[str, Any]]) -> str:
        raise CallFailed("no connection")

    asked = small() | {"folder": tmp_path / "games", "oracle": Counted("oracle")}
    async with lotbench.games(judge=Counted("judge", down), **asked) as games:
        sample = next(iter(games.samples))
        assert (await play(await games.new(sample, 0))).outcome == "judge_failed"
    async with lotbench.games(judge=Counted("judge"), **asked) as games:
        game = await games.new(sample, 0)
        assert not game.done
        assert (await play(game)).outcome in ("solved", "unsolved")
    assert [trace.outcome for trace in lotbench.load_run(tmp_path / "games").traces] == [game.trace.outcome]  # type: ignore[union-attr]


async def test_seeds_are_taken_once(tmp_path: Path) -> None:
    asked = small(max_rounds=1) | {"folder": tmp_path / "games"}
    async with lotbench.games(**judges(), **asked) as games:
        sample = next(iter(games.samples))
        seeds = [(await games.new(sample, seed)).seed for seed in (None, 3, None, None, None)]
        assert seeds == [0, 3, 1, 2, 4]
        await play(await games.new(sample))
        with pytest.raises(UsageError, match=f"game {sample}/3 was begun before: take another seed"):
            await games.new(sample, 3)
        with pytest.raises(UsageError, match="no sample 'nowhere' among the 3"):
            await games.new("nowhere")
        # A larger one would stand in the journal as a number that no line can be read with.
        for seed in (-1, 1.5, True, "0", 10**11 + 1):
            with pytest.raises(UsageError, match="a whole number from 0"):
                await games.new(sample, seed)  # type: ignore[arg-type]
    async with lotbench.games(**judges(), **asked) as games:
        assert (await games.new(sample, 5)).done
        assert [(await games.new(sample)).seed for _ in range(6)] == [0, 1, 2, 3, 4, 6]


async def test_a_closed_game_says_so(tmp_path: Path) -> None:
    async with lotbench.games(**judges(), **small(), out=tmp_path) as games:
        one, other = [await games.new(sample) for sample in list(games.samples)[:2]]
        await one.close()
        with pytest.raises(UsageError, match="was closed: open its folder again"):
            await one.step("a kettle")
        assert (await play(other)).outcome in ("solved", "unsolved")
    with pytest.raises(UsageError, match="is over"):
        await other.step("a kettle")
    with pytest.raises(UsageError, match="these games are closed"):
        await games.new(other.sample)


async def test_a_folder_of_another_experiment_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "games"
    async with lotbench.games(**judges(), **small(), folder=folder):
        with pytest.raises(RunFolderError, match="another process"):
            async with lotbench.games(**judges(), **small(), folder=folder):
                pass
    with pytest.raises(RunFolderError, match=r"was begun with another settings\.encore"):
        async with lotbench.games(**judges(), **small(encore=True), folder=folder):
            pass


async def test_a_limit_ends_a_step_and_the_game_goes_on_later(tmp_path: Path) -> None:
    asked = small() | {"folder": tmp_path / "games"}
    async with lotbench.games(**judges(), **asked, time_limit=0.0) as games:
        sample = next(iter(games.samples))
        with pytest.raises(LimitReached):
            await games.new(sample, 0)
    async with lotbench.games(**judges(), **asked) as games:
        assert (await play(await games.new(sample, 0))).outcome in ("solved", "unsolved")


@pytest.mark.parametrize("framework", ["direct", "cot", "ddcot", "plot"])
async def test_an_answer_fills_the_form(framework: str, tmp_path: Path) -> None:
    settings = {"framework": framework, "arm": "caption", "max_rounds": 2}
    async with lotbench.games(**judges(), limit=1, check=False, settings=settings, out=tmp_path) as games:
        game, count = await games.new(*games.samples), 0
        while game.observation is not None:
            count += 1
            words = "Is it alive?" if game.observation.wants == "question" else f"a kettle {count}"
            await game.step(game.observation.answer(words))
    assert game.trace is not None
    said = [step["value"] for step in game.trace.steps if step["step"] in ("respond", "ask")]
    assert {value["status"] for value in said} == {"ok"}


async def test_a_game_that_waits_for_its_player_uses_up_no_limit(tmp_path: Path) -> None:
    asked = {**SMALL, "settings": {**SMALL["settings"], "arm": "caption"}}
    async with lotbench.games(
        **judges(), **asked, out=tmp_path, token_limit=20_000, rpm=1.0, tpm=1.0
    ) as games:
        names = list(games.samples)
        waiting = [await asyncio.wait_for(games.new(name), 5) for name in names for _ in range(30)]
        assert len({(game.sample, game.seed) for game in waiting}) == 90
        # What a player says it has used counts.
        said = Reply("", "mine", usage=Usage(input_tokens=19_000, output_tokens=1_001))
        with pytest.raises(LimitReached, match="20,001 used"):
            await waiting[0].step(said)


async def test_tasks_that_follow_each_other_are_not_stepped(tmp_path: Path) -> None:
    models: dict[str, Any] = {"judge": [ruled("judge0"), ruled("judge1")]}
    settings = {"dhp": True, "dhp_judge": "panel", "answers": 2}
    with pytest.raises(UsageError, match="tasks follow each other: `lotbench evaluate` plays them"):
        async with lotbench.games("hicbench", roles=models, settings=settings, out=tmp_path, check=False):
            pass


async def test_where_no_judge_answers_no_folder_is_left(tmp_path: Path) -> None:
    nobody = "judge@http://127.0.0.1:9/v1"
    with pytest.raises(Unreachable, match="is the server running"):
        async with lotbench.games(judge=nobody, oracle=nobody, out=tmp_path):
            pass
    assert not list(tmp_path.iterdir())


async def test_the_folder_is_a_run_that_can_be_read(tmp_path: Path) -> None:
    async with lotbench.games(**judges(), **small(), folder=tmp_path / "games", player="mine") as games:
        for sample in games.samples:
            await play(await games.new(sample))
    run = lotbench.load_run(tmp_path / "games")
    assert run.config.model == "python:mine"
    assert [trace.sample for trace in run.traces] == list(games.samples)
    # Which games it left is not known: leaving the bad ones raised a trusted score from .46 to .92.
    assert "by the program that plays step by step" in " ".join(rewritten(run)[0].summary["reasons"])
    assert json.loads((run.path / "run.json").read_text(encoding="utf-8"))["benchmark"] == "lotbench"
    # Its first games are those of seed 0, and of no other.
    assert main(["replay", str(run.path)]) == 0


async def test_games_of_any_seed_are_scored_shown_and_kept(tmp_path: Path) -> None:
    asked, players = small() | {"folder": tmp_path / "games"}, judges()
    async with lotbench.games(**players, **asked) as games:
        for sample in games.samples:
            for seed in (0, 1, 7):
                await play(await games.new(sample, seed))
    run = lotbench.load_run(tmp_path / "games")
    before = list(map(timeless, run.traces))
    again = await replay_run(run)
    assert (list(map(timeless, again.traces)), again.not_replayed) == (before, [])
    for trace in run.traces[:3]:
        shown = await requests(run, trace)
        assert {step["call"] for step in trace.steps if step["call"]} <= shown.keys()
    # Two of the plan's own repeats are left to play, and no game is lost for that.
    own = {f"python:{name}": one for name, one in players.items()} | {"python:player": player}
    resumed = await resume(tmp_path / "games", own=own, check=False)
    assert {seed for _, seed in resumed.traces.names} == {0, 1, 2, 3, 7}  # type: ignore[attr-defined]
    assert len(resumed.traces) == 15


KILLED = """
import asyncio, os, signal, sys
import lotbench
from tests.stepping import play, policy
from tests.rules import game_rule

folder, last = sys.argv[1], int(sys.argv[2])

async def judged(messages):
    with open(folder + "-asked", "a") as asked:
        asked.write("x")
    if os.path.getsize(folder + "-asked") == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return policy(messages, game_rule(solve=0.1))

async def main():
    async with lotbench.games(
        judge=judged, oracle=judged, folder=folder, limit=3, check=False, settings={"max_rounds": 4, "clue_interval": 2}
    ) as games:
        await asyncio.gather(*[play(await games.new(sample, 1)) for sample in games.samples])

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_process_that_is_killed_costs_the_calls_in_flight(tmp_path: Path) -> None:
    def ran(name: str, last: int) -> int:
        command = [sys.executable, "-c", KILLED, str(tmp_path / name), str(last)]
        home = os.environ | {"LOTBENCH_HOME": str(tmp_path / f"{name}-home")}
        return subprocess.run(command, cwd=ROOT, env=home, check=False, timeout=120).returncode

    assert ran("whole", 0) == 0
    whole = len((tmp_path / "whole-asked").read_text(encoding="utf-8"))
    for last in (5, 15):
        assert ran(f"killed-{last}", last) == -signal.SIGKILL
        assert ran(f"killed-{last}", 0) == 0
        asked = len((tmp_path / f"killed-{last}-asked").read_text(encoding="utf-8"))
        # Three games stand at once, and one call of each may be in flight.
        assert whole < asked <= whole + 3
        traces, wanted = (lotbench.load_run(tmp_path / n).traces for n in (f"killed-{last}", "whole"))
        assert sorted(map(timeless, traces)) == sorted(map(timeless, wanted))


@pytest.mark.slow
async def test_a_thousand_games_at_once_take_few_milliseconds_a_turn() -> None:
    found = await stepped(1000, max_rounds=3)
    assert found["outcomes"] == {"unsolved": 1000}
    assert found["turns"] == 5000
    # .9 ms on a machine whose cores are busy; 5 are allowed, and a slower machine than that is no fault.
    assert found["cpu_ms_a_turn"] <= 10
    assert found["mb_peak"] - found["mb_opened"] < 400
