"""One growing conversation: what a round knows is what a fresh request tells, and nothing of it is sent anew."""

from typing import Any

import pytest

from lotbench.types import Request
from tests.benchmarks.lotbench.test_frames import HEART, SNOOZE
from tests.fakes import ScriptedModel
from tests.play import GARBAGE, NO, REASONING, SAMPLE, YES, candidate, judge, oracle, play

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
    form = 'ATTEMPT: fill in <MASK>. Answer with one JSON object of this form:\n{\n  "guess": "..."\n}'
    ask = 'QUESTION: ask one yes/no question. Answer with one JSON object of this form:\n{\n  "question": "..."\n}'
    scene = f"IMAGE: [picture]IMAGE CAPTION: {SAMPLE.caption}\nRESPONSE: {SAMPLE.frame}\n"
    first, second = "\n".join(f"CLUE: {clue}" for clue in SAMPLE.clues[:2]), SAMPLE.clues[2:]
    system, *turns = flat(player.asked[-1])
    assert system[0] == "system" and "with a host" in system[1]
    assert turns == [
        ("user", f"{scene}{form}"),
        ("assistant", '{"guess": "bell"}'),
        ("user", f"WRONG-ANS: bell\n{ask}"),
        ("assistant", '{"question": "Is it alive?"}'),
        ("user", f"A: No\n{first}\n{form}"),
        ("assistant", '{"guess": "drum"}'),
        ("user", f"WRONG-ANS: drum\n{ask}"),
        ("assistant", '{"question": "Is it loud?"}'),
        ("user", "A: Yes\n" + "".join(f"CLUE: {clue}\n" for clue in second) + form),
    ]


ARMS: list[dict[str, Any]] = [
    {}, {"frame": "hidden"}, {"frame": "earned"}, {"encore": True}, {"framework": "cot"},
    {"framework": "ddcot"}, {"ask": False}, {"arm": "caption"},
]  # fmt: skip


def player_of(settings: dict[str, Any]) -> ScriptedModel:
    said: list[Any] = [HEART, SNOOZE, GARBAGE, GARBAGE, "Nobody saw it coming.", "Time flies.", "So it goes."]
    if not settings.get("frame"):
        said = ["bell", "drum", GARBAGE, GARBAGE, "horn", "harp", "tuba"]
    field = "response" if settings.get("frame") else "guess"
    if settings.get("framework") == "cot":
        said = [one if one == GARBAGE else {"reasoning": REASONING, field: one} for one in said]
        asks: list[Any] = [{"reasoning": REASONING, "question": f"Is it {n} metres long?"} for n in range(9)]
        return ScriptedModel(respond=said, ask=asks, model_id="c")
    asks = [f"Is it {n} metres long?" for n in range(9)]
    return ScriptedModel(respond=said, ask=asks, decompose=[{"notes": "My notes."}] * 30, model_id="c")


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
