"""Whatever a server does has one defined behaviour: a call tried again, a reply of its kind, or a run that stops."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench import check
from lotbench.benchmarks.lotbench.settings import GameEpisode
from lotbench.calls.journal import Journal, read_journal
from lotbench.cli import main
from lotbench.errors import CallFailed, LotbenchError, RunFolderError, TooManyFailures, Unescapable, Unread
from lotbench.harness.state import State
from lotbench.models.retrying import LONGEST_WAIT_S, MALFORMED_TRIES, Waiting
from lotbench.prompting.reply import read_form
from lotbench.run.evaluate import resume
from lotbench.run.loading import load_run
from lotbench.storage.run_folder import Folder
from lotbench.types import Finish, Reply
from tests.asking import Guess, asked, question
from tests.fakes import RuleModel, game_rule
from tests.faults import BROKEN, FAULTS, TRANSPORT, Fault, Mixed, Spoil, Status, Wire, asking
from tests.judging import shipped
from tests.killing import essence
from tests.playing import outcomes, play, steps
from tests.server import FakeServer

# One call: what comes of each fault.


def always(fault: Fault | str) -> Callable[[int, Mapping[str, Any]], Fault | str]:
    return lambda index, body: fault


async def answer(server: FakeServer, **limits: Any) -> Reply:
    async with asked(server.url, **limits) as model:
        return await model(question())


@pytest.mark.parametrize("fault", TRANSPORT + BROKEN)
async def test_a_passing_trouble_is_met_again_and_never_shown(fault: str, waits: list[float]) -> None:
    with FakeServer(faults=[fault, fault]) as server:
        found = await answer(server)
        assert server.log()["requests"] == 3
    assert read_form(found, Guess).guess
    assert len(waits) == 2


@pytest.mark.parametrize("fault", TRANSPORT)
async def test_a_lasting_trouble_fails_the_call_after_the_last_retry(fault: str, waits: list[float]) -> None:
    with FakeServer(faults=always(fault)) as server:
        with pytest.raises(CallFailed, match=r"tries: 4") as caught:
            await answer(server, retries=3)
        assert server.log()["requests"] == 4
    known = FAULTS[fault]
    expected = str(known.status) if isinstance(known, Status) else "no connection to http://127.0.0.1"
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("fault", "limits", "why", "requests"),
    [
        *((fault, {"retries": 50}, r"not JSON|no chat completion", MALFORMED_TRIES) for fault in BROKEN),
        ("hang", {"timeout_s": 0.1, "retries": 2}, r"no answer within 0\.1 s \(tries: 3\)", 3),
        *((Status(code, "I do not like it"), {}, f"{code}: I do not like it", 1) for code in (400, 418, 422)),
    ],
)
async def test_a_fault_that_stays_fails_that_call_and_is_not_paid_for_for_ever(
    fault: Fault | str, limits: dict[str, Any], why: str, requests: int, waits: list[float]
) -> None:
    """A broken body, a server that always hangs, and a refusal of one body."""
    with FakeServer(faults=always(fault)) as server:
        with pytest.raises(CallFailed, match=why):
            await answer(server, **limits)
        assert server.log()["requests"] == requests


async def test_waits_double_up_to_the_longest_and_differ_from_call_to_call(waits: list[float]) -> None:
    with FakeServer(faults=always("503")) as server:
        async with asked(server.url, retries=7) as model:
            for number in range(2):
                with pytest.raises(CallFailed):
                    await model(question(number=number))
    first, second = waits[:7], waits[7:]
    assert first != second
    for attempt, (one, other) in enumerate(zip(first, second, strict=True)):
        longest = min(0.5 * 2**attempt, LONGEST_WAIT_S)
        assert 0.75 * longest <= one <= longest
        assert 0.75 * longest <= other <= longest


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (429, "7", 7.0), (429, "0.05", 0.05), (503, "7", 7.0), (429, "0", 0.0), (429, "121", 121.0),
        (503, "600", 600.0),
    ],
)  # fmt: skip
async def test_the_wait_that_a_server_asks_for_is_kept_to_the_second(
    status: int, header: str, seconds: float, waits: list[float]
) -> None:
    with FakeServer(faults=[Status(status, "slow down", retry_after=header)]) as server:
        await answer(server)
        assert server.log()["requests"] == 2
    assert waits == [seconds]


async def test_a_server_that_always_says_0_is_not_asked_at_once_for_ever(waits: list[float]) -> None:
    """All tries were spent within milliseconds."""
    with FakeServer(faults=[Status(429, "slow down", retry_after="0")] * 4) as server:
        await answer(server)
    assert waits[0] == 0 and len(waits) == 4
    assert all(0.75 * least <= wait <= least for wait, least in zip(waits[1:], (1, 2, 4), strict=True))


@pytest.mark.parametrize("status", [429, 503])
async def test_a_wait_longer_than_allowed_fails_the_call_at_once(status: int, waits: list[float]) -> None:
    with FakeServer(faults=[Status(status, "slow down", retry_after="121")]) as server:
        with pytest.raises(CallFailed, match="told to wait 121 s, max_wait_s is 120"):
            await answer(server, max_wait_s=120)
        assert server.log()["requests"] == 1
    assert waits == []


async def test_a_wait_is_really_waited_and_counted_meanwhile() -> None:
    waiting = Waiting()
    with FakeServer(faults=["429_soon"]) as server:
        async with asked(server.url, waiting=waiting) as model:
            call = asyncio.create_task(model(question()))
            seen = 0
            while not call.done():
                seen = max(seen, waiting.retries)
                await asyncio.sleep(0.005)
    assert seen == 1
    assert waiting.retries == 0


async def test_a_cancelled_wait_is_no_longer_counted() -> None:
    waiting = Waiting()
    waits = asyncio.create_task(waiting.wait(60))
    await asyncio.sleep(0)
    assert waiting.retries == 1
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    assert waiting.retries == 0


@pytest.mark.parametrize("fault", [Wire("hang", 60.0), Wire("drip", 3.0)])
async def test_an_attempt_that_takes_too_long_is_ended_and_retried(fault: Wire, waits: list[float]) -> None:
    """A drip keeps each byte within any read timeout; the attempt as a whole is timed."""
    with FakeServer(faults=[fault]) as server:
        found = await answer(server, timeout_s=0.3)
        assert server.log()["requests"] == 2
    assert found.text


@pytest.mark.parametrize("fault", ["drip", "wrong_type"])
async def test_a_slow_reply_within_the_timeout_is_read_and_one_under_the_wrong_content_type(
    fault: str,
) -> None:
    with FakeServer(faults=[fault]) as server:
        assert read_form(await answer(server, timeout_s=5), Guess).guess
        assert server.log()["requests"] == 1


@pytest.mark.parametrize(
    ("fault", "about"),
    [
        ("401", "the key in .LOTBENCH_API_KEY was refused"), ("403", "the key in .LOTBENCH_API_KEY was refused"),
        ("404", "no such model or address"), ("429_quota", "no credit left"),
        (Status(402, "Insufficient credits"), "no credit left"),
    ],
)  # fmt: skip
async def test_what_no_other_call_can_escape_stops_the_run_after_one(
    fault: Fault | str, about: str, waits: list[float]
) -> None:
    with FakeServer(faults=always(fault)) as server:
        # The connection test; a 403 later may be of a firewall that dislikes one prompt.
        test = replace(question(), key=replace(question().key, step="preflight"))
        with pytest.raises(Unescapable, match=about) as caught:
            async with asked(server.url) as model:
                await model(test)
        assert server.log()["requests"] == 1
    assert caught.value.exit_code == 1
    assert "\n" not in str(caught.value)
    assert waits == []


@pytest.mark.parametrize(
    ("fault", "finish"),
    [
        (Status(400, "maximum context length is 10 tokens, your messages have 20"), "length"),
        (Status(400, "The response was filtered", "content_filter"), "content_filter"),
        (Status(403, "Your input was flagged", "content_policy_violation"), "content_filter"),
    ],
)
async def test_a_prompt_too_long_or_banned_is_a_reply_of_its_kind(fault: Status, finish: Finish) -> None:
    with FakeServer(faults=[fault]) as server:
        found = await answer(server)
    assert (found.text, found.finish, found.model) == ("", finish, "")


REPLIES = {
    "null": "unparsed", "tool_calls": "unparsed", "length": "truncated", "content_filter": "refused",
    "refusal": "refused", "huge": "unparsed", "garbage": "unparsed", "unclosed": "truncated",
}  # fmt: skip


@pytest.mark.parametrize("fault", [fault for fault in REPLIES if fault != "huge"])
async def test_a_reply_that_came_is_read_as_what_it_is_and_not_asked_for_again(fault: str) -> None:
    with FakeServer(faults=[fault]) as server:
        found = await answer(server)
        assert server.log()["requests"] == 1
    with pytest.raises(Unread) as caught:
        read_form(found, Guess)
    assert caught.value.kind == REPLIES[fault]


def test_every_fault_of_the_server_is_in_a_test_above() -> None:
    tested = {*TRANSPORT, *BROKEN, "429_second", "429_late", "429_quota", "401", "403", "404"}
    content = {fault for fault in FAULTS if isinstance(FAULTS[fault], Spoil)}
    # A reply that unpacks to gigabytes and one that sends on to another host: tests/models/test_hostile_server.py.
    hostile = {"bomb", "elsewhere"}
    assert FAULTS.keys() == tested | content | hostile | {"hang", "drip", "wrong_type"}


# Whole runs.


async def test_a_run_through_transport_troubles_ends_as_one_without(
    tmp_path: Path, waits: list[float]
) -> None:
    # The model's name is its address, and the address draws the episode: one server for both runs.
    with FakeServer() as server:
        calm = await play(server, tmp_path / "calm", fresh=True)
        server.change(faults=Mixed(rate=0.5, seed=1))
        rough = await play(server, tmp_path / "rough", fresh=True)
        assert server.log()["by_status"].keys() > {"200"}
    assert waits
    assert rough.summary["scores"] == calm.summary["scores"]
    assert outcomes(rough) == outcomes(calm)


@pytest.mark.parametrize("refused", [1, 40])
async def test_one_forbidden_prompt_stops_no_run_and_a_key_that_was_revoked_does(
    refused: int, tmp_path: Path
) -> None:
    forbidden = Status(403, "Forbidden")
    with FakeServer(faults=lambda index, body: forbidden if 12 <= index < 12 + refused else None) as server:
        if refused == 1:
            run = await play(server, tmp_path, max_failed=1.0)
            assert [trace.arrived for trace in run.traces].count(False) == 1
        else:
            # Twelve games begin with the candidate, so it is refused three times in a row.
            with pytest.raises(Unescapable, match="403: Forbidden"):
                await play(server, tmp_path, max_failed=1.0, limit=12)


async def test_a_refused_call_gives_its_role_no_second_id(tmp_path: Path) -> None:
    """The server names the model in replies; in a refusal it names none."""
    refused = Status(400, "The response was filtered", "content_filter")
    with FakeServer(faults=lambda index, body: refused if index % 5 == 4 else None) as server:
        run = await play(server, tmp_path, max_failed=1.0)
    roles = {
        entry.role
        for entry in read_journal(run.path / "calls.jsonl")
        if entry.reply.finish == "content_filter"
    }
    assert len(roles) > 1
    assert {len(ids) for ids in run.summary["models"].values()} == {1}
    assert not any("candidate" in ids for ids in run.summary["models"].values())


async def test_a_wrong_key_costs_one_call_a_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", "wrong-key")
    with FakeServer(api_key="right-key") as server:
        with pytest.raises(Unescapable, match=r"401.*LOTBENCH_API_KEY was refused") as caught:
            await play(server, tmp_path, limit=5, repeats=3, settings={"max_rounds": 1})
        assert server.log()["requests"] <= 3
        stopped = caught.value
        assert stopped.exit_code == 1
        assert stopped.run is not None
        left = load_run(stopped.run)
        assert not left.traces and left.summary["complete"] is False
        assert left.summary["rankable"] is False
        monkeypatch.setenv("LOTBENCH_API_KEY", "right-key")
        done = await resume(stopped.run)
    assert done.summary["complete"] is True
    assert len(done.traces) == 15
    text = "".join(path.read_text(encoding="utf-8") for path in stopped.run.rglob("*") if path.is_file())
    assert "wrong-key" not in text and "right-key" not in text


@pytest.mark.parametrize(
    ("able", "arm", "named"),
    [
        ({"models": ["judge", "oracle"]}, "caption", "`candidate` does not exist"),
        ({"pictures": False}, "image+caption", "--set arm=caption"),
    ],
)
async def test_a_candidate_that_cannot_answer_stops_the_run_by_name(
    tmp_path: Path, able: dict[str, Any], arm: str, named: str
) -> None:
    with FakeServer(**able) as server:
        with pytest.raises(Unescapable, match=named):
            await play(server, tmp_path, settings={"arm": arm})
        assert server.log()["requests"] <= 3


@pytest.mark.parametrize(("arm", "who"), [("image+caption", {"candidate"}), ("caption", set())])
async def test_pictures_reach_the_candidate_and_nobody_else(tmp_path: Path, arm: str, who: set[str]) -> None:
    with FakeServer(keep_bodies=True) as server:
        await play(server, tmp_path, settings={"arm": arm})
        seen = {
            body["model"]
            for body in server.bodies
            if any(isinstance(message["content"], list) for message in body["messages"])
        }
    assert seen == who


def troubled(sample: str, fault: str = "500", role: str = "candidate") -> Any:
    """A plan by which one sample's calls always meet a fault."""
    return lambda index, body: fault if sample in json.dumps(body) and body["model"] == role else None


CAPTIONS = [(item.id, item.caption) for item in shipped(3)]
FIRST = [name for name, _ in CAPTIONS]
"""The samples that are played here; `--limit` would draw others."""


async def test_one_sample_whose_calls_all_fail_stops_no_others(tmp_path: Path, waits: list[float]) -> None:
    name, caption = CAPTIONS[1]
    with FakeServer(faults=troubled(caption)) as server:
        run = await play(server, tmp_path, samples=FIRST, max_failed=0.5)
    ends = outcomes(run)
    assert [episode for episode, outcome in ends.items() if outcome == "candidate_failed"] == [f"{name}/1"]
    assert len(ends) == 3
    (broken,) = [trace for trace in run.traces if trace.outcome == "candidate_failed"]
    assert not broken.arrived
    assert broken.why is not None and "500" in broken.why
    assert broken.score.value == 0.0
    assert run.summary["outcomes"]["candidate_failed"] == 1


@pytest.mark.parametrize("role", ["judge", "oracle"])
async def test_a_failed_call_is_its_own_roles_failure(tmp_path: Path, role: str, waits: list[float]) -> None:
    name, caption = CAPTIONS[0]
    with FakeServer(rule=game_rule(solve=0), faults=troubled(caption, "503", role)) as server:
        run = await play(server, tmp_path, samples=FIRST, max_failed=0.5)
    ends = outcomes(run)
    assert ends.pop(f"{name}/1") == f"{role}_failed"
    assert set(ends.values()) == {"unsolved"}


async def test_more_failures_than_allowed_stop_the_run_resumably(tmp_path: Path, waits: list[float]) -> None:
    with FakeServer() as server:
        server.change(faults=lambda index, body: "500" if index >= 3 else None)
        with pytest.raises(
            TooManyFailures, match=r"[12] tasks? failed, and max_failed lets 1 fail; the last one: .*500"
        ) as caught:
            await play(server, tmp_path, limit=10, concurrency=1)
        assert caught.value.exit_code == 4
        assert caught.value.run is not None
        left = load_run(caught.value.run)
        assert left.summary["complete"] is False
        assert set(left.summary["outcomes"]) == {"candidate_failed"}
        server.change(faults=None)
        done = await resume(caught.value.run)
    assert done.summary["complete"] is True
    assert not any(outcome.endswith("_failed") for outcome in outcomes(done).values())


async def test_a_bug_in_one_episode_does_not_stop_the_others_and_ends_as_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided = check.decided_without_judge

    def buggy(state: State, episode: GameEpisode) -> check.Ruling | None:
        if episode.sample.id == CAPTIONS[0][0] and episode.round == 2:
            raise KeyError("bug")
        return decided(state, episode)

    models = {"candidate": RuleModel(), "judge": RuleModel(game_rule(solve=0)), "oracle": RuleModel()}
    with (
        monkeypatch.context() as patched,
        pytest.raises(
            LotbenchError, match=rf"1 tasks crashed, first sample {CAPTIONS[0][0]}, repeat 1: KeyError"
        ) as caught,
    ):
        patched.setattr(check, "decided_without_judge", buggy)
        await play("", tmp_path, samples=FIRST, **models)

    assert caught.value.exit_code == 1
    assert caught.value.run is not None
    left = load_run(caught.value.run)
    assert len(left.traces) == 2 and left.summary["complete"] is False
    done = await resume(caught.value.run, own=own(models))
    assert done.summary["complete"] is True


def own(models: Mapping[str, Any]) -> dict[str, Any]:
    """Models under the names that `evaluate` gave them."""
    first = {"python:RuleModel": models["candidate"]}
    return first | {f"python:RuleModel-{role}-0": models[role] for role in ("judge", "oracle")}


@pytest.mark.parametrize("fault", REPLIES)
async def test_a_guess_that_cannot_be_read_is_a_used_round_of_its_kind(tmp_path: Path, fault: str) -> None:
    with FakeServer(faults=asking("guess", fault, "candidate")) as server:
        run = await play(server, tmp_path, limit=1, settings={"max_rounds": 2})
        responds = server.log()["by_form"]["respond"]
    (trace,) = run.traces
    assert trace.outcome == "unsolved" and trace.score.value == 0.0
    guesses = steps(run, "respond")
    assert {step["status"] for step in guesses} == {"not_a_phrase" if fault == "huge" else REPLIES[fault]}
    # Asked again once a round, but for a refusal, which is an answer.
    assert responds == len(guesses) == (2 if REPLIES[fault] == "refused" else 4)


@pytest.mark.parametrize("fault", REPLIES)
async def test_a_verdict_that_came_and_cannot_be_read_is_a_judge_failure_and_never_a_no(
    tmp_path: Path, fault: str
) -> None:
    with FakeServer(faults=asking("same_creative_point", fault)) as server:
        run = await play(
            server, tmp_path, limit=1, max_failed=1.0, settings={"max_rounds": 2, "judge_mode": "explained"}
        )
        verdicts = server.log()["by_form"]["verdict"]
    (trace,) = run.traces
    assert (trace.outcome, trace.arrived, trace.score.value) == ("judge_failed", True, None)
    assert verdicts == 2
    assert run.summary["scores"]["creativity_score"]["value"] is None or run.summary["outcomes"] == {
        "judge_failed": 1
    }


@pytest.mark.parametrize("fault", REPLIES)
async def test_an_answer_that_cannot_be_read_costs_that_rounds_answer(tmp_path: Path, fault: str) -> None:
    with FakeServer(
        rule=game_rule(solve=0),
        faults=lambda index, body: fault if body["model"] == "oracle" and index > 2 else None,
    ) as server:
        run = await play(server, tmp_path, limit=1)
    (trace,) = run.traces
    assert trace.outcome == "unsolved"
    assert [step["answer"] for step in steps(run, "answer")] == [None, None]


@pytest.mark.parametrize("file", ["calls.jsonl", "traces.jsonl"])
async def test_a_full_disk_stops_the_run_which_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    before, room = asyncio.all_tasks(), 12 if file == "calls.jsonl" else 1

    def full(write: Any) -> Any:
        def written(self: Any, made: Any) -> None:
            nonlocal room
            room -= 1
            if room < 0:
                raise RunFolderError(f"{file}: No space left on device")
            write(self, made)

        return written

    with FakeServer() as server:
        with monkeypatch.context() as patch:
            place, name = (Journal, "put") if file == "calls.jsonl" else (Folder, "append")
            patch.setattr(place, name, full(getattr(place, name)))
            with pytest.raises(RunFolderError, match="No space left") as caught:
                await play(server, tmp_path)
        assert asyncio.all_tasks() == before
        assert caught.value.run is not None
        assert (await resume(caught.value.run)).summary["complete"] is True


@pytest.mark.parametrize("text", ['{"guess": "a \ud83d b"}', r'{"guess": "a \ud83d b"}'])
async def test_half_of_a_character_pair_stops_nobody(tmp_path: Path, text: str) -> None:
    """JSON can spell it, in the response or once more in the text, and no file can hold it."""
    broken = Reply(text, "candidate-\ud83d", reasoning="\udc00")

    async def candidate(messages: list[dict[str, Any]]) -> Reply:
        return broken

    with FakeServer(rule=game_rule(solve=0)) as server:
        run = await play(server, tmp_path, limit=1, candidate=candidate, settings={"ask": False})

    assert {step["guess"] for step in steps(run, "respond")} == {"a \ufffd b"}
    assert run.summary["models"]["candidate"] == ["candidate-\ufffd"]


async def test_a_wall_clock_that_jumps_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waits: list[float]
) -> None:
    """Deadlines, how long to wait and durations are of the clock that only runs forward."""
    hours, wall = itertools.cycle((0, 26, -30, 5, -1)), time.time
    how: dict[str, Any] = {"time_limit": 120, "timeout_s": 30, "fresh": True}
    with FakeServer(faults=Mixed(kinds=("503", "429_soon")), caches=False) as server:
        calm = await play(server, tmp_path / "calm", **how)
        server.change(faults=Mixed(kinds=("503", "429_soon")))
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: wall() + 3600 * next(hours))
            jumping = await play(server, tmp_path / "jumping", **how)
    assert essence(jumping.path) == essence(calm.path)
    assert 0 < jumping.summary["wall_s"] < 120
    began = [line.started for line in read_journal(jumping.path / "calls.jsonl")]
    assert max(began) - min(began) > 3600


async def test_servers_whose_ids_are_half_a_character_pair_leave_every_file_readable(
    tmp_path: Path, waits: list[float]
) -> None:
    with FakeServer(suffix="\ud83d", faults=Mixed(kinds=("no_choices",))) as server:
        run = await play(server, tmp_path, limit=2)
        again = await resume(run.path)
    for file in run.path.rglob("*.json*"):
        file.read_text(encoding="utf-8")
    assert load_run(run.path).summary["models"] == again.summary["models"]
    assert run.summary["models"]["judge"] == ["judge\ufffd"]
    assert main(["report", str(run.path)]) == 0


async def test_nothing_is_left_running_after_a_stopped_run(tmp_path: Path, waits: list[float]) -> None:
    before = asyncio.all_tasks()
    with FakeServer(faults=lambda index, body: "401" if index > 5 else None, latency=0.01) as server:
        with pytest.raises(Unescapable):
            await play(server, tmp_path, limit=8)
        with pytest.raises(Unescapable):
            server.change(faults=lambda index, body: "401" if body["model"] == "judge" else "hang")
            await play(server, tmp_path, limit=8)
        assert asyncio.all_tasks() == before
