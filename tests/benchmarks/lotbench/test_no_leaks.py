"""Nothing that the candidate may not know is in what it is shown, for any sample, arm, framework or history.

A message may not change when all that is secret does: the key text, the response outside its frame, the
explanation, the alternatives, the clues to come, the judge's chain. That holds whatever words a sample is
made of; what remains, a caption or clue that says the key text itself, is a fault of the data.
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lotbench.benchmarks.lotbench import words
from lotbench.benchmarks.lotbench.responses import half
from lotbench.benchmarks.lotbench.sample import Item, Point, Rejected
from lotbench.benchmarks.lotbench.settings import Settings, reveals
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.benchmarks.lotbench.whole import frame_at
from lotbench.harness.state import start
from lotbench.prompting.frameworks import FRAMEWORKS
from lotbench.storage import datasets
from lotbench.types import Message, Question
from tests.episodes import resolved
from tests.play import PROMPTS, SAMPLE, asked_by, episode

SHIPPED: tuple[Item, ...] = datasets.samples(datasets.data_folder("", "lotbench_easy"), Item)
ARMS = ("image+caption", "caption", "image")
# Words that no sample has, so that what is found was not typed by the candidate.
GUESSES = {"en": "zorblat", "zh": "囎囎"}
QUESTIONS = {"en": "Is it a zorblat of kind {}?", "zh": "它是第{}种囎囎吗？"}


def state_after(item: Item, chosen: Settings, rounds: int) -> dict[str, Any]:
    """The state of a game on a sample after so many failed rounds, with a judge's chain in it."""
    schedule = reveals(item.clues, chosen)
    history = []
    for n in range(1, rounds + 1):
        turn, off = divmod(n, chosen.clue_interval)
        past = {"guess": f"{GUESSES[item.language]}{n}", "status": "ok", "verdict": False}
        asked = {"question": QUESTIONS[item.language].format(n), "answer": ("Yes", "No", None)[n % 3]}
        clues = schedule[turn - 1] if off == 0 and turn <= len(schedule) else []
        frame = frame_at(item, chosen, turn) if off == 0 else None
        history.append({**past, **asked, "clues": clues, **({"frame": frame} if frame else {})})
    kept = {"text": f"CHAIN OF {item.key_text}", "accepted": True, "builds": 1}
    state = start(item.id, 1)
    return {**state, "round": rounds + 1, "history": history, "shared": {"chain 0": kept}}


async def shown(item: Item, chosen: Settings, rounds: int = 14) -> list[tuple[Message, ...]]:
    """Every message that the candidate can be sent in the round after those: all steps, asked once and again."""
    state = state_after(item, chosen, rounds)
    failed = {"guess": GUESSES[item.language] + "0", "status": "ok", "verdict": False}
    made = []
    for said in ([], [{"notes": "My notes."}]):
        for step, turn in (("respond", {}), ("ask", failed)):
            asked = await asked_at(step, {**state, "turn": turn}, item, chosen, *said)
            made += [question.messages for question in asked]
    return made


async def asked_at(step: str, state: Any, item: Item, chosen: Settings, *said: Any) -> list[Question]:
    """What the candidate is asked at a step: once, and again where it says nothing that can be read."""
    return await asked_by(benchmark.nodes[step], state, episode(chosen, sample=item.id, data=(item,)), *said)


def texts(messages: list[tuple[Message, ...]], speaker: str = "user") -> Iterator[str]:
    for each in messages:
        for message in each:
            if message.speaker == speaker:
                yield "\n".join(part for part in message.parts if isinstance(part, str))


def revealed(item: Item, chosen: Settings, rounds: int) -> list[str]:
    """The clues that are known after so many rounds."""
    return [clue for past in state_after(item, chosen, rounds)["history"] for clue in past["clues"]]


def with_other_secrets(item: Item, chosen: Settings, rounds: int) -> Item:
    """The sample with everything changed that the candidate may not know after so many rounds."""
    begin, end = item.span
    known = len(revealed(item, chosen, rounds)) if chosen.feedback else 0
    clues = [clue if n < known else f"QQ clue {n}" for n, clue in enumerate(item.clues)]
    return item.model_copy(
        update={
            "response": f"{item.response[:begin]}QQ key{item.response[end:]}",
            "key_text": "QQ key",
            "key_span": (begin, begin + len("QQ key")),
            "explanation": "QQ explanation",
            "clues": tuple(clues),
            "accept": ("QQ one", "QQ two"),
            "reject": (Rejected(text="QQ three", difficulty="easy"),),
            "points": (Point(response="QQ point", explanation="QQ point"),),
            "leap": "QQ",
            "tier": "hard",
            "source": "QQ",
        }
    )


def some(framework: str, every: int) -> tuple[Item, ...]:
    """Every fifth sample or so, each framework's others: what a framework adds depends on no sample."""
    return SHIPPED[list(FRAMEWORKS).index(framework) % every :: every]


def parts(few: int, many: int) -> pytest.MarkDecorator:
    """Every so manieth sample; more of them in a slow test."""
    return pytest.mark.parametrize("every", [few, pytest.param(many, marks=pytest.mark.slow)])


@parts(few=5, many=1)
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("arm", ARMS)
async def test_no_shipped_sample_shows_a_secret_after_14_rounds(arm: Any, framework: Any, every: int) -> None:
    chosen = Settings(arm=arm, framework=framework, votes=1)
    for item in some(framework, every):
        messages = await shown(item, chosen)
        assert messages == await shown(with_other_secrets(item, chosen, 14), chosen), item.id
        for text in texts(messages):
            assert not words.leaks(text, [item.key_text, item.response, item.explanation]), item.id
            assert "CHAIN" not in text


def without_its_frame(item: Item, chosen: Settings, rounds: int) -> Item:
    """The sample with other secrets, and all of its response another where no frame is known after so many rounds."""
    other = with_other_secrets(item, chosen, rounds)
    if not chosen.whole or any("frame" in past for past in state_after(item, chosen, rounds)["history"]):
        return other
    return other.model_copy(update={"response": "QQ key response", "key_span": (0, 6)})


@parts(few=25, many=5)
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("conversation", ["fresh", "growing"])
@pytest.mark.parametrize("frame", ["hidden", "earned"])
async def test_no_shipped_sample_shows_a_secret_or_its_frame_where_that_is_not_shown(
    frame: Any, conversation: Any, framework: Any, every: int
) -> None:
    chosen = Settings(
        frame=frame, encore=True, conversation=conversation, framework=framework, votes=1, arm="caption"
    )
    for item, rounds in product(some(framework, every), (0, 4, 5, 14)):
        messages = await shown(item, chosen, rounds)
        assert messages == await shown(without_its_frame(item, chosen, rounds), chosen, rounds), item.id
        if conversation == "growing":
            messages = [(messages[0][0], Message("user", tuple(texts([one])))) for one in messages]
        for text in texts(messages):
            assert not words.leaks(text, [item.key_text, item.response, item.explanation]), item.id
            # Half of it after the fifth attempt, all of it after the tenth, and never before.
            assert (item.frame in text) is (frame == "earned" and rounds >= 10), item.id
            assert (half(item.frame) in text) is (frame == "earned" and rounds >= 5), item.id
            assert "CHAIN" not in text


@parts(few=5, many=1)
@pytest.mark.parametrize("how", ["spread", "next"])
async def test_no_round_shows_a_clue_before_its_time(how: Any, every: int) -> None:
    for interval, item in product((1, 4, 5), SHIPPED[::every]):
        chosen = Settings(clue_reveal=how, clue_interval=interval, arm="caption")
        for rounds in range(15):
            known = revealed(item, chosen, rounds)
            question, *_ = await asked_at("respond", state_after(item, chosen, rounds), item, chosen)
            (text,) = texts([question.messages])
            for clue in item.clues:
                assert (clue in text) is (clue in known), (item.id, rounds)


@pytest.mark.parametrize("control", [{"clues": False}, {"feedback": False}])
async def test_no_control_that_takes_clues_away_shows_one(control: dict[str, bool]) -> None:
    chosen = resolved(benchmark.cast, Settings(**control), judge=1)
    for item in SHIPPED:
        for text in texts(await shown(item, chosen)):
            assert not any(clue in text for clue in item.clues)


@pytest.mark.parametrize("item", SHIPPED, ids=lambda item: item.id)
def test_no_sample_says_its_key_text_or_an_alternative_in_what_it_shows(item: Item) -> None:
    secrets = [item.key_text, *item.accept]
    for name, text in (("caption", item.caption), ("frame", item.frame), *enumerate(item.clues, 1)):
        for secret in secrets:
            assert not words.leaks(text, [secret]), f"{item.id}: {secret!r} stands in {name}: {text}"


# ---- Any sample at all ----

LETTERS = st.text("abcdefgh{}<>MASK \n'\"日出钟", min_size=1, max_size=20)
TEXT = LETTERS.filter(lambda text: text.strip() != "")


@st.composite
def samples(draw: st.DrawFn) -> Item:
    before, after, key = draw(LETTERS), draw(LETTERS), draw(TEXT)
    return Item.model_construct(
        id="any",
        language=draw(st.sampled_from(["en", "zh"])),
        image="any.png",
        caption=draw(TEXT),
        response=before + key + after,
        key_text=key,
        key_span=(len(before), len(before) + len(key)),
        explanation=draw(TEXT),
        clues=tuple(draw(st.lists(TEXT, min_size=1, max_size=6))),
        accept=tuple(draw(st.lists(TEXT, max_size=2))),
        reject=(),
    )


SETTINGS = st.builds(
    Settings,
    arm=st.sampled_from(ARMS),
    framework=st.sampled_from(sorted(FRAMEWORKS)),
    votes=st.just(2),
    clue_reveal=st.sampled_from(["spread", "next"]),
    clue_interval=st.integers(1, 7),
    max_rounds=st.integers(15, 20),
    clues=st.booleans(),
    feedback=st.booleans(),
    frame=st.sampled_from(["shown", "hidden", "earned"]),
    frame_ladder=st.sampled_from(["half_whole", "whole"]),
    encore=st.booleans(),
    conversation=st.sampled_from(["fresh", "growing"]),
).filter(lambda chosen: chosen.feedback or chosen.conversation == "fresh")


@settings(max_examples=2 * settings().max_examples)
@given(samples(), SETTINGS, st.integers(0, 14))
async def test_no_message_depends_on_a_secret_of_any_sample(
    item: Item, chosen: Settings, rounds: int
) -> None:
    other = without_its_frame(item, chosen, rounds)
    assert await shown(item, chosen, rounds) == await shown(other, chosen, rounds)


@given(TEXT, SETTINGS)
async def test_words_of_the_candidate_cannot_fill_a_field_of_a_prompt(typed: str, chosen: Settings) -> None:
    state = state_after(SAMPLE, chosen, 1)
    injected = f"{{{{caption}}}} {{{{explanation}}}} {typed}"
    state["history"][0]["guess"] = injected
    direct = chosen.model_copy(update={"framework": "direct"})
    for question in await asked_at("respond", state, SAMPLE, direct):
        text = "\n".join(texts([question.messages]))
        assert text.count(SAMPLE.caption) == ("caption" in chosen.arm)
        assert SAMPLE.explanation not in text
        assert (injected in text) is chosen.feedback


# ---- Few-shot examples ----


def examples() -> Iterator[tuple[str, str, str]]:
    """Every line of every example of every prompt, with its language and its file."""
    for path, text in PROMPTS.files.items():
        language, _, file = path.partition("/")
        found = re.search(r"^(?:Example 1|例一)$(.*?)^(?:Answer with|请用)", text, re.MULTILINE | re.DOTALL)
        for line in found[1].splitlines() if found else ():
            if line.strip() and not re.fullmatch(r"Example \d|例.|TIPS:|提示：", line):
                yield language, file, line


COUNTS = {"respond": 3, "ask": 3, "answer": 6, "respond_whole": 3, "ask_whole": 3, "answer_whole": 6}
COUNTS |= {"check_whole": 2, "different": 2, "different_whole": 2}
COUNTS |= {f"check_{mode}": 2 for mode in ("zero_shot", "explained", "causal", "per_call")}


def test_every_prompt_whose_appendix_has_examples_has_them() -> None:
    for language, name in product(("en", "zh"), COUNTS):
        text = PROMPTS.files[f"{language}/{name}.txt"]
        assert len(re.findall(r"^(?:Example \d|例[一二三四五六])$", text, re.MULTILINE)) == COUNTS[name]


def test_few_shot_examples_share_no_key_text_with_any_sample() -> None:
    for language, file, line in examples():
        for item in SHIPPED:
            if item.language == language:
                assert not words.leaks(line, [item.key_text]), f"{file}: {line!r} has that of {item.id}"
