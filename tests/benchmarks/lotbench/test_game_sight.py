"""Who sees what, row by row: a message may depend on what its reader sees, and on nothing else."""

from itertools import pairwise
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.sample import Item, Rejected
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.types import Image, Message
from tests.fakes import text_of
from tests.play import CHINESE, NO, SAMPLE, YES, at, candidate, judge, oracle, play, said_to_candidate

# The same sample in all that judge and oracle may know, and another in all that they may not.
UNSEEN = SAMPLE.model_copy(
    update={
        "image": "other.png",
        "clues": ("Quite another hint.",),
        "accept": ("xylophone",),
        "reject": (Rejected(text="zither", difficulty="easy"),),
        "tier": "hard",
        "leap": "sound",
        "source": "elsewhere",
    }
)


def pictures(messages: tuple[Message, ...]) -> list[Image]:
    return [part for message in messages for part in message.parts if isinstance(part, Image)]


async def check_of(item: Item, *guesses: str, **settings: Any) -> list[tuple[Message, ...]]:
    """All that the judge is shown until the verdict on the last of the guesses."""
    verdicts = [NO] * (len(guesses) - 1) + [YES]
    player = candidate(*guesses, "the end", asks=["Is it blue?", "Is it green?", "Is it red?"])
    player.model_id = f"model-of-{item.image}-{len(guesses)}"
    checker = judge(*verdicts)
    await play(player, checker, oracle("Yes"), sample=item, **settings)
    return [asked.messages for asked in (*at(checker, "chain", "chain_check"), at(checker, "check")[-1])]


JUDGING: list[dict[str, Any]] = [
    {}, {"judge_mode": "explained"}, {"judge_mode": "zero_shot"}, {"chain": "per_call"},
    {"chain": "per_call", "verdict": "first"}, {"arm": "caption"},
]  # fmt: skip


@pytest.mark.parametrize("settings", JUDGING, ids=str)
async def test_the_judge_sees_no_picture_name_round_history_other_guess_or_alternative(
    settings: dict[str, Any],
) -> None:
    at_once = await check_of(SAMPLE, "door bell", **settings)
    later = await check_of(UNSEEN, "harp", "tuba", "door bell", clue_interval=1, **settings)
    assert at_once == later
    assert all(pictures(messages) == [] for messages in at_once)


@pytest.mark.parametrize("settings", JUDGING, ids=str)
async def test_the_judge_sees_caption_response_key_text_and_the_one_guess(settings: dict[str, Any]) -> None:
    messages = (await check_of(SAMPLE, "door bell", **settings))[-1]
    text = str(messages[-1].parts[0])
    assert f"IMAGE CAPTION: {SAMPLE.caption}\n" in text
    assert f"CAPTION: {SAMPLE.response}\n" in text
    assert "KEY TEXT: alarm clock\n" in text
    assert 'CANDIDATE: "door bell"\n' in text


SEES = {"key_text": (False, False), "response": (True, False), "scene": (True, True)}


@pytest.mark.parametrize("sees", SEES)
async def test_the_oracle_sees_the_key_text_and_as_much_of_the_scene_as_is_set(sees: str) -> None:
    response, caption = SEES[sees]
    teller = oracle("No")
    await play(candidate(asks=["Is it alive?"]), oracles=teller, max_rounds=2, oracle_sees=sees)
    (text,) = teller.heard()
    assert 'WORD: "alarm clock"\nQUESTION: "Is it alive?"\n' in text
    assert (SAMPLE.response in text) is response
    assert (SAMPLE.caption in text) is caption


@pytest.mark.parametrize("sees", SEES)
async def test_the_oracle_sees_no_explanation_clue_picture_history_or_name(sees: str) -> None:
    other = UNSEEN.model_copy(update={"explanation": "For quite another reason."})
    first, later = oracle("No"), oracle("No")
    await play(candidate(asks=["Is it alive?"]), oracles=first, max_rounds=2, oracle_sees=sees)
    player = candidate("harp", "tuba", "horn", asks=["Is it blue?", "Is it alive?"])
    player.model_id = "somebody-else"
    settings = {"max_rounds": 3, "clue_interval": 1, "oracle_sees": sees}
    await play(player, oracles=later, sample=other, **settings)
    assert first.asked[0].messages == later.asked[1].messages
    assert pictures(first.asked[0].messages) == []


def test_the_oracle_sees_the_scene_unless_told_otherwise() -> None:
    assert Settings().oracle_sees == "scene"


async def test_the_candidate_sees_no_word_of_a_verdict() -> None:
    told = {name: f"VERDICT {name}" for name in ("intervened_chain", "point_reason", "function_reason")}
    player, checker = candidate(), judge({**NO, **told}, {**YES, **told})
    second = judge(confirms=[{**NO, **told}], name="another-judge")
    await play(player, [checker, second], max_rounds=3)
    assert second.asked
    for text in player.heard():
        for word in ("VERDICT", "time passes", "the-judge", "another-judge", "the rhythm", "True", "False"):
            assert word not in text


async def test_the_candidate_sees_its_own_pictures_only_and_first() -> None:
    player = candidate()
    await play(player, max_rounds=2)
    for asked in player.asked:
        assert pictures(asked.messages) == [Image("sha-of-lot-1")]


@pytest.mark.parametrize("framework", ["direct", "plot"])
async def test_the_static_part_comes_first_so_that_prefixes_can_be_cached(framework: str) -> None:
    player, other = candidate(), candidate()
    await play(player, max_rounds=3, framework=framework)
    await play(other, max_rounds=3, framework=framework, sample=UNSEEN.model_copy(update={"id": "lot-9"}))
    for step in ("respond", "ask"):
        rounds = at(player, step)
        system = {asked.messages[0] for asked in (*rounds, *at(other, step))}
        assert len(system) == 1
        texts = [text_of(asked).removesuffix("\nOUTPUT:") for asked in rounds]
        assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


@pytest.mark.parametrize(("sample", "told"), [(SAMPLE, "A: Unclear"), (CHINESE, "答：不清楚")])
async def test_an_oracle_that_cannot_decide_says_so_and_the_player_is_told(sample: Item, told: str) -> None:
    player, teller = candidate("one", "two"), oracle("Unclear")
    game = await play(player, oracles=teller, sample=sample, max_rounds=2)
    assert game.read("answer", "answer") == ["Unclear"]
    assert told in said_to_candidate(player)[1]
    assert '"Yes" or "No" or "Unclear"' in teller.heard()[0]
    assert any(word in teller.heard()[0] for word in ("Unclear is for the rare question", "要少用"))
    assert all("Unclear" in text or "不清楚" in text for text in player.heard())


async def test_with_the_papers_oracle_unclear_is_no_answer_and_no_prompt_speaks_of_it() -> None:
    player, teller = candidate("one", "two"), oracle("Unclear")
    game = await play(player, oracles=teller, max_rounds=2, oracle_says="yes_no")
    assert (game.read("answer", "answer"), game.read("answer", "status")) == ([None], ["unparsed"])
    assert not any("unclear" in text.lower() for text in (*player.heard(), *teller.heard()))


async def test_a_chinese_candidate_is_told_in_chinese_why_it_is_asked_again() -> None:
    player = candidate("钟或鼓", "鼓", "锣", asks=["它是动物还是植物？", "它是动物吗？"])
    game = await play(player, sample=CHINESE, max_rounds=2)
    assert game.read("respond", "status")[:2] == ["not_a_phrase", "ok"]
    assert game.read("ask", "status") == ["either_or", "ok"]
    assert "（列举了几个，而不是一个答案）" in player.heard("respond")[1]
    assert "（问的是二选一：请只问其中一个）" in player.heard("ask")[1]
