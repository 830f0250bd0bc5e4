"""One growing conversation: what a round knows is what a fresh request tells, and nothing of it is sent anew."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from lotbench.types import Image, Message, Request
from tests.benchmarks.lotbench.test_frames import HEART, SNOOZE
from tests.fakes import ScriptedModel, text_of
from tests.play import GARBAGE, NO, REASONING, SAMPLE, YES, candidate, judge, oracle, play, reasoned

GROWING = {"conversation": "growing"}


def flat(asked: Request) -> list[tuple[str, str]]:
    """The turns of a request: who speaks, and what is said."""
    return [
        (one.speaker, "".join(p if isinstance(p, str) else "[picture]" for p in one.parts))
        for one in asked.messages
    ]


async def test_a_conversation_worked_out_by_hand() -> None:
    player = candidate("bell", "drum", "egg timer", asks=["Is it alive?", "Is it loud?"])
    game = await play(
        player, judge(NO, NO, YES), oracle("No", "Yes"), clue_interval=1, max_rounds=3, **GROWING
    )
    assert game.outcome == "solved"
    form = 'ATTEMPT: fill in <MASK>. Answer with one JSON object of this form:\n{\n  "filling": "..."\n}'
    ask = 'QUESTION: ask one yes/no question. Answer with one JSON object of this form:\n{\n  "question": "..."\n}'
    scene = f"IMAGE: [picture]IMAGE CAPTION: {SAMPLE.caption}\nRESPONSE: {SAMPLE.frame}\n"
    first, second = "\n".join(f"CLUE: {clue}" for clue in SAMPLE.clues[:2]), SAMPLE.clues[2:]
    system, *turns = flat(player.asked[-1])
    assert system[0] == "system" and "with a host" in system[1]
    assert turns == [
        ("user", f"{scene}{form}"),
        ("assistant", '{"filling": "bell"}'),
        ("user", f"WRONG-ANS: bell\n{ask}"),
        ("assistant", '{"question": "Is it alive?"}'),
        ("user", f"A: No\n{first}\n{form}"),
        ("assistant", '{"filling": "drum"}'),
        ("user", f"WRONG-ANS: drum\n{ask}"),
        ("assistant", '{"question": "Is it loud?"}'),
        ("user", "A: Yes\n" + "".join(f"CLUE: {clue}\n" for clue in second) + form),
    ]


ARMS: list[dict[str, Any]] = [
    {},
    {"frame": "hidden"},
    {"frame": "earned"},
    {"encore": True},
    {"framework": "cot"},
    {"framework": "ddcot"},
    {"ask": False},
    {"arm": "caption"},
]


def player_of(settings: dict[str, Any]) -> ScriptedModel:
    said: list[Any] = [HEART, SNOOZE, GARBAGE, GARBAGE, "Nobody saw it coming.", "Time flies.", "So it goes."]
    if not settings.get("frame"):
        said = ["bell", "drum", GARBAGE, GARBAGE, "horn", "harp", "tuba"]
    field = "response" if settings.get("frame") else "filling"
    if settings.get("framework") == "cot":
        said = [one if one == GARBAGE else {"reasoning": REASONING, field: one} for one in said]
        asks: list[Any] = [{"reasoning": REASONING, "question": f"Is it {n} metres long?"} for n in range(9)]
        return ScriptedModel(respond=said, ask=asks, model_id="c")
    asks = [f"Is it {n} metres long?" for n in range(9)]
    return ScriptedModel(respond=said, ask=asks, decompose=[{"notes": "My notes."}] * 30, model_id="c")


@pytest.mark.parametrize("settings", ARMS, ids=str)
async def test_every_request_begins_with_all_of_the_one_before_and_speakers_take_turns(
    settings: dict[str, Any],
) -> None:
    player = player_of(settings)
    await play(
        player,
        judge(*([NO, YES, NO] if settings.get("encore") else [NO])),
        clue_interval=2,
        max_rounds=6,
        **GROWING,
        **settings,
    )
    for asked in player.asked:
        speakers = [one.speaker for one in asked.messages]
        assert speakers[:2] == ["system", "user"] and speakers[-1] == "user"
        assert all(one != other for one, other in pairwise(speakers))
    told = [text_of(one) for one in player.asked if one.key.attempt == 0 and one.key.step != "decompose"]
    if settings.get("framework") == "ddcot":
        told = [text.partition("\nNOTES: ")[0] for text in told]
    assert len(told) > 4
    for earlier, later in pairwise(told):
        assert later.startswith(earlier)
    assert all(REASONING not in text for text in player.heard())


@pytest.mark.parametrize("settings", ARMS, ids=str)
async def test_a_round_knows_the_same_in_both_kinds_of_conversation(settings: dict[str, Any]) -> None:
    fresh, growing = player_of(settings), player_of(settings)
    for player, kind in ((fresh, {}), (growing, GROWING)):
        await play(
            player,
            judge(*([NO, YES, NO] if settings.get("encore") else [NO])),
            clue_interval=2,
            max_rounds=6,
            **kind,
            **settings,
        )
    assert [one.key.step for one in fresh.asked] == [one.key.step for one in growing.asked]
    labels = ("WRONG-ANS: ", "A: ", "CLUE: ", "FOUND: ", "FRAME: ")
    for one, other in zip(fresh.asked, growing.asked, strict=True):
        told = [
            [line for _, text in flat(asked)[1:] for line in text.splitlines() if line.startswith(labels)]
            for asked in (one, other)
        ]
        assert told[0] == told[1]


async def test_what_was_wrong_with_a_reply_is_said_at_the_end_and_forgotten() -> None:
    player = candidate(GARBAGE, "bell", "drum", asks=["Is it alive?"])
    await play(player, judge(NO), max_rounds=2, **GROWING)
    again = [("Your last answer could not be used" in flat(asked)[-1][1]) for asked in player.asked]
    assert again == [False, True, False, False]


async def test_the_picture_is_sent_once_in_its_place() -> None:
    player = candidate("bell", "drum", "horn")
    await play(player, judge(NO), max_rounds=3, **GROWING)
    for asked in player.asked:
        assert [type(p) for m in asked.messages for p in m.parts if isinstance(p, Image)] == [Image]
        assert isinstance(asked.messages[1].parts[1], Image)
        assert isinstance(asked.messages[0], Message)


async def test_votes_are_drawn_from_one_conversation_which_keeps_the_chosen_one() -> None:
    one, two = reasoned("bell"), reasoned("drum")
    player = candidate(
        one, two, two, reasoned("horn"), asks=[{"reasoning": REASONING, "question": "Is it loud?"}] * 3
    )
    player = ScriptedModel(
        respond=[one, two, two, one, one, one],
        ask=[{"reasoning": REASONING, "question": "Is it loud?"}],
        model_id="c",
    )
    await play(player, judge(NO), max_rounds=2, framework="cot_sc", votes=3, **GROWING)
    last = flat(player.asked[-1])
    assert ("assistant", '{"filling": "drum"}') in last
    assert REASONING not in str(last)
