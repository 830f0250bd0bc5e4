"""LiveIdeaBench reads a reply as an idea or as what else it is; the traps of the public code are cases here."""

from __future__ import annotations

import pytest

from lotbench.benchmarks.liveideabench.candidate import read_idea
from lotbench.benchmarks.liveideabench.judge import Scores
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.errors import Unread
from lotbench.prompting.reply import read_form
from lotbench.types import Answer, Key, Question, Reply

IDEA = "Use granular flow in hourglasses to time chemical reactions without electronics."


def status(text: str, **settings: object) -> str:
    return str(read_idea(Reply(text, "m"), Settings(**settings))["status"])


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m unable to propose ideas on data fabrication.",
        "As an AI, I have no ideas.",
        "I CANNOT and will not provide any advice about data fabrication.",
        "<think>hm</think>I apologize.",
    ],
)
def test_a_phrase_of_the_papers_makes_a_refusal(text: str) -> None:
    assert status(text) == "refused"


def test_what_was_withheld_is_a_refusal_and_kept() -> None:
    made = read_idea(Reply("", "m", refusal="No."), Settings())
    assert (made["status"], made["said"]) == ("refused", "No.")
    assert read_idea(Reply("", "m", finish="content_filter"), Settings())["status"] == "refused"


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


def answer(text: str) -> Answer:
    return Answer(Question("judge", "compare", ()), Key("s", 1, 1, "compare", 0, 0, ""), Reply(text, "m"))


@pytest.mark.parametrize("value", ["7.5", "11", "0", '"7"', "null", "7.0", "true"])
def test_a_score_is_a_whole_number_from_1_to_10(value: str) -> None:
    with pytest.raises(Unread, match="originality"):
        read_form(answer(f'{{"originality": {value}, "feasibility": 5}}').reply, Scores)
