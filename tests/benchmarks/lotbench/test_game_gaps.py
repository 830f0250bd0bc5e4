"""What the paper leaves open, and what breaks: failed calls, what a game is worth, when a verdict is confirmed."""

import math
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench import task
from lotbench.benchmarks.lotbench.settings import Settings, cast
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.errors import CallFailed, LotbenchError, Unescapable, UsageError
from lotbench.harness.state import start
from tests.episodes import resolved
from tests.play import (
    GARBAGE,
    GUESSES,
    NO,
    QUESTIONS,
    YES,
    Game,
    Room,
    asked_by,
    candidate,
    judge,
    oracle,
    play,
    reasoned,
)

# ---- Failures ----


@pytest.mark.parametrize(
    ("players", "outcome"),
    [
        ({"candidate": candidate("bell", CallFailed("gone"))}, "candidate_failed"),
        ({"candidate": candidate("bell", "drum", asks=[CallFailed("gone")])}, "candidate_failed"),
        ({"judges": judge(NO, CallFailed("gone"))}, "judge_failed"),
        ({"judges": judge(chains=[CallFailed("gone")])}, "judge_failed"),
        ({"oracles": oracle(CallFailed("gone"))}, "oracle_failed"),
    ],
)
async def test_a_call_that_fails_after_all_retries_ends_the_game_unscored_and_unsolved_if_it_is_the_candidates(
    players: dict[str, Any], outcome: str
) -> None:
    game = await play(players.pop("candidate", None) or candidate(), **players, max_rounds=3)
    mine = outcome == "candidate_failed"
    assert (game.outcome, game.trace.score.value) == (outcome, 0.0 if mine else None)
    assert (game.trace.why, game.trace.arrived) == ("gone", False)
    assert game.trace.score.why == (None if mine else f"{outcome}: gone")


async def test_one_failed_vote_does_not_leave_the_others_behind(tmp_path: Path) -> None:
    player = candidate(reasoned("bell"), CallFailed("gone"), reasoned("drum"))
    player.latency = 0.01
    room = Room(tmp_path, player, [judge(NO)], oracle(), framework="cot_sc", votes=3)
    with room.journal:
        (game,) = await room.games(("lot-1", 1))
    assert game.outcome == "candidate_failed"
    assert [entry.key.draw for entry in room.calls()] == [0, 2]


async def test_an_error_that_ends_the_run_goes_before_one_that_ends_the_game(tmp_path: Path) -> None:
    player = candidate(CallFailed("gone"), Unescapable("wrong key"))
    room = Room(tmp_path, player, [judge(NO)], oracle(), framework="cot_sc", votes=2)
    with room.journal, pytest.raises(Unescapable, match="wrong key"):
        await room.games(("lot-1", 1))


async def test_an_undeclared_state_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def respond(state: Any, runtime: Any) -> dict[str, Any]:
        return {"turn": {"status": "ok", "guess": "bell"}, "colour": "red"}

    monkeypatch.setitem(task.NODES, "respond", respond)
    room = Room(tmp_path, candidate(), [judge(NO)], oracle())
    with room.journal, pytest.raises(LotbenchError, match="colour"):
        await room.games(("lot-1", 1))


async def test_asking_for_a_key_twice_raises(tmp_path: Path) -> None:
    room = Room(tmp_path, candidate(), [judge(NO)], oracle())
    here = room.episode("lot-1", 1)
    question = (await asked_by(task.NODES["respond"], start("lot-1", 1), here))[0]
    with room.journal:
        await room.desk.ask(here, question)
        with pytest.raises(LotbenchError, match="asked twice"):
            await room.desk.ask(here, question)


# ---- The gaps of the paper ----


async def games_solved_at(*attempts: int, **settings: Any) -> list[Game]:
    """One game for each number: the attempt that solves it, 0 for none."""
    return [
        await play(candidate(), judge(*[NO] * (attempt - 1), YES) if attempt else judge(NO), **settings)
        for attempt in attempts
    ]


async def test_t_counts_failed_attempts_from_0_to_14_or_from_1_to_15() -> None:
    for origin in (0, 1):
        first, last = await games_solved_at(1, 15, round_origin=origin)
        assert (first.trace.score.parts["rounds"], last.trace.score.parts["rounds"]) == (1, 15)
        assert (first.attempts, last.attempts) == (1, 15)
        assert last.trace.score.value == pytest.approx(math.exp(-0.2 * (14 + origin)))


async def test_a_judge_failure_is_censored_in_its_round_neither_dropped_nor_imputed() -> None:
    solved = await play(candidate("bell", "drum"), judge(NO, YES), max_rounds=3)
    broken = await play(candidate("bell", "drum"), judge(NO, GARBAGE), max_rounds=3)
    early = await play(candidate("bell"), judge(GARBAGE), max_rounds=3)
    never = await play(candidate("bell", "drum", "horn"), judge(NO), max_rounds=3)
    games = [solved, broken, early, never]
    assert [game.outcome for game in games] == ["solved", "judge_failed", "judge_failed", "unsolved"]
    assert [game.trace.score.parts["unsolved_through"] for game in games[1:3]] == [1, 0]
    metrics = benchmark.metrics([game.trace for game in games], Settings(max_rounds=3, confirm="never"))
    # Round 1: 3 at risk, none solved. Round 2: the one that broke off is gone; 1 of 2 solved.
    assert metrics["solve_rate"].value == pytest.approx(1 / 2)
    assert metrics["creativity_score"].value == pytest.approx(math.exp(-0.2) / 2)
    assert (metrics["creativity_score"].n, metrics["creativity_score"].observations) == (1, 4)


def test_confirmation_is_by_another_judge_where_there_are_two_and_else_never() -> None:
    assert resolved(cast, Settings(), judge=1).confirm == "never"
    assert resolved(cast, Settings(), judge=2).confirm == "other_judge"
    assert resolved(cast, Settings(confirm="never"), judge=2).confirm == "never"
    with pytest.raises(UsageError, match="two judges"):
        resolved(cast, Settings(confirm="other_judge"), judge=1)


async def test_the_most_calls_of_a_game_are_what_the_plan_says() -> None:
    for framework in ("direct", "cot_sc", "ddcot"):
        settings = Settings(max_rounds=4, framework=framework, votes=3, confirm="never")
        thoughts = [{"reasoning": "so", "guess": guess} for guess in GUESSES]
        player = candidate(
            *thoughts,
            asks=[{"reasoning": "so", "question": q} for q in QUESTIONS],
            decompose=[{"notes": "n"}] * 20,
        )
        checker, teller = judge(NO), oracle()
        await play(player, checker, teller, max_rounds=4, framework=framework, votes=3)
        checks = sum(asked.key.step == "check" for asked in checker.asked)
        made = {"candidate": len(player.asked), "judge": checks, "oracle": len(teller.asked)}
        assert made == benchmark.calls(settings)
