"""LiveIdeaBench reads a reply as an idea or as what else it is; the traps of the public code are cases here."""

import json
from pathlib import Path

import pytest

from lotbench.benchmarks.liveideabench.candidate import declines, read_idea
from lotbench.benchmarks.liveideabench.judge import Scores
from lotbench.benchmarks.liveideabench.settings import Settings
from lotbench.errors import Unread
from lotbench.prompting.reply import read_form
from lotbench.types import Answer, Key, Question, Reply
from tests.fakes import RuleModel
from tests.liveidea import items, panel, play

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


FLUENT = [
    json.loads(line)["idea"]
    for line in Path(__file__)
    .parents[2]
    .joinpath("cases", "fluent_ideas.jsonl")
    .read_text("utf-8")
    .splitlines()
]
"""Ideas of many fields, rich in "response", "prompt", "I cannot" and "as an AI": their writer had not seen the rule."""


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("refusals", ["score", "drop"])
async def test_no_fluent_idea_is_left_out(version: str, refusals: str) -> None:
    assert len(set(FLUENT)) == len(FLUENT) >= 200
    assert all(60 <= len(idea.split()) <= 100 for idea in FLUENT)
    marked = sum(declines(idea) for idea in FLUENT)
    assert marked >= 30, "the phrases of the papers are in many of them"
    candidate = RuleModel(lambda request: FLUENT[int(request.key.sample[2:]) - 1], model_id="candidate")
    given = items(*(f"word {at}" for at in range(len(FLUENT))))
    played = await play(given, candidate, panel(1), version=version, refusals=refusals, ideas=1, judges=1)
    kept = [step["value"] for one in played.traces for step in one.steps if step["step"] == "judge"]
    assert len(kept) == len(FLUENT) and {one["status"] for one in kept} == {"ok"}
    # In v2 a marked idea is asked for once more, and what comes is judged.
    again = [call for call in played.calls if call.key.step == "fallback"]
    assert len(again) == (marked if version == "v2" else 0)


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I\u2019m unable to propose ideas on data fabrication.", True),
        ("I CANNOT and will not provide any advice about data fabrication.", True),
        ("As an AI language model, I cannot have ideas.", True),
        ("<think>hm</think>I apologize.", True),
        ("As an AI tutor errs, let pupils look for its errors.", False),
        ("A pen that knows when a pupil thinks 'I cannot do this' lights a lamp.", False),
        ("I cannot read old letters, and " + "families could help " * 20, False),
    ],
)
def test_drop_leaves_out_short_refusals_alone(text: str, left_out: bool) -> None:
    last = {"settings": Settings(refusals="drop"), "last": True}
    assert (read_idea(Reply(text, "m"), **last)["status"] == "refused") is left_out
    judged = read_idea(Reply(text, "m"), Settings(refusals="score"), last=True)
    assert (judged["status"], judged["declines"]) == ("ok", True)


def test_what_a_server_withholds_in_words_is_judged_like_any_refusal() -> None:
    said = Reply("", "m", refusal="No.")
    judged = read_idea(said, Settings(), last=True)
    assert (judged["status"], judged["idea"], judged["declines"]) == ("ok", "No.", True)
    assert read_idea(said, Settings(refusals="drop"), last=True)["status"] == "refused"


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
    # The marker is looked for first: what stands before it is no refusal.
    thought = f"I cannot tell yet; I'm sorry.\n**Final Idea:** {IDEA}"
    made = read_idea(Reply(thought, "m"), Settings(no_final="judge_all", **marked))
    assert (made["status"], made["idea"], made["declines"]) == ("ok", IDEA, False)
    whole = read_idea(Reply(IDEA + " word" * 300, "m"), Settings(no_final="judge_all", **marked))
    assert (whole["status"], whole["unmarked"]) == ("ok", True)


def answer(text: str) -> Answer:
    return Answer(Question("judge", "compare", ()), Key("s", 1, 1, "compare", 0, 0, ""), Reply(text, "m"))


@pytest.mark.parametrize("value", ["7.5", "11", "0", '"7"', "null", "7.0", "true"])
def test_a_score_is_a_whole_number_from_1_to_10(value: str) -> None:
    with pytest.raises(Unread, match="originality"):
        read_form(answer(f'{{"originality": {value}, "feasibility": 5}}').reply, Scores)
