"""LiveIdeaBench reads a reply as an idea or as what else it is; the traps of the public code are cases here."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lotbench.benchmarks.liveideabench.candidate import length, read_idea
from lotbench.benchmarks.liveideabench.judge import COMPARING, SCORING
from lotbench.benchmarks.liveideabench.masking import MASKED, masked
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.edge.files.datasets import shipped
from lotbench.errors import JudgeError
from lotbench.types import Answer, Key, Question, Reply

CASES = Path(__file__).parents[2] / "cases"
IDEA = "Use granular flow in hourglasses to time chemical reactions without electronics."


def status(text: str, **settings: object) -> str:
    return str(read_idea(Reply(text, "m"), Settings(**settings))["status"])


def cases(name: str) -> list[tuple[str, str]]:
    """Replies of our own with what they are: 60 that decline, 60 ideas that only sound as if they did."""
    lines = (CASES / "refusals" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [sum(row["is"] == kind for row in rows) for kind in ("refused", "ok")] == [60, 60]
    return [(row["text"], row["is"]) for row in rows]


@pytest.mark.parametrize(("text", "what"), cases("tuned"))
def test_a_refusal_is_told_from_an_idea_that_sounds_like_one(text: str, what: str) -> None:
    assert status(text) == what


def test_refusals_in_words_that_nobody_tuned_to_are_found() -> None:
    """Written before the rules and never read while they were made: recall .95, at most 2 of 60 ideas taken for one."""
    read_as = [(status(text), what) for text, what in cases("held_out")]
    assert sum(said == what == "refused" for said, what in read_as) >= 0.95 * 60
    assert sum(said == "refused" and what == "ok" for said, what in read_as) <= 2


def test_refusals_of_another_hand_are_found_as_often_as_its_source_says() -> None:
    """The rules were changed with these in view: .33 of the 60 before, .85 since; see SOURCE.md beside the cases."""
    lines = (CASES / "refusals" / "another_hand.jsonl").read_text(encoding="utf-8").splitlines()
    read_as = Counter((row["is"], status(row["text"])) for row in map(json.loads, lines))
    assert read_as["refused", "refused"] >= 45 and read_as["no_idea", "refused"] >= 6
    assert read_as["ok", "refused"] <= 1


def test_no_planted_idea_is_taken_for_a_refusal() -> None:
    sets = shipped("data", "judge_sets")
    rows = [
        json.loads(line)
        for file in ("liveideabench/pairs", "liveideabench/triples", "hicbench/answers")
        for line in (sets / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    texts = [text for row in rows for name in ("one", "other", "answer") if (text := row.get(name))]
    texts += [text for row in rows for text in row.get("versions", ())]
    assert len(texts) == 780 and not [text for text in texts if status(text) == "refused"]


def test_a_refusal_that_offers_other_help_is_one_and_one_that_has_an_idea_is_not() -> None:
    declined = "I cannot provide ideas on made-up data. "
    help_ = "Instead, I would be happy to talk with you about how such data are found, how students are taught good practice, "
    assert (
        status(declined + help_ + "or how journals could check what they print before they print it.")
        == "refused"
    )
    idea = "Instead, here is one on finding them: compare the last digits of every table with those that people make up, "
    assert (
        status(
            declined + idea + "journal by journal, and publish the share of tables that fail beside its name."
        )
        == "ok"
    )


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
        ("As Gemini, I suggest tides.", ("Gemini",)),
        ("I'm Claude, and I suggest tides.", ("Claude",)),
        ("I am a language model trained by Google.", ("Google",)),
        (
            "GPT4 could plan it, GPT-5.1-mini too, and so could o3-mini-high.",
            ("GPT4", "GPT-5.1-mini", "o3-mini-high"),
        ),
        ("Prompt Gemini 2.0 Flash and gemini-2.5-pro.", ("Gemini 2.0 Flash", "gemini-2.5-pro")),
        (
            "Mistral AI's mistral-large-2411 and Mixtral-8x7B vote.",
            ("Mistral AI", "mistral-large-2411", "Mixtral-8x7B"),
        ),
        ("Microsoft's Phi-4 is small, phi-3-mini smaller.", ("Microsoft's Phi-4", "phi-3-mini")),
        ("DeepSeek-R1 reasons; Google DeepMind folds.", ("DeepSeek-R1", "Google DeepMind")),
        ("我是豆包，由字节跳动训练。", ("豆包", "字节跳动")),
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
        "Amplify the clone with phi-29 polymerase; phage phi-6 and phi-X174 are controls.",
        "The liver gene GPT2 and its sister GPT code for transaminases; knock GPT2 down.",
        "Map it in Google Earth Engine, with Google Trends and Google Scholar beside it.",
        "A mistral-driven upwelling feeds krill; mistral-like winds do so elsewhere.",
        "The anthropic principle bounds the constant, anthropic emissions do not.",
        "Anthropic carbon and Anthropic reasoning are two things.",
        "Photograph Gemini 8 from Gemini South; the Gemini 4 capsule had no lock.",
        "The quantum yield phi-2 falls with light, dihedral phi-1 with strain.",
        "Read Amazon bedrock from rivers; Microsoft Kinect films gait, Azure-blue dyes stain.",
        "A meta AI that chooses among models; GLM-2 is a generalised linear model.",
        "Train it in OpenAI Gym with xAI that explains the net.",
        "As Claude Bernard held, the milieu is constant. As Nova shells cool, dust forms.",
        "嫦娥四号在月之暗面着陆；百度指数预测流感；腾讯位置数据估计人流；豆包的发酵。",
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
