"""Arms, controls, seeds and frameworks: what the settings change in what the candidate is asked."""

import math
from pathlib import Path

import pytest

from tests.fakes import text_of
from tests.play import (
    GARBAGE,
    NO,
    REASONING,
    SAMPLE,
    SORRY,
    Room,
    candidate,
    judge,
    oracle,
    play,
    reasoned,
    said_to_candidate,
    shape,
)

# ---- Arms and controls ----


@pytest.mark.parametrize(
    ("arm", "picture", "caption"),
    [("image+caption", True, True), ("image", True, False), ("caption", False, True)],
)
async def test_the_arm_says_what_the_player_sees_of_the_scene(arm: str, picture: bool, caption: bool) -> None:
    player = candidate()
    await play(player, max_rounds=2, arm=arm)
    for text in (*said_to_candidate(player), *said_to_candidate(player, "ask")):
        assert ("IMAGE: [picture]" in text) is picture
        assert (f"IMAGE CAPTION: {SAMPLE.caption}" in text) is caption
        assert ("IMAGE:" in text.replace("[picture]", "")) is picture


async def test_without_questions_neither_candidate_nor_oracle_is_asked() -> None:
    player, teller = candidate(), oracle()
    game = await play(player, oracles=teller, max_rounds=7, ask=False)
    assert (game.steps("ask"), teller.asked) == ([], [])
    assert "CLUE: It is an object." in said_to_candidate(player)[5]


async def test_without_clues_none_is_revealed() -> None:
    player = candidate()
    game = await play(player, max_rounds=7, clues=False)
    assert game.steps("reveal") == []
    assert "CLUE: " not in said_to_candidate(player)[6]


async def test_without_feedback_the_attempts_are_independent() -> None:
    player, teller = candidate(), oracle()
    game = await play(player, oracles=teller, max_rounds=7, feedback=False)
    assert len(set(said_to_candidate(player))) == 1
    assert "WRONG-ANS: " not in said_to_candidate(player)[6]
    assert (game.steps("ask"), game.steps("reveal"), teller.asked) == ([], [], [])


async def test_each_attempt_has_a_seed_of_its_own_with_feedback_or_without() -> None:
    for feedback in (True, False):
        player = candidate()
        await play(player, max_rounds=7, feedback=feedback)
        seeds = [asked.sampling.seed for asked in player.asked]
        assert None not in seeds
        assert len(set(seeds)) == len(seeds)


async def test_seeds_derive_from_run_seed_sample_repeat_and_step(tmp_path: Path) -> None:
    async def seeds(name: str, seed: int) -> list[int | None]:
        player = candidate()
        (tmp_path / name).mkdir()
        room = Room(tmp_path / name, player, [judge(NO)], oracle(), seed=seed, max_rounds=2)
        with room.journal:
            await room.games(("lot-1", 1))
            await room.games(("lot-1", 2))
            await room.games(("lot-2", 1))
        return [asked.sampling.seed for asked in player.asked]

    first = await seeds("first", 0)
    assert len(set(first)) == 9
    assert await seeds("again", 0) == first
    assert not set(await seeds("other", 1)) & set(first)


async def test_the_candidate_is_drawn_at_temperature_1_and_judge_and_oracle_at_0() -> None:
    player, checker, teller = candidate(), judge(NO), oracle()
    await play(player, checker, teller, max_rounds=2)
    assert {asked.sampling.temperature for asked in player.asked} == {1.0}
    assert {asked.sampling.temperature for asked in (*checker.asked, *teller.asked)} == {0.0}


async def test_the_candidate_is_told_how_long_a_guess_may_be() -> None:
    for settings, told in (
        ({}, "at most 8 words (in Chinese 16 characters)"),
        ({"max_words": 3}, "at most 3 words"),
    ):
        player = candidate("a very loud bell", "bell")
        game = await play(player, max_rounds=1, **settings)
        assert told in text_of(player.asked[0])
        assert game.read("respond", "status")[0] == ("not_a_phrase" if settings else "ok")


# ---- Frameworks ----


async def test_direct_asks_for_the_guess_alone() -> None:
    player = candidate()
    await play(player, max_rounds=1)
    assert shape(player.asked[0]) == ["guess"]
    assert "step by step" not in text_of(player.asked[0])


async def test_cot_reasons_first_and_the_reasoning_reaches_neither_judge_nor_history() -> None:
    player = candidate(
        reasoned("bell"), reasoned("drum"), asks=[{"reasoning": REASONING, "question": "Is it alive?"}]
    )
    checker, teller = judge(NO), oracle("No")
    game = await play(player, checker, teller, max_rounds=2, framework="cot")
    assert game.read("respond", "guess") == ["bell", "drum"]
    for asked in player.asked:
        assert shape(asked)[0] == "reasoning"
    for text in (*player.heard(), *checker.heard(), *teller.heard()):
        assert REASONING not in text


async def test_reasoning_that_is_too_long_is_cut_and_no_fault_of_the_guess() -> None:
    game = await play(candidate({"reasoning": "so " * 1000, "guess": "bell"}), framework="cot", max_rounds=1)
    assert game.read("respond", "status") == ["ok"]


@pytest.mark.parametrize(
    ("votes", "chosen"),
    [
        (["bell", "drum", "The drum"], "drum"),
        (["bell", "drum", "horn"], "bell"),
        (["bell", "drum", "Drum", "bell", "horn"], "bell"),
        ([GARBAGE, "drum", SORRY], "drum"),
    ],
)
async def test_cot_sc_takes_the_guess_of_most_votes_the_first_in_a_tie(votes: list[str], chosen: str) -> None:
    guesses = [reasoned(vote) if vote not in (GARBAGE, SORRY) else vote for vote in votes]
    player, checker = candidate(*guesses), judge(NO)
    game = await play(player, checker, framework="cot_sc", votes=len(votes), max_rounds=1)
    assert [asked.key.draw for asked in player.asked] == list(range(len(votes)))
    assert len({asked.sampling.seed for asked in player.asked}) == len(votes)
    assert f'CANDIDATE: "{chosen}"' in checker.heard("check")[0]
    assert game.values("respond")[-1]["guess"] == chosen


async def test_a_round_of_votes_counts_as_what_was_chosen_even_if_the_last_vote_is_none() -> None:
    player = candidate(reasoned("bell"), reasoned("bell"), SORRY)
    game = await play(player, framework="cot_sc", votes=3, max_rounds=1, unsolved="cap")
    assert game.trace.score.parts["valid_guess"] is True
    assert game.trace.score.value == pytest.approx(math.exp(-0.2))


async def test_votes_that_are_all_no_guesses_are_asked_for_again_once() -> None:
    player = candidate(GARBAGE, SORRY, reasoned("bell"), GARBAGE)
    game = await play(player, framework="cot_sc", votes=2, max_rounds=1)
    assert [asked.key.attempt for asked in player.asked] == [0, 0, 1, 1]
    assert game.values("respond")[-1]["guess"] == "bell"


async def test_ddcot_takes_notes_first_that_reach_neither_judge_nor_history() -> None:
    notes = [{"notes": f"NOTE {n}: the rhythm matters"} for n in range(3)]
    player, checker, teller = candidate("bell", "drum", decompose=notes), judge(NO), oracle()
    game = await play(player, checker, teller, framework="ddcot", max_rounds=2)
    steps = [asked.key.step for asked in player.asked]
    assert steps == ["decompose", "respond", "decompose", "ask", "decompose", "respond"]
    assert "NOTES: NOTE 0" in text_of(player.asked[1])
    assert "NOTES: NOTE 1" in text_of(player.asked[3])
    assert "NOTES: NOTE 2" in text_of(player.asked[5])
    for text in (*checker.heard(), *teller.heard(), text_of(player.asked[4])):
        assert "NOTE " not in text
    assert "NOTE 0" not in text_of(player.asked[5])
    assert game.attempts == 2


async def test_notes_that_cannot_be_read_are_none_and_the_game_goes_on() -> None:
    game = await play(candidate("bell", decompose=[GARBAGE]), framework="ddcot", max_rounds=1)
    assert game.read("decompose", "status") == ["unparsed"]
    assert game.read("respond", "guess") == ["bell"]


async def test_plot_asks_for_a_leap_in_both_steps() -> None:
    player = candidate()
    await play(player, framework="plot", max_rounds=2)
    assert all("outside the box" in text for text in player.heard())
