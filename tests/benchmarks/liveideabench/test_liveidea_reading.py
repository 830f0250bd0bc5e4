"""LiveIdeaBench reads a reply as an idea or as what else it is; the traps of the public code are cases here."""

from __future__ import annotations

import pytest

from lotbench.benchmarks.liveideabench.candidate import length, read_idea, refused
from lotbench.benchmarks.liveideabench.judge import COMPARING, SCORING
from lotbench.benchmarks.liveideabench.masking import MASKED, masked
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.errors import JudgeError
from lotbench.types import Answer, Key, Question, Reply

IDEA = "Use granular flow in hourglasses to time chemical reactions without electronics."


def status(text: str, **settings: object) -> str:
    return str(read_idea(Reply(text, "m"), Settings(**settings))["status"])


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot provide ideas on this keyword.",
        "I can’t assist with this request.",
        "As an AI language model, I cannot propose research on this.",
        "I apologize, but I am unable to discuss this.",
        "Unfortunately, I must decline.",
        "I won't write about this topic.",
        "抱歉，我无法提供这方面的内容。",
        "I cannot help with weapons. However, ask me something else.",
        "I'm afraid I can't do that.",
        "Sorry! I am not able to take part.",
    ],
)
def test_a_refusal_is_what_a_reply_opens_with(text: str) -> None:
    assert refused(text)
    assert status(text) == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "Zeolites serve as an air filter that catches ammonia where it leaves the stable.",
        "As an air filter, moss cleans what fans blow through it.",
        "AI cannot yet tell a reef's noise apart; train it on hydrophones.",
        "As an AI-driven network of buoys, the system maps currents that I cannot see from shore.",
        "Patients say 'I cannot sleep'; measure what they breathe.",
        "I can't overstate how little is known of sea foam: sample it.",
        "I propose a sensor of ice. Sorry colleagues will call it a toy.",
        "I cannot discuss pathogens. However, here is an idea on their history: read the parish registers of "
        "three counties against tree rings, and test whether epidemics follow two wet summers in a row.",
        "Unfortunately, AI cannot smell: teach it with dogs.",
        "Unfortunately, corals bleach before anyone looks: let ships' lidars look.",
    ],
)
def test_an_idea_is_not_a_refusal(text: str) -> None:
    assert status(text) == "ok"


def test_what_was_withheld_is_a_refusal_and_kept() -> None:
    made = read_idea(Reply("", "m", refusal="No."), Settings())
    assert (made["status"], made["said"]) == ("refused", "No.")
    assert read_idea(Reply("", "m", finish="content_filter"), Settings())["status"] == "refused"


def test_201_words_are_excluded_and_200_are_not() -> None:
    assert status(" ".join(["word"] * 200)) == "ok"
    assert status(" ".join(["word"] * 201)) == "too_long"
    assert status(" ".join(["word"] * 21), max_words=20) == "too_long"
    assert status("one - two — three", max_words=3) == "ok"


def test_chinese_is_measured_in_characters() -> None:
    assert length("利用颗粒流计时") == (0, 7)
    assert length("用 LiDAR 测量 sea ice。") == (3, 3)
    assert status("流" * 400) == "ok"
    assert status("流" * 401) == "too_long"
    assert status("流" * 31, max_characters=30) == "too_long"
    # Half of each limit is all there is.
    assert status("流" * 200 + " word" * 100) == "ok"
    assert status("流" * 200 + " word" * 101) == "too_long"


def test_reasoning_is_stripped_and_measured_and_an_unclosed_block_is_truncated() -> None:
    made = read_idea(Reply(f"<think>hm, I cannot say</think>{IDEA}", "m"), Settings())
    assert (made["status"], made["idea"]) == ("ok", IDEA)
    assert made["reasoning"] == len("<think>hm, I cannot say</think>")
    assert read_idea(Reply(IDEA, "m", reasoning="twelve chars"), Settings())["reasoning"] == 12
    assert status(f"<think>{IDEA}") == "truncated"
    assert status(f"<think>{IDEA}", final_marker="Final:", no_final="judge_all") == "truncated"
    assert read_idea(Reply(IDEA, "m", finish="length"), Settings())["status"] == "truncated"
    assert status(" \n") == "unparsed"


def test_the_idea_stands_after_the_final_marker() -> None:
    marked = {"final_marker": "**Final Idea:**"}
    made = read_idea(Reply(f"First I think.\n**Final Idea:** {IDEA}", "m"), Settings(**marked))
    assert (made["idea"], made["unmarked"]) == (IDEA, False)
    assert status(IDEA, **marked) == "truncated"
    whole = read_idea(Reply(IDEA + " word" * 300, "m"), Settings(no_final="judge_all", **marked))
    assert (whole["status"], whole["unmarked"]) == ("ok", True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("As a model by OpenAI, I propose moss.", ("OpenAI",)),
        ("GPT-4o and Claude 3.5 Sonnet should debate it.", ("GPT-4o", "Claude 3.5")),
        ("I am Claude, made by Anthropic.", ("Claude", "Anthropic")),
        ("Fine-tune Llama 3 and qwen2.5-max.", ("Llama 3", "qwen2.5-max")),
        ("通义千问认为可以。", ("通义千问",)),
    ],
)
def test_names_of_models_and_makers_are_hidden(text: str, names: tuple[str, ...]) -> None:
    shown, found = masked(text)
    assert found == names
    assert MASKED in shown and not any(name in shown for name in names)


@pytest.mark.parametrize(
    "text",
    [
        "Watch the Gemini meteors with Claude Shannon's theory.",
        "A llama's minimax strategy in the Amazon; a meta-analysis of nova remnants, phi and grok.",
        "Mistral winds cohere over Titan.",
    ],
)
def test_words_that_mean_something_else_stay(text: str) -> None:
    assert masked(text) == (text, ())


def test_names_stay_where_the_setting_says_so() -> None:
    said = Reply("OpenAI says moss.", "m")
    assert read_idea(said, Settings())["shown"] == f"{MASKED} says moss."
    assert read_idea(said, Settings(mask_names=False))["shown"] == "OpenAI says moss."


def answer(text: str) -> Answer:
    return Answer(Question("judge", "compare", ()), Key("s", 1, 1, "compare", 0, 0, ""), Reply(text, "m"))


@pytest.mark.parametrize(
    "text",
    [
        "D",
        "Answer: D",
        "answer: d.",
        "**D**",
        '{"grade": "D"}',
        '{"grade": "Answer: D"}',
        "The answer is D",
        "(D)",
    ],
)
def test_answer_d_is_d(text: str) -> None:
    assert COMPARING.read(answer(text)).parts == {"grade": "D"}


@pytest.mark.parametrize("text", ["A or D", "E", "", "DC", '{"grade": "AB"}', "Academically identical"])
def test_what_is_no_letter_is_a_judge_failure(text: str) -> None:
    with pytest.raises(JudgeError):
        COMPARING.read(answer(text))


@pytest.mark.parametrize("value", ["7.5", "11", "0", '"7"', "null", "7.0", "true"])
def test_a_score_is_a_whole_number_from_1_to_10(value: str) -> None:
    with pytest.raises(JudgeError, match="originality"):
        SCORING["v1"].read(answer(f'{{"originality": {value}, "feasibility": 5}}'))
