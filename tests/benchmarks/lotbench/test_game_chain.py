"""The causal chain of E1, row by row: built once per sample and judge, tried before use, shared, kept."""

from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench import chain
from lotbench.benchmarks.lotbench.judge import contains
from lotbench.benchmarks.lotbench.sample import Fixed, Point, Rejected
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.task import benchmark
from tests.fakes import ScriptedModel
from tests.play import (
    CHAIN,
    CHINESE,
    CONTROLS,
    DATA,
    GARBAGE,
    NO,
    OTHERS,
    SAMPLE,
    TRIAL,
    YES,
    Game,
    Room,
    at,
    candidate,
    episode,
    judge,
    oracle,
    play,
)

ANOTHER = {**CHAIN, "scene_chain": "another telling of the scene"}


def tried(model: ScriptedModel) -> list[str]:
    """The guesses that a chain was tried with, in order."""
    return [text.rpartition('CANDIDATE: "')[2].partition('"')[0] for text in model.heard("chain_check")]


async def games(folder: Path, model: Any, *episodes: tuple[str, int], **more: Any) -> tuple[Room, list[Game]]:
    """Play these episodes in a room of their own, two rounds each."""
    folder.mkdir(exist_ok=True)
    room = Room(folder, candidate("bell", "drum"), [model], oracle(), max_rounds=2, **more)
    with room.journal:
        return room, await room.games(*episodes)


async def test_a_chain_is_built_from_what_the_sample_says_and_accepted_if_only_the_key_text_passes_with_it() -> (
    None
):
    checker = judge(NO)
    game = await play(candidate(), checker, max_rounds=1)
    (text,) = checker.heard("chain")
    for known in (SAMPLE.caption, SAMPLE.response, SAMPLE.key_text, SAMPLE.explanation):
        assert known in text
    assert "thing number" not in text
    assert game.read("chain", "status") == ["ok"]
    assert tried(checker)[0] == SAMPLE.key_text
    assert sorted(tried(checker)[1:]) == sorted(CONTROLS)
    labelled = (
        "CAUSAL CHAINS\nSCENE CHAIN: time passes -> the fish swells\nCAPTION CHAIN: time passes -> the clock rings\n"
        "CREATIVE POINT: swelling is ringing\nFUNCTION: somebody is startled\n"
    )
    assert all(labelled in text for text in (*checker.heard("chain_check"), *checker.heard("check")))
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": True, "builds": 1}]


FIXED = Fixed(part="the fish", likeness="it swells like an alarm", effect="somebody is startled")
POINTED = SAMPLE.model_copy(update={"point": FIXED})
COPIED = {**CHAIN, "creative_point": "The fish: it swells, like an alarm!"}


async def test_a_chain_without_the_words_that_the_author_fixed_is_rebuilt_untried() -> None:
    checker = judge(NO, chains=[CHAIN, COPIED])
    game = await play(candidate(), checker, sample=POINTED, max_rounds=1)
    told = "PART: the fish\nLIKENESS: it swells like an alarm\nEFFECT: somebody is startled\n"
    assert all(told in text for step in ("chain", "chain_check", "check") for text in checker.heard(step))
    assert "these three lines" not in checker.heard("chain")[0]
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": True, "builds": 2}]
    assert len(at(checker, "chain_check")) == len(TRIAL)


@pytest.mark.parametrize("mode", ["zero_shot", "explained"])
@pytest.mark.parametrize("frame", ["shown", "hidden"])
async def test_a_judge_without_a_chain_is_not_given_the_point(mode: str, frame: str) -> None:
    checker = judge(NO)
    await play(candidate(), checker, sample=POINTED, max_rounds=1, judge_mode=mode, frame=frame)
    assert all(FIXED.likeness not in text for text in checker.heard("check"))


@pytest.mark.parametrize(("said", "has"), [("胀大的鱼像闹钟，吓人一跳", True), ("胀大的鱼吓人一跳", False)])
def test_a_chinese_chain_has_the_point_if_it_has_its_characters(said: str, has: bool) -> None:
    point = Fixed(part="胀大的鱼", likeness="像闹钟", effect="吓人一跳")
    assert contains(f"甲\n乙\n= {said}\n=> {said}", point) is has


@pytest.mark.parametrize(
    "trial",
    [(NO, NO, NO, NO), (YES, YES, NO, NO), (YES, NO, NO, YES), (GARBAGE, NO, NO, NO), (YES, NO, GARBAGE, NO)],
)
async def test_a_chain_with_which_the_judge_errs_is_rebuilt(trial: tuple[Any, ...]) -> None:
    checker = judge(NO, chains=[CHAIN, ANOTHER], trial=[*trial, *TRIAL])
    game = await play(candidate(), checker, max_rounds=2)
    assert [asked.sampling.temperature for asked in at(checker, "chain")] == [0.0, chain.REBUILD_TEMPERATURE]
    places = [(asked.key.step, asked.key.round, asked.key.draw) for asked in checker.asked]
    assert len(set(places)) == len(places)
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": True, "builds": 2}]
    assert all("another telling of the scene" in text for text in checker.heard("check"))


async def test_a_chain_is_rebuilt_up_to_3_times_and_then_counted_in_the_report() -> None:
    checker = judge(NO, trial=[NO])
    game = await play(candidate(), checker, max_rounds=1)
    assert len(at(checker, "chain")) == 1 + 3
    assert len(at(checker, "chain_check")) == 4 * 4
    assert game.outcome == "unsolved"
    shown = benchmark.sections([game.trace], Settings(max_rounds=1, confirm="never"))
    notes = [note for section in shown for note in section.notes]
    assert "Causal chains that were not accepted after all builds: 1." in notes


async def test_what_a_plan_counts_for_a_chain_is_the_most_that_it_takes() -> None:
    checker = judge(NO, chains=[GARBAGE, CHAIN] * 4, trial=[YES, NO, NO, YES] * 4)
    await play(candidate(), checker, max_rounds=1)
    settings = Settings(max_rounds=1, confirm="never")
    built = len(at(checker, "chain")) + len(at(checker, "chain_check"))
    assert chain.beyond(SAMPLE, settings, 3, {"judge": 1}) == {"judge": built} == {"judge": 24}
    for without in ({"judge_mode": "explained"}, {"chain": "per_call"}):
        assert chain.beyond(SAMPLE, settings.model_copy(update=without), 3, {"judge": 1}) == {"judge": 0}


async def test_a_plan_counts_every_response_that_solves_a_game_without_a_frame() -> None:
    """Of a sample with points each is looked for in each round, with a chain of its own."""
    points = tuple(Point(response=f"A point of {name}.", explanation=name) for name in ("Ann", "Bob"))
    sample = SAMPLE.model_copy(update={"points": points})
    hidden: dict[str, Any] = {"frame": "hidden", "max_rounds": 2, "confirm": "never"}
    checker = judge(NO, trial=[NO])
    await play(candidate("A bell.", "A drum."), checker, sample=sample, **hidden)
    settings, checks = Settings(**hidden), len(at(checker, "check"))
    assert checks == 6 == benchmark.calls(settings)["judge"] + 4
    assert chain.beyond(sample, settings, 1, {"judge": 1}) == {"judge": 3 * 24 + 4}


async def test_a_chain_that_cannot_be_read_is_asked_for_again_once_and_then_rebuilt() -> None:
    checker = judge(NO, chains=[GARBAGE, GARBAGE, CHAIN])
    game = await play(candidate(), checker, max_rounds=1)
    places = [(asked.key.draw, asked.key.attempt) for asked in at(checker, "chain")]
    assert places == [(0, 0), (0, 1), (1, 0)]
    assert "could not be used" in checker.heard("chain")[1]
    assert "could not be used" not in checker.heard("chain")[2]
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": True, "builds": 2}]


async def test_where_the_last_rebuild_cannot_be_read_the_last_chain_that_can_is_used() -> None:
    checker = judge(NO, chains=[CHAIN, ANOTHER, ANOTHER, GARBAGE], trial=[NO])
    game = await play(candidate(), checker, max_rounds=1)
    assert game.outcome == "unsolved"
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": False, "builds": 4}]
    assert "another telling of the scene" in checker.heard("check")[0]


async def test_a_judge_that_builds_no_chain_that_can_be_read_gives_way_to_the_next() -> None:
    mute, other = judge(NO, chains=[GARBAGE], name="a"), judge(YES, name="b")
    game = await play(candidate(), [mute, other], confirm="never")
    assert game.outcome == "solved"
    assert len(at(mute, "chain")) == 4 * 2
    alone = await play(candidate(), judge(NO, chains=[GARBAGE]))
    assert alone.outcome == "judge_failed"


def test_controls_are_key_texts_of_other_samples_of_the_language_and_never_from_the_own_lists() -> None:
    def drawn(**changes: Any) -> set[str]:
        data = (SAMPLE.model_copy(update=changes), *OTHERS, CHINESE)
        return set(chain.controls(episode(Settings(), data=data)))

    assert drawn() == set(CONTROLS)
    assert drawn(accept=("a lighthouse",)) == {"wedding cake", "cement mixer"}
    rejected = (Rejected(text="Cement mixer", difficulty="hard"),)
    assert drawn(reject=rejected) == {"lighthouse", "wedding cake"}
    assert drawn(accept=("lighthouse",), reject=rejected) == {"wedding cake"}


def test_a_chain_is_tried_on_the_near_misses_of_its_sample_where_it_has_some() -> None:
    near = SAMPLE.model_copy(update={"near": ("snooze button", "doorbell", "metronome", "lamp")})
    assert chain.controls(episode(Settings(), data=(near, *OTHERS))) == [
        "snooze button",
        "doorbell",
        "metronome",
    ]


async def test_a_chain_with_which_a_near_miss_passes_is_built_again() -> None:
    near = SAMPLE.model_copy(update={"near": ("snooze button", "doorbell")})
    checker = judge(NO, chains=[CHAIN, ANOTHER], trial=[YES, NO, YES, YES, NO, NO])
    game = await play(candidate(), checker, sample=near, max_rounds=1)
    assert tried(checker) == ["alarm clock", "snooze button", "doorbell"] * 2
    assert game.values("chain_accepted") == [{"judge": 0, "accepted": True, "builds": 2}]


def test_controls_are_drawn_by_sample_so_that_every_game_has_the_same() -> None:
    more = tuple(
        OTHERS[0].model_copy(update={"id": f"lot-{n}", "key_text": f"key {n}"}) for n in range(10, 30)
    )

    def drawn(seed: int, repeat: int) -> list[str]:
        return chain.controls(episode(Settings(), repeat=repeat, data=(*DATA, *more), seed=seed))

    assert len(drawn(0, 1)) == len(set(drawn(0, 1))) == 3
    assert drawn(0, 1) == drawn(0, 2) == drawn(7, 1)


async def test_a_chain_is_built_once_for_all_repeats_that_play_at_the_same_time(tmp_path: Path) -> None:
    checker = judge(NO)
    checker.latency = 0.01
    room, played = await games(tmp_path, checker, *(("lot-1", repeat) for repeat in (1, 2, 3)))
    assert (len(at(checker, "chain")), len(at(checker, "chain_check"))) == (1, 4)
    assert len(at(checker, "check")) == 6
    for game in played:
        assert game.read("chain", "chain") == [game.values("chain")[0]["chain"]]
        assert game.values("chain_accepted")[0]["accepted"] is True
    built = [entry for entry in room.calls() if entry.key.step in ("chain", "chain_check")]
    assert [entry.key.repeat for entry in built] == [0] * 5


async def test_each_sample_has_a_chain_of_its_own(tmp_path: Path) -> None:
    checker = judge(NO)
    await games(tmp_path, checker, ("lot-1", 1), ("lot-2", 1))
    assert sorted(asked.key.sample for asked in at(checker, "chain")) == ["lot-1", "lot-2"]


async def test_what_a_chain_costs_is_no_part_of_a_games_own_usage(tmp_path: Path) -> None:
    _, (stored,) = await games(tmp_path / "stored", judge(NO), ("lot-1", 1))
    _, (without,) = await games(tmp_path / "without", judge(NO), ("lot-1", 1), judge_mode="explained")
    assert stored.trace.usage["calls"] == without.trace.usage["calls"] == 6


async def test_the_next_run_takes_the_chain_from_the_store_into_its_own_journal(tmp_path: Path) -> None:
    store = tmp_path / "store"
    first, second = judge(NO), judge(NO)
    before, (one,) = await games(tmp_path / "a", first, ("lot-1", 1), store=store, seed=1)
    after, (two,) = await games(tmp_path / "b", second, ("lot-1", 1), store=store, seed=2)
    assert (len(at(first, "chain")), len(at(second, "chain"))) == (1, 0)
    assert at(second, "chain_check") == []

    def built(room: Room) -> dict[str, str]:
        return {str(entry.key): entry.source for entry in room.calls() if entry.key.round == 0}

    assert built(before).keys() == built(after).keys()
    assert set(built(before).values()) == {"call"}
    assert set(built(after).values()) == {"store"}
    assert one.values("chain") == two.values("chain")


@pytest.mark.parametrize("what", ["judge", "explanation"])
async def test_a_chain_of_another_judge_or_another_text_is_built_anew(tmp_path: Path, what: str) -> None:
    store = tmp_path / "store"
    await games(tmp_path / "a", judge(NO), ("lot-1", 1), store=store)
    checker = judge(NO, name="another-judge" if what == "judge" else "the-judge")
    changed = SAMPLE.model_copy(update={"explanation": "Otherwise."} if what == "explanation" else {})
    await games(tmp_path / "b", checker, ("lot-1", 1), store=store, data=(changed, *OTHERS))
    assert len(at(checker, "chain")) == 1


async def test_a_chinese_judge_is_shown_the_chains_under_chinese_names() -> None:
    checker = judge(NO, trial=(YES,))
    await play(candidate("钟声"), checker, sample=CHINESE, max_rounds=1)
    (text,) = checker.heard("check")
    for line in (
        "场景链：time passes",
        "配文链：time passes",
        "创意点：swelling is ringing",
        "功能：somebody is startled",
    ):
        assert line in text
    assert "=>" not in text
