"""The rules of the game, row by row, each played through the compiled graph."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.lotbench.settings import Settings, reveals
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.types import Reply, Trace
from tests.fakes import text_of
from tests.play import (
    CHINESE,
    FILTERED,
    GARBAGE,
    NO,
    QUESTIONS,
    SAMPLE,
    SORRY,
    YES,
    Room,
    candidate,
    judge,
    oracle,
    play,
    said_to_candidate,
)


def rows(traces: list[Trace], **settings: Any) -> list[tuple[Any, ...]]:
    """The rows of all tables of these games' sections in a report."""
    shown = benchmark.sections(traces, Settings(**settings, confirm="never"))
    return [row for section in shown for table in section.tables for row in table.rows]


# ---- The state and the rounds ----


async def test_the_first_attempt_knows_picture_caption_and_masked_response_and_nothing_else() -> None:
    player = candidate("bell")
    await play(player, max_rounds=1)
    assert said_to_candidate(player) == [
        "INPUT\nIMAGE: [picture]IMAGE CAPTION: A puffer fish in a glass tank swells up and shrinks again every "
        "second.\nRESPONSE: My neighbour keeps a(n) <MASK> in the tank.\nTIPS:\nOUTPUT:"
    ]


async def test_each_round_adds_its_guess_question_answer_and_clues_oldest_first() -> None:
    player = candidate("bell", "drum", "horn", asks=["Is it alive?", "Is it loud?"])
    await play(player, judge(NO), oracle("No", "Yes"), max_rounds=3, clue_interval=1)
    tips = said_to_candidate(player)[2].partition("TIPS:\n")[2]
    assert tips == (
        "WRONG-ANS: bell\nQ: Is it alive?\nA: No\nCLUE: It is an object.\nCLUE: Most bedrooms have one.\n"
        "WRONG-ANS: drum\nQ: Is it loud?\nA: Yes\nCLUE: Watch the rhythm.\nCLUE: It ends the night.\nOUTPUT:"
    )


async def test_a_question_is_asked_in_knowledge_of_the_guess_that_just_failed() -> None:
    player = candidate("bell", "drum")
    await play(player, max_rounds=2)
    assert "WRONG-ANS: bell\n" in said_to_candidate(player, "ask")[0]


async def test_at_most_15_respond_and_check_and_14_ask_and_answer() -> None:
    player, checker, teller = candidate(), judge(NO), oracle("No")
    game = await play(player, checker, teller)
    assert [game.calls(step) for step in ("respond", "check", "ask", "answer")] == [15, 15, 14, 14]
    assert (game.outcome, game.attempts) == ("unsolved", 15)
    assert (len(player.asked), len(teller.asked)) == (29, 14)


@pytest.mark.parametrize("rounds", [1, 2, 6])
async def test_no_question_and_no_clue_after_the_last_attempt(rounds: int) -> None:
    six = SAMPLE.model_copy(update={"clues": tuple("abcdef")})
    game = await play(candidate(), sample=six, max_rounds=rounds, clue_interval=1)
    for step in ("ask", "answer", "reveal"):
        assert [one["round"] for one in game.steps(step)] == list(range(1, rounds))
    assert game.trace.steps[-1]["step"] == "check"


async def test_no_question_and_no_clue_after_a_guess_that_solves() -> None:
    game = await play(candidate("bell", "drum"), judge(NO, YES), clue_interval=2)
    assert [(one["step"], one["round"]) for one in game.trace.steps[-2:]] == [("respond", 2), ("check", 2)]


# ---- 1. respond ----


async def test_a_reply_that_repeats_the_frame_is_cut_to_what_stands_in_the_mask() -> None:
    checker = judge(NO)
    game = await play(candidate("My neighbour keeps a church bell in the tank."), checker, max_rounds=1)
    assert game.read("respond", "guess") == ["church bell"]
    assert 'CANDIDATE: "church bell"' in checker.heard("check")[0]


def test_the_response_is_rebuilt_around_the_guess() -> None:
    assert SAMPLE.rebuilt("egg timer") == "My neighbour keeps an egg timer in the tank."


SPOILT = {
    "unparsed": '{"guess": 7}',
    "not_a_phrase": "bell or drum",
    "truncated": Reply('{"guess": "be', "the-candidate", finish="length"),
}


@pytest.mark.parametrize("status", SPOILT)
async def test_a_reply_that_is_no_guess_is_asked_for_again_once_with_the_reason(status: str) -> None:
    player = candidate(SPOILT[status], "bell")
    game = await play(player, max_rounds=1)
    assert game.read("respond", "status") == [status, "ok"]
    assert game.read("respond", "guess") == [None, "bell"]
    first, second = said_to_candidate(player)
    assert "could not be used" not in first
    assert "Your last answer could not be used (" in second
    assert [asked.key.attempt for asked in player.asked] == [0, 1]


@pytest.mark.parametrize("status", SPOILT)
async def test_a_second_failure_is_a_used_round_and_never_reaches_a_judge(status: str) -> None:
    player, checker = candidate(SPOILT[status], SPOILT[status], "bell"), judge(NO)
    game = await play(player, checker, max_rounds=2)
    assert game.read("respond", "status") == [status, status, "ok"]
    assert game.attempts == 2
    assert [one["call"] for one in game.steps("check")[:1]] == [None]
    assert [asked.key.round for asked in checker.asked if asked.key.step == "check"] == [2]
    assert "WRONG-ANS" not in said_to_candidate(player)[2]
    assert game.read("ask", "question") == [QUESTIONS[0]]


@pytest.mark.parametrize("refusal", [SORRY, FILTERED, Reply("", "the-candidate", refusal="No.")])
async def test_refusals_and_content_filters_use_a_round_and_are_not_asked_again(refusal: Any) -> None:
    game = await play(candidate(refusal, "bell"), max_rounds=2)
    assert game.read("respond", "status") == ["refused", "ok"]
    assert [one["round"] for one in game.steps("respond")] == [1, 2]


async def test_rounds_without_a_guess_count_for_the_clue_schedule() -> None:
    player = candidate(SORRY, GARBAGE, GARBAGE, "bell", "drum", "horn")
    game = await play(player, max_rounds=5, clue_interval=2, clue_reveal="next")
    assert [one["round"] for one in game.steps("reveal")] == [2, 4]
    assert "CLUE: It is an object." in said_to_candidate(player)[3]


@pytest.mark.parametrize(("unsolved", "worth"), [("zero", 0.0), ("cap", math.exp(-0.2 * 2))])
async def test_a_game_with_no_valid_guess_is_unsolved_and_shown_apart(unsolved: str, worth: float) -> None:
    settings = {"max_rounds": 2, "unsolved": unsolved}
    game = await play(candidate(SORRY, SORRY), **settings)
    assert game.outcome == "unsolved"
    assert game.trace.score.value == pytest.approx(worth)
    assert game.trace.score.parts["rounds"] == 2
    assert game.trace.score.parts["valid_guess"] is False
    assert ("unsolved games without a valid guess", 1, 1, 1.0) in rows([game.trace], **settings)


async def test_a_guess_in_another_language_is_judged_and_counted() -> None:
    checker = judge(NO, YES)
    game = await play(candidate("钟", "bell"), checker)
    assert game.read("respond", "language_mismatch") == [True, False]
    assert 'CANDIDATE: "钟"' in checker.heard("check")[0]
    assert ("language_mismatch, of the ok", 1, 2, 0.5) in rows([game.trace])


# ---- 2. check ----


async def test_an_accepted_guess_ends_the_game_with_t_the_failed_attempts_before_it() -> None:
    game = await play(candidate("bell", "drum", "egg timer"), judge(NO, NO, YES))
    assert (game.outcome, game.attempts, game.trace.score.parts["rounds"]) == ("solved", 3, 3)
    assert game.trace.score.value == pytest.approx(math.exp(-0.4))


@pytest.mark.parametrize(
    ("sample", "guess"), [(SAMPLE, "alarm clock"), (SAMPLE, "“The ALARM-clock!”"), (CHINESE, "「鬧 鐘」")]
)
async def test_an_exact_match_after_normalisation_needs_no_call(sample: Item, guess: str) -> None:
    """What is normalised is in `test_words.py`."""
    checker = judge(NO)
    game = await play(candidate(guess), checker, sample=sample)
    assert game.outcome == "solved"
    assert game.values("check") == [{"accepted": True, "how": "exact"}]
    assert checker.asked == []


async def test_an_exact_match_is_certain_and_needs_no_second_opinion() -> None:
    checkers = judge(NO, name="a"), judge(NO, name="b")
    game = await play(candidate("alarm clock"), checkers, confirm="other_judge")
    assert (game.outcome, game.values("confirm")) == ("solved", [])


async def test_a_guess_already_judged_reuses_its_verdict_without_a_call_and_is_counted() -> None:
    checker = judge(NO, YES)
    game = await play(candidate("bell", "The Bell!", "drum"), checker)
    assert game.read("check", "how") == ["judge", "repeat", "judge"]
    assert game.read("check", "accepted") == [False, False, True]
    assert [asked.key.round for asked in checker.asked if asked.key.step == "check"] == [1, 3]
    assert ("guesses judged that had been judged before in their game", 1, 3, 1 / 3) in rows([game.trace])


async def test_verdicts_are_reused_inside_a_game_only(tmp_path: Path) -> None:
    checker = judge(NO)
    room = Room(tmp_path, candidate("bell"), [checker], oracle(), max_rounds=1)
    with room.journal:
        await room.games(("lot-1", 1), ("lot-1", 2), ("lot-1", 3))
    assert sorted(asked.key.repeat for asked in checker.asked if asked.key.step == "check") == [1, 2, 3]


# ---- 3. ask ----


@pytest.mark.parametrize("said", ["What does it do?", "It is loud.", "Is it alive? Is it loud?", GARBAGE])
async def test_a_question_that_is_not_yes_or_no_is_asked_for_again_once(said: str) -> None:
    player = candidate(asks=[said, "Is it alive?"])
    game = await play(player, max_rounds=2)
    assert game.read("ask", "question") == [None, "Is it alive?"]
    assert [asked.key.attempt for asked in player.asked if asked.key.step == "ask"] == [0, 1]
    first, second = said_to_candidate(player, "ask")
    assert "could not be used" not in first
    assert "Your last answer could not be used (" in second
    assert game.read("answer", "answer") == ["No"]


async def test_after_a_second_failure_the_round_has_no_question_and_the_oracle_is_not_asked() -> None:
    player, teller = candidate(asks=["Why?", "Why?", "Is it alive?"]), oracle("Yes")
    game = await play(player, oracles=teller, max_rounds=3)
    assert game.read("ask", "question") == [None, None, "Is it alive?"]
    assert [one["round"] for one in game.steps("answer")] == [2]
    assert "Q:" not in said_to_candidate(player)[1]


async def test_a_refused_question_is_not_asked_for_again() -> None:
    game = await play(candidate(asks=[SORRY]), max_rounds=2)
    assert game.read("ask", "status") == ["refused"]


@pytest.mark.parametrize("said", ["No", "Hm"])
async def test_a_question_already_asked_is_asked_for_again_also_if_its_answer_is_missing(said: str) -> None:
    player = candidate(asks=["Is it alive?", "is it ALIVE", "Is it loud?"])
    game = await play(player, oracles=oracle(said, "Yes"), max_rounds=3)
    assert game.read("ask", "question") == ["Is it alive?", None, "Is it loud?"]
    assert "(asked before)" in said_to_candidate(player, "ask")[2]


LEAKS = {
    "the key text": "Is it an alarm clock?",
    "an alternative that would count": "Could it be the Egg-Timer?",
    "the guess that just failed": "Is it like a church bell?",
    "a guess that failed before": "Is it, say, a drum?",
    "a letter": "Is its first letter A?",
}


@pytest.mark.parametrize("what", LEAKS)
async def test_a_question_that_names_a_guess_is_flagged_and_answered_as_any_other(what: str) -> None:
    player = candidate("drum", "church bell", "horn", asks=["Is it alive?", LEAKS[what]])
    game = await play(player, oracles=oracle("No", "Yes"), max_rounds=3)
    assert game.read("ask", "leak") == [False, True]
    assert game.read("answer", "answer") == ["No", "Yes"]
    assert f"Q: {LEAKS[what]}\nA: Yes\n" in said_to_candidate(player)[2]


async def test_leaks_are_counted() -> None:
    leaky = await play(candidate("bell", "drum", asks=["Is it an alarm clock?"]), judge(NO, YES))
    tight = await play(candidate("bell", "drum", "horn"), judge(NO, NO, YES))
    assert ("oracle_leaks: questions with the key text or a tried guess, or on letters", 1, 3, 1 / 3) in rows(
        [leaky.trace, tight.trace]
    )


# ---- 4. answer ----


async def test_an_answer_is_told_to_the_candidate_as_yes_or_no() -> None:
    player = candidate(asks=["Is it alive?", "Is it loud?"])
    await play(player, oracles=oracle({"answer": "No"}, "Yes."), max_rounds=3)
    assert "Q: Is it alive?\nA: No\n" in said_to_candidate(player)[1]
    assert "Q: Is it loud?\nA: Yes\n" in said_to_candidate(player)[2]


async def test_answers_are_told_in_the_language_of_the_sample() -> None:
    player = candidate("铃铛", "鼓", asks=["它是活的吗？"])
    await play(player, oracles=oracle("是"), sample=CHINESE, max_rounds=2)
    assert "问：它是活的吗？\n答：是\n" in said_to_candidate(player)[1]


@pytest.mark.parametrize("said", ["Perhaps.", SORRY, GARBAGE, FILTERED, '{"answer": "Yes and No"}'])
async def test_an_answer_that_cannot_be_read_is_missing_told_to_nobody_and_play_goes_on(said: Any) -> None:
    player, checker, teller = candidate(), judge(NO), oracle(said, "Yes")
    game = await play(player, checker, teller, max_rounds=3)
    assert game.read("answer", "answer") == [None, "Yes"]
    assert game.outcome == "unsolved"
    assert [asked.key.attempt for asked in teller.asked] == [0, 0]
    assert "Q:" not in said_to_candidate(player)[1]
    assert QUESTIONS[0] not in text_of(player.asked[-1])
    assert ("oracle_failures: answers that are neither Yes nor No", 1, 2, 0.5) in rows(
        [game.trace], max_rounds=3
    )


# ---- 5. reveal ----

# (how, clues, attempts, interval) -> the clues that each attempt is the first to know, by number
SCHEDULES: list[tuple[str, int, int, int, dict[int, list[int]]]] = [
    ("spread", 1, 15, 5, {11: [1]}), ("spread", 3, 15, 5, {6: [1], 11: [2, 3]}), ("spread", 4, 5, 5, {}),
    ("spread", 4, 6, 5, {6: [1, 2, 3, 4]}), ("spread", 5, 15, 4, {5: [1], 9: [2, 3], 13: [4, 5]}),
    ("next", 3, 15, 5, {6: [1], 11: [2]}), ("next", 2, 4, 1, {2: [1], 3: [2]}),
]  # fmt: skip
"""Some of them; `test_every_schedule_keeps_the_order_and_only_next_leaves_clues_out` has the rule for all."""


@pytest.mark.parametrize(("how", "count", "rounds", "interval", "wanted"), SCHEDULES)
async def test_clues_join_after_every_interval_of_failed_rounds_where_an_attempt_can_still_use_them(
    how: str, count: int, rounds: int, interval: int, wanted: dict[int, list[int]]
) -> None:
    clues = tuple(f"Clue {n}." for n in range(1, count + 1))
    player = candidate()
    settings = {"max_rounds": rounds, "clue_interval": interval, "clue_reveal": how}
    await play(player, judge(NO), sample=SAMPLE.model_copy(update={"clues": clues}), **settings)
    known: list[int] = []
    shown: dict[int, list[int]] = {}
    for attempt, text in enumerate(said_to_candidate(player), 1):
        fresh = [n for n in range(1, count + 1) if f"CLUE: Clue {n}." in text and n not in known]
        known += fresh
        shown |= {attempt: fresh} if fresh else {}
    assert shown == wanted


@pytest.mark.parametrize("how", ["spread", "next"])
def test_every_schedule_keeps_the_order_and_only_next_leaves_clues_out(how: Any) -> None:
    for rounds, interval, count in product(range(1, 18), range(1, 8), range(1, 7)):
        settings = Settings(max_rounds=rounds, clue_interval=interval, clue_reveal=how)
        usable = len(range(interval, rounds, interval))
        clues = [f"Clue {n}" for n in range(count)]
        schedule = reveals(clues, settings)
        sizes = [len(one) for one in schedule]
        assert len(schedule) == usable
        assert [clue for one in schedule for clue in one] == clues[: sum(sizes)]
        if how == "spread" and usable:
            assert sum(sizes) == count
            assert sizes == sorted(sizes) and sizes[-1] - sizes[0] <= 1
        if how == "next":
            assert sizes == [1] * min(count, usable) + [0] * (usable - min(count, usable))
