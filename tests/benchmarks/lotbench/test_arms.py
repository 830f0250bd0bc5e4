"""The arms as runs: their names, their reports, judge checks on rows of theirs, replay, the page of a game."""

import asyncio
import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lotbench.benchmarks.lotbench.judge_rows import ROWS, probes
from lotbench.benchmarks.lotbench.replay import replay
from lotbench.benchmarks.lotbench.settings import Settings
from lotbench.benchmarks.lotbench.task import benchmark
from lotbench.benchmarks.lotbench.validation import panels
from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import CheckOrder
from lotbench.cli import main
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.prompting.person_form import interview
from lotbench.run.evaluate import resume
from lotbench.run.loading import load_run
from lotbench.site.game_rounds import thought
from tests.benchmarks.lotbench.test_encore import OTHER, PLAIN, SAME
from tests.benchmarks.lotbench.test_frames import CALM, HEART, POINTED
from tests.fakes import RuleModel
from tests.judging import shipped, write
from tests.play import CHAIN, NO, PROMPTS, TRIAL, YES, candidate, judge, play
from tests.playing import play as play_run
from tests.recorded import cut_off, episodes
from tests.rules import hear
from tests.server import FakeServer

# ---- A run of each arm ----

RUNS: list[tuple[dict[str, Any], str]] = [
    ({"frame": "hidden"}, "frame=hidden"),
    ({"frame": "earned"}, "frame=earned"),
    ({"encore": True}, "encore=true"),
    ({"conversation": "growing"}, "conversation=growing"),
]


def told(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Episodes by sample, without what the server had cached when they asked."""
    return [{**one, "usage": None} for one in sorted(made, key=itemgetter("sample"))]


@pytest.mark.parametrize(("settings", "named"), RUNS, ids=[named for _, named in RUNS])
def test_a_run_of_each_arm_names_it_is_scored_again_told_and_gone_on_with_asking_nothing_twice(
    settings: dict[str, Any], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer() as server:
        run = asyncio.run(play_run(server, tmp_path, settings=settings))
        assert named in run.summary["arm"]
        assert ("leaps" in run.summary["scores"]) is ("encore" in settings)
        assert main(["score", str(run.path)]) == 0
        assert load_run(run.path).summary["scores"] == run.summary["scores"]
        capsys.readouterr()
        assert main(["replay", str(run.path)]) == 0
        assert ("writes" in capsys.readouterr().out) is ("frame" in settings)
        report = (run.path / "report.md").read_text("utf-8")
        assert named in report and ("leap_score" in report) is ("encore" in settings)
        before, came = episodes(run.path), server.log()["requests"]
        calls = len((run.path / "calls.jsonl").read_bytes().splitlines())
        cut_off(run.path)
        kept = len((run.path / "calls.jsonl").read_bytes().splitlines())
        asyncio.run(resume(run.path))
        assert told(episodes(run.path)) == told(before)
        # A connection test may come on top of what was cut off; a causal chain stands in the store.
        assert 0 < server.log()["requests"] - came <= calls - kept + 3


# ---- What a report, a replay and the page of a game say ----


async def encore() -> Any:
    player = candidate("egg timer", "kitchen timer", "alarm clock", "metronome")
    return (await play(player, judge(YES, ideas=[SAME, OTHER]), max_rounds=4, **PLAIN)).trace


async def test_a_replay_tells_leaps_ideas_and_a_key_text_that_came_too_late() -> None:
    text = replay(POINTED.model_dump(mode="json"), await encore()).text
    assert "no other idea: not it" in text and "accepted; another idea" in text
    assert "not it (the key text itself, which was met before)" in text
    assert "after 0 failed attempts" in text and "after 2 failed attempts" in text


async def test_a_replay_says_which_point_was_met() -> None:
    checker = judge(NO, YES, chains=[CHAIN], trial=[*TRIAL, *TRIAL])
    played = (await play(candidate(HEART), checker, sample=POINTED, frame="hidden", max_rounds=1)).trace
    text = replay(POINTED.model_dump(mode="json"), played).text
    assert "response 1: not it; response 2: accepted" in text
    assert CALM in text and "writes" in text
    page = thought(played, {})
    assert page.whole and [chain.target for chain in page.chains] == [0, 1]
    assert page.leaps[0].verdict == "accepted"


async def test_the_page_of_an_encore_calls_an_answer_that_was_no_other_idea_not_it() -> None:
    page = thought(await encore(), {})
    assert [leap.verdict for leap in page.leaps] == ["accepted", "not it", "not it", "accepted"]
    assert [name for name, _ in page.leaps[1].opinions[-1][2]] == ["different_approach: no", "closest"]


async def test_a_person_reads_a_growing_conversation_as_lines_with_who_said_them() -> None:
    player = candidate("bell", "drum", asks=["Is it alive?"])
    await play(player, judge(NO), max_rounds=2, conversation="growing")
    told = interview(player.asked[-1]).texts
    assert [line for line in told if line[0] in ("YOU", "not it", "answer")] == [
        ("YOU", "bell"), ("not it", "bell"), ("YOU", "Is it alive?"), ("answer", "No"),
    ]  # fmt: skip
    assert [field.name for field in interview(player.asked[-1]).fields] == ["guess"]


# ---- Judge checks ----

ITEMS = shipped(6)


def row(number: int, **more: Any) -> dict[str, Any]:
    item, label = ITEMS[number % 6], number % 2 == 0
    return {
        "sample": item.id, "language": item.language, "split": "test", "contested": False, "label": label,
        "labels": [label, label], "difficulty": None if label else "hard", **more,
    }  # fmt: skip


RESPONSES = [row(n, response=f"A {'right' if n % 2 == 0 else 'wrong'} response {n}.") for n in range(12)]
IDEAS = [row(n, known=["a thing"], guess=f"{'right' if n % 2 == 0 else 'wrong'} idea {n}") for n in range(8)]
IDEAS += [
    row(n, known=["A thing."], response=f"A {'right' if n % 2 == 0 else 'wrong'} idea {n}.") for n in range(6)
]


def by_words(request: Any) -> dict[str, Any]:
    """A judge that goes by the word right; the responses and key texts of samples are right too."""
    heard = hear(request)
    said = heard.text.rpartition("CANDIDATE: ")[2].splitlines()[0]
    mine = heard.text.rpartition("REFERENCE: ")[2].splitlines()[0]
    yes = "right" in said or (bool(mine) and mine in said.replace("'", '"'))
    return {
        name: yes if name.startswith(("same", "different")) and name != "difference_reason" else "a -> b"
        for name in heard.form
    }


@pytest.mark.parametrize(("frame", "ideas"), [("hidden", 6), ("earned", 6)])
async def test_a_check_of_a_hidden_encore_reads_responses_and_ideas(
    frame: Any, ideas: int, tmp_path: Path
) -> None:
    rows = write(tmp_path / "set", hidden=RESPONSES, different=IDEAS)
    settings = {"frame": frame, "encore": True, "chain": "per_call"}
    experiment = Experiment(
        data="lotbench_easy", roles={"judge": ("python:j",)}, repeats=1, settings=settings
    )
    wanted = CheckOrder(
        Config(experiment=experiment, limits=Limits()), judge_set=str(rows), out=tmp_path, preflight=False
    )
    found = await judge_check(wanted, own={"python:j": RuleModel(by_words, model_id="j")})
    told = {one.what: one for one in found.measures}
    assert told["check alone"].groups["all"].accuracy.value == 1.0
    assert (told["check alone"].of, told["different approach"].of) == (12, ideas)
    assert told["different approach"].groups["all"].accuracy.value == 1.0
    assert not found.stored, "the samples are shipped ones"


def test_a_check_takes_the_rows_of_its_arm() -> None:
    def tasks(**settings: Any) -> set[str]:
        return {one.task for one in panels("judge", 2, Settings(confirm="never", **settings), False)}

    assert tasks() == {""}
    assert tasks(frame="hidden") == {"responses"}
    assert tasks(encore=True) == {"", "ideas"}
    assert tasks(frame="hidden", encore=True) == {"responses", "ideas of responses"}


def test_each_arm_is_checked_for_itself() -> None:
    arms_of = [{}, {"frame": "hidden"}, {"encore": True}, {"frame": "hidden", "encore": True}]
    key = benchmark.validation.key  # type: ignore[union-attr]
    keys = [key("judge", Settings(**one), PROMPTS, None, "d") for one in arms_of]
    assert len({json.dumps(one, sort_keys=True) for one in keys}) == 4
    # A hidden and an earned frame put the same questions to the judge.
    assert keys[1] == key("judge", Settings(frame="earned"), PROMPTS, None, "d")


@pytest.mark.parametrize(
    ("file", "change", "fault"),
    [
        ("hidden.jsonl", {"response": ITEMS[0].response.upper()}, "is the response itself"),
        ("hidden.jsonl", {"sample": "lot-x", "response": "A joke."}, "no sample 'lot-x'"),
        ("different.jsonl", {"known": ["sofa"], "guess": "The Sofa!"}, "known: has the answer itself"),
        (
            "different.jsonl",
            {"known": ["a"], "guess": "b", "response": "c"},
            "a guess or a response, not both",
        ),
        ("different.jsonl", {"known": ["a"]}, "a guess or a response, not both"),
        ("different.jsonl", {"known": ["a"], "guess": "b", "difficulty": "easy"}, "a positive is null"),
    ],
)
def test_rows_that_cannot_be_put_are_refused(file: str, change: dict[str, Any], fault: str) -> None:
    model = ROWS["judge"][file]
    with pytest.raises(ValueError, match=fault):
        read = model.model_validate({**row(0), **change})
        _, faults = probes("judge", [read], {item.id: item for item in ITEMS})  # type: ignore[list-item]
        if faults:
            raise ValueError(faults[0])
