"""E1, row by row: how a verdict comes about, what confirms it, and what becomes of one that cannot be read."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.task import ROLES, benchmark
from lotbench.types import Reply
from tests.fakes import text_of
from tests.play import (
    FILTERED,
    GARBAGE,
    NO,
    PROMPTS,
    SAMPLE,
    SORRY,
    YES,
    Room,
    at,
    candidate,
    judge,
    oracle,
    play,
    shape,
    verdict,
)

# ---- The verdict ----


@pytest.mark.parametrize("mode", ["zero_shot", "explained", "causal"])
@pytest.mark.parametrize("point", [True, False])
@pytest.mark.parametrize("function", [True, False])
async def test_a_guess_is_accepted_if_both_creative_point_and_function_are_the_same(
    mode: str, point: bool, function: bool
) -> None:
    game = await play(candidate(), judge(verdict(point, function)), max_rounds=1, judge_mode=mode)
    assert game.outcome == ("solved" if point and function else "unsolved")
    assert game.read("check", "how") == ["judge"]


async def test_chain_and_both_criteria_are_one_call_with_each_reason_before_its_decision() -> None:
    checker = judge(YES)
    game = await play(candidate(), checker)
    (asked,) = at(checker, "check")
    reasons_first = ["point_reason", "same_creative_point", "function_reason", "same_function"]
    assert shape(asked) == ["intervened_chain", *reasons_first]
    assert game.values("check")[0]["intervened_chain"] == "it swells -> it rings"


MODES = {"zero_shot": (False, False), "explained": (True, False), "causal": (True, True)}


@pytest.mark.parametrize("mode", MODES)
async def test_the_judge_knows_what_its_mode_says(mode: str) -> None:
    explanation, chain = MODES[mode]
    checker = judge(NO)
    await play(candidate(), checker, max_rounds=1, judge_mode=mode)
    (text,) = checker.heard("check")
    assert (SAMPLE.explanation in text) is explanation
    assert ("CAUSAL CHAINS\nSCENE CHAIN: time passes -> the fish swells\n" in text) is chain
    assert bool(at(checker, "chain")) is chain


JUDGING = (
    *({"judge_mode": mode} for mode in MODES),
    {"chain": "per_call", "verdict": "first"},
    {"frame": "hidden"},
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("settings", JUDGING)
async def test_the_criteria_are_the_same_word_for_word_however_the_judge_is_asked(
    settings: dict[str, Any], language: str
) -> None:
    checker = judge(YES)
    sample = SAMPLE.model_copy(update={"language": language})
    await play(candidate(), checker, sample=sample, max_rounds=1, **settings)
    rules = PROMPTS.get(language, "criteria").sections["rules"]
    (text,) = checker.heard("check")
    assert text.count(rules) == 1 and "{{" not in text


def test_every_hard_case_of_the_criteria_has_an_example_in_both_languages() -> None:
    said = {"en": r"point: (yes|no),.*function: (yes|no),", "zh": r"相同：(是|否)，.*相同：(是|否)，"}
    for language, pattern in said.items():
        sections = PROMPTS.get(language, "criteria").sections
        verdicts = {name: re.findall(pattern, sections[name]) for name in ("guesses", "responses")}
        assert [len(found) for found in verdicts.values()] == [10, 8]
        # Both, either alone, neither.
        assert [len(set(found)) for found in verdicts.values()] == [4, 4]


async def test_a_chain_per_call_is_told_within_the_verdict_and_stored_nowhere() -> None:
    checker = judge(NO)
    game = await play(candidate(), checker, max_rounds=2, chain="per_call")
    assert [asked.key.step for asked in checker.asked] == ["check", "check"]
    assert SAMPLE.explanation in checker.heard()[0]
    assert "entities, their relations and the causal chains" in checker.heard()[0]
    assert game.steps("chain") == []


@pytest.mark.parametrize("settings", [{}, {"chain": "per_call"}, {"judge_mode": "zero_shot"}])
async def test_verdict_first_decides_before_it_explains(settings: dict[str, Any]) -> None:
    checker = judge(YES)
    game = await play(candidate(), checker, verdict="first", **settings)
    assert shape(at(checker, "check")[0]) == ["same_creative_point", "same_function", "explanation"]
    assert game.outcome == "solved"


async def test_a_verdict_stands_whose_reasons_are_longer_than_the_form_allows() -> None:
    long = {**YES, "intervened_chain": "so " * 900, "point_reason": "as " * 900}
    game = await play(candidate(), judge(long))
    assert game.outcome == "solved"
    assert game.values("check")[0]["intervened_chain"] == long["intervened_chain"]


def test_judge_and_oracle_are_the_papers_unless_named_and_only_the_candidate_sees_pictures() -> None:
    assert {name: role.default for name, role in ROLES.items()} == {
        "candidate": (),
        "judge": ("gpt-4o-mini",),
        "oracle": ("gpt-4o-mini",),
    }
    assert [name for name, role in ROLES.items() if role.pictures] == ["candidate"]


# ---- Failure ----

UNREADABLE = {"garbage": GARBAGE, "refusal": SORRY, "filtered": FILTERED, "half": '{"same_function": true}'}


@pytest.mark.parametrize("how", UNREADABLE)
async def test_a_verdict_that_cannot_be_read_is_asked_for_again_once_with_the_reason(how: str) -> None:
    checker = judge(UNREADABLE[how], YES)
    game = await play(candidate(), checker)
    first, second = at(checker, "check")
    assert (first.key.attempt, second.key.attempt) == (0, 1)
    assert "could not be used" not in text_of(first)
    assert "Your last answer could not be used (" in text_of(second)
    assert game.outcome == "solved"


async def test_then_the_next_judge_is_tried() -> None:
    first, second = judge(GARBAGE, name="a"), judge(NO, YES, name="b")
    game = await play(candidate("bell", "drum"), [first, second], confirm="never")
    assert (game.outcome, game.attempts) == ("solved", 2)
    assert [asked.key.attempt for asked in at(first, "check")] == [0, 1, 0, 1]
    assert [asked.key.round for asked in at(second, "check")] == [1, 2]


async def test_no_verdict_from_either_is_a_judge_failure_and_never_a_no() -> None:
    checkers = [judge(GARBAGE, name=name) for name in ("a", "b", "c")]
    game = await play(candidate(), checkers, confirm="never")
    assert (game.outcome, game.trace.score.value) == ("judge_failed", None)
    assert "accepted" not in game.values("check")[-1]
    assert [len(at(checker, "check")) for checker in checkers] == [2, 1, 0]
    assert game.trace.why == "judge 2: the answer is not one JSON object of the form asked for"
    assert game.trace.arrived


async def test_the_only_judge_has_no_next_one() -> None:
    checker = judge(NO, GARBAGE)
    game = await play(candidate(), checker)
    assert (game.outcome, game.attempts) == ("judge_failed", 2)
    assert len(at(checker, "check")) == 3


async def test_one_model_in_two_models_is_asked_anew() -> None:
    twin = judge(GARBAGE, GARBAGE, YES)
    game = await play(candidate(), [twin, twin], confirm="never")
    assert game.outcome == "solved"
    assert len({asked.key for asked in twin.asked}) == len(twin.asked)


# ---- Confirmation ----


async def test_a_yes_that_another_judge_denies_is_a_no_and_the_game_goes_on() -> None:
    first, second = judge(YES, name="a"), judge(confirms=[NO, YES], name="b")
    player = candidate("bell", "drum")
    game = await play(player, [first, second])
    assert (game.outcome, game.attempts) == ("solved", 2)
    assert game.read("check", "accepted") == [True, True]
    assert game.read("confirm", "accepted") == [False, True]
    assert at(second, "check") == at(first, "confirm") == []
    assert "WRONG-ANS: bell" in text_of(player.asked[1])


async def test_a_game_keeps_its_first_positive_so_both_scores_come_from_one_run() -> None:
    game = await play(candidate(), [judge(YES, name="a"), judge(confirms=[NO, NO, YES], name="b")])
    metrics = benchmark.metrics([game.trace], Settings(confirm="other_judge"))
    assert metrics["creativity_score"].value == pytest.approx(math.exp(-0.4))
    assert metrics["creativity_score_unconfirmed"].value == pytest.approx(1.0)
    assert game.trace.score.parts["first_positive"] == 1


async def test_the_other_judge_is_asked_as_the_first_was_and_knows_nothing_of_its_verdict() -> None:
    first, second = judge(YES, name="a"), judge(confirms=[YES], name="b")
    await play(candidate(), [first, second])
    (checked,), (confirmed,) = at(first, "check"), at(second, "confirm")
    assert checked.messages == confirmed.messages
    assert checked.schema == confirmed.schema


async def test_each_judge_works_with_a_chain_of_its_own() -> None:
    theirs = {"scene_chain": "b", "caption_chain": "b", "creative_point": "b", "function": "b"}
    first, second = judge(YES, name="a"), judge(confirms=[YES], chains=[theirs], name="b")
    await play(candidate(), [first, second])
    assert "SCENE CHAIN: time passes" in first.heard("check")[0]
    assert "SCENE CHAIN: b\n" in second.heard("confirm")[0]


async def test_with_confirm_never_the_first_yes_ends_the_game() -> None:
    first, second = judge(YES, name="a"), judge(confirms=[NO], name="b")
    game = await play(candidate(), [first, second], confirm="never")
    assert (game.outcome, second.asked) == ("solved", [])


async def test_a_second_opinion_that_cannot_be_read_is_a_judge_failure() -> None:
    first, second = judge(YES, name="a"), judge(confirms=[GARBAGE], name="b")
    game = await play(candidate(), [first, second])
    assert (game.outcome, game.trace.score.parts["unsolved_through"]) == ("judge_failed", 0)
    assert len(at(second, "confirm")) == 2


async def test_a_third_judge_may_give_the_second_opinion() -> None:
    judges = [judge(YES, name="a"), judge(confirms=[GARBAGE], name="b"), judge(confirms=[YES], name="c")]
    assert (await play(candidate(), judges)).outcome == "solved"


async def test_check_and_confirm_never_share_a_journal_line(tmp_path: Path) -> None:
    for number, judges in enumerate(
        [[judge(YES, name="a"), judge(confirms=[NO], name="b")], [judge(YES, confirms=[NO])] * 2]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        room = Room(folder, candidate(), judges, oracle(), max_rounds=3)
        with room.journal:
            (game,) = await room.games(("lot-1", 1))
        lines = [str(entry.key) for entry in room.calls()]
        assert len(set(lines)) == len(lines)
        checks = {step["call"] for step in game.steps("check")}
        confirms = {step["call"] for step in game.steps("confirm")}
        assert (len(checks), len(confirms)) == (3, 3)
        assert not checks & confirms
        assert checks | confirms <= set(lines)


async def test_every_call_of_a_trace_is_a_line_of_the_journal(tmp_path: Path) -> None:
    room = Room(tmp_path, candidate(), [judge(NO, GARBAGE, YES)], oracle())
    with room.journal:
        (game,) = await room.games(("lot-1", 1))
    lines = {str(entry.key): entry for entry in room.calls()}
    called = [step["call"] for step in game.trace.steps if step["call"]]
    assert sorted(called) == sorted(lines)
    assert all(isinstance(lines[key].reply, Reply) for key in called)
