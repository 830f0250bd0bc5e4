"""Standard evaluation played: what is asked of whom, how answers are read, what they are worth, what a report says."""

import asyncio
import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lotbench.benchmarks.standard import score, sections
from lotbench.benchmarks.standard.building import build
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.benchmarks.standard.oogiri.problems import Problem
from lotbench.benchmarks.standard.score import Answered, primary_metric
from lotbench.benchmarks.standard.settings import Settings, cast
from lotbench.benchmarks.standard.task import benchmark
from lotbench.config.arm import arm as arm_of
from lotbench.config.experiment import load
from lotbench.errors import UsageError
from lotbench.run.evaluate import evaluate_sync
from lotbench.run.plan import make
from lotbench.run.rescore import find_request, replay_run
from lotbench.storage import datasets
from tests.choosing import FOUR, by_lot, chooser, liked, perfect
from tests.episodes import Played, resolved, run_episodes
from tests.fakes import RuleModel, ScriptedModel, text_of
from tests.pages import ROOT

SHIPPED = datasets.samples(datasets.shipped("data", "oogiri"), Row)
KINDS = ("2t1", "3t1", "4t1", "5t2", "rank")
ONE_OF_EACH = [f"{kind}-16f6c7e8-1" for kind in KINDS]
PICTURED = [
    row
    for name in ("ant", "bee")
    for row in liked(name, 100, 40, 16, 6, 2, 0, type="I2T", question=None, image=f"{name}.png")
]


def problems(rows: Any = FOUR, models: Any = None, **settings: Any) -> list[Problem]:
    return list(build(rows, resolved(cast, Settings(**settings), **(models or {})), 0))


async def play(policy: Any, rows: Any = FOUR, **settings: Any) -> Played:
    return await run_episodes(
        benchmark, rows, {"candidate": chooser(policy, problems(rows, **settings))}, **settings
    )


async def alone(model: Any, kind: str, rows: Any = FOUR, **settings: Any) -> Played:
    """One problem of a kind, put to a model."""
    (first, *_) = problems(rows, kind=kind, **settings)
    return await run_episodes(benchmark, rows, {"candidate": model}, only=[first.id], kind=kind, **settings)


@pytest.mark.parametrize(("arm", "picture", "caption"), [("caption", False, True), ("blind", False, False)])
async def test_the_arm_says_what_is_shown_of_a_picture(arm: str, picture: bool, caption: bool) -> None:
    rows = [row for row in SHIPPED if row.type == "IT2T" and row.language == "en"]
    model = chooser(by_lot, problems(rows, kind="rank", arm=arm))
    played = await run_episodes(benchmark, rows, {"candidate": model}, kind="rank", arm=arm)
    for request, heard in zip(model.asked, model.heard(), strict=True):
        one = played.evidence.samples[request.key.sample]
        assert ("[picture]" in heard, one.caption in heard) == (picture, caption)
        assert one.question in heard
    assert arm_of(played.settings) == f"{arm}, kind=rank"


@pytest.mark.parametrize(
    ("said", "letters"),
    [
        ("B > A > C > E > D", "BACED"), ("B, A, C, E and D.", "BACED"),
        ("B. one\nA. two\nC. three\nE. four\nD. five", "BACED"), ("B > A > C", None),
        ("B > A > C > E > E", None), ("A better one is B, then C, D and E", None),
        ("B. one\nI like A\nC. three\nE. four\nD. five", None),
    ],
)  # fmt: skip
async def test_a_ranking_may_come_as_letters_alone(said: str, letters: str | None) -> None:
    played = await alone(ScriptedModel(said, loop=True), "rank")
    value = played.steps("respond")[0]
    assert value["status"] == ("ok" if letters else "unparsed")
    if letters:
        assert value["picked"] == [value["shown"]["ABCDE".index(letter)] for letter in letters]


async def test_captions_and_rewrites_are_written_once_for_all_kinds_and_kept(tmp_path: Path) -> None:
    captioner = ScriptedModel({"caption": "An insect."}, model_id="sees", loop=True)
    rewriter = ScriptedModel({"rewrite": "Something dull."}, model_id="dull", loop=True)
    models = {"captioner": 1, "rewriter": 1}
    players = {
        "candidate": chooser(perfect, problems(PICTURED, models)),
        "captioner": captioner,
        "rewriter": rewriter,
    }
    played = await run_episodes(benchmark, PICTURED, players, folder=tmp_path)
    assert Counter(played.outcomes) == {"scored": 10}
    # Two pictures; the right response of the three kinds with a rewrite, and the first of a pair.
    assert len(captioner.asked) == 2
    assert len(rewriter.asked) == len(
        {one.options[0].row for one in problems(PICTURED, models, kind="4t1")}
        | {one.options[0].row for one in problems(PICTURED, models, kind="5t2")}
    )
    assert {request.key.sample for request in captioner.asked} == {"ant", "bee"}
    assert all("response 0 to" in heard or "response 1 to" in heard for heard in rewriter.heard())
    assert "[picture]" not in "".join(rewriter.heard())
    table = played.section("what the options are").tables[0]
    assert {(row[2], row[4]) for row in table.rows} == {
        ("the captioner", ""),
        ("the rewriter", ""),
        ("a response to another picture or question", ""),
    }
    (tmp_path / "other").mkdir()
    # So are the captions of other pictures, by the same question.
    players["captioner"] = other = ScriptedModel({"caption": "An insect."}, model_id="sees", loop=True)
    unrelated = await run_episodes(
        benchmark, PICTURED, players, folder=tmp_path / "other", unrelated="caption", kind="3t1"
    )
    assert unrelated.outcomes == ["scored"] * 2
    assert {request.key.sample for request in other.asked} == {"ant", "bee"}
    # Another run takes them from the store.
    (tmp_path / "calls.jsonl").unlink()
    players["captioner"] = again = ScriptedModel({"caption": "Other."}, model_id="sees", loop=True)
    await run_episodes(benchmark, PICTURED, players, folder=tmp_path)
    assert len(again.asked) == 0


async def test_a_caption_that_cannot_be_read_ends_the_episode_and_is_no_answer() -> None:
    players = {
        "candidate": chooser(perfect, problems(PICTURED, {"captioner": 1})),
        "captioner": ScriptedModel('{"no": 1}', loop=True, model_id="blind"),
    }
    (first, *_) = problems(PICTURED, {"captioner": 1}, kind="2t1")
    played = await run_episodes(benchmark, PICTURED, players, only=[first.id], kind="2t1")
    assert played.outcomes == ["captioner_failed"]
    assert played.metrics()["accuracy_2t1"].value is None


async def test_a_rewrite_that_is_the_response_is_asked_for_again() -> None:
    (first, *_) = problems(models={"rewriter": 1}, kind="4t1")
    same = {"rewrite": str(first.options[0].text).upper() + "!"}
    rewriter = ScriptedModel(same, {"rewrite": "Dull."}, model_id="dull")
    players = {
        "candidate": chooser(perfect, problems(models={"rewriter": 1}, kind="4t1")),
        "rewriter": rewriter,
    }
    played = await run_episodes(benchmark, FOUR, players, only=[first.id], kind="4t1")
    assert played.outcomes == ["scored"] and len(rewriter.asked) == 2


async def test_the_gain_changes_the_score_and_not_the_episode() -> None:
    linear, steep = [(await play(by_lot, kind="rank", gain=gain)) for gain in ("linear", "exponential")]
    assert [trace.steps for trace in linear.traces] != []
    assert [t.score.parts for t in linear.traces] == [t.score.parts for t in steep.traces]
    assert linear.value("rank_ndcg") != steep.value("rank_ndcg")
    # 2^rel - 1 of a response is its likes.
    (one, *_) = problems(kind="rank")
    assert [2**option.relevance - 1 for option in one.options] == pytest.approx([o.star for o in one.options])


async def test_the_report_has_spearman_what_is_misplaced_and_the_papers_average() -> None:
    played = await play(by_lot, [row for row in SHIPPED if row.language == "ja"])
    ranking = played.section("ranking")
    assert [row[0] for row in ranking.tables[0].rows] == ["top-1", "NDCG", "Spearman"]
    assert [row[0] for row in ranking.tables[1].rows] == [1, 2, 3, 4, 5]
    assert len(ranking.plots) == 1
    for row in (one for one in played.section("by type and language").tables[0].rows if one[0] != "all"):
        values = [value for value in (*row[3:7], row[8]) if isinstance(value, float)]
        assert row[-2:] == pytest.approx((sum(values[1:]) / 4, sum(values) / 5))


def test_the_papers_preset_runs() -> None:
    paper = load(datasets.shipped("configs", "paper", "standard.toml"), ["share=0.5"], {"model": "human"})
    assert make(paper).settings.captions == "captioner"


async def test_free_responses_are_written_and_not_scored() -> None:
    model = ScriptedModel({"response": "Because of the ants."}, loop=True)
    played = await run_episodes(benchmark, SHIPPED, {"candidate": model}, kind="generate")
    assert len(played.traces) == 42
    assert {request.sampling.temperature for request in model.asked} == {1.0}
    assert played.traces[0].score.parts["response"] == "Because of the ants."
    assert all(metric.value is None and metric.why for metric in played.metrics().values())
    assert "lotbench ballot" in played.section("free responses").notes[0]


class Player(RuleModel):
    takes_requests = True


def test_a_part_is_never_the_whole_and_only_the_default_split_has_a_place() -> None:
    chosen = {"part": "held_out", "share": 0.35, "split_seed": 92}
    sizes = []
    for settings in ({}, chosen, {"min_likes": 300}):
        flags = {"benchmark": "standard", "model": "m", "settings": {"kind": "2t1", **settings}}
        sizes.append((made := make(load(None, (), flags))).of)
        assert len(made.chosen) < made.of or not settings
    assert len(set(sizes)) == 1
    assert primary_metric([], Settings(**chosen)).lacks == ["the samples were chosen by share or split_seed"]
    assert primary_metric([], Settings(part="held_out")).lacks == []


def test_a_run_is_scored_again_from_its_folder_and_shows_what_was_sent(tmp_path: Path) -> None:
    models = {"captioner": 1, "rewriter": 1}
    candidate = Player(chooser(by_lot, problems(SHIPPED, models))._rule)
    helper = Player(lambda request: {"caption": "A thing.", "rewrite": "It is dull."})
    run = evaluate_sync(
        "standard",
        model=candidate,
        roles={"captioner": helper, "rewriter": helper},
        out=tmp_path,
        samples=[problem.id for problem in problems(SHIPPED, models)[:5]],
        check=False,
    )
    again = asyncio.run(replay_run(run))
    assert again.traces == list(run.traces) and again.not_replayed == []
    calls = [json.loads(line) for line in (run.path / "calls.jsonl").read_text().splitlines()]
    about = [call["key"]["sample"] for call in calls if call["key"]["step"] == "caption"]
    assert about == ["oog-en-i01"]
    (key,) = {str(s["call"]) for trace in run.traces for s in trace.steps if s["step"] == "caption"}
    assert "You describe pictures" in text_of(asyncio.run(find_request(run, key)))


@pytest.mark.slow
def test_the_embedded_model_answers_on_the_shipped_rows(tmp_path: Path) -> None:
    run = evaluate_sync(
        "standard", model="local", out=tmp_path, samples=ONE_OF_EACH, settings={"arm": "caption"}
    )
    assert [trace.outcome for trace in run.traces] == ["scored"] * 5
    assert {trace.score.parts["kind"] for trace in run.traces} == set(KINDS)
    assert run.summary["arm"].startswith("caption")


@pytest.mark.slow
def test_the_embedded_model_without_captions_names_the_arm(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--set arm=caption"):
        evaluate_sync("standard", model="local", out=tmp_path, limit=1)


def test_each_average_of_the_papers_tables_is_the_mean_of_its_own_row() -> None:
    with (ROOT / "tests/cases/standard/paper_tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["table"] for row in rows) == {"2": 54, "3": 16, "4": 16}
    for row in rows:
        kinds = score.AVERAGES["average_with_2t1" if row["table"] == "3" else "average"]
        counts = np.array([[float(row[kind.upper() if kind != "rank" else "Rank"]), 1.0] for kind in kinds])
        # One is cut and not rounded: 15.16 is printed as 15.1.
        off = 0.0601 if (row["model"], row["task"]) == ("Otter 7B", "T2T") else 0.0501
        assert float(score._averaged(counts)) == pytest.approx(float(row["Avg."]), abs=off), row


def answered_as(kind: str, group: str, right: bool, type_: str = "I2T") -> Answered:
    """A problem of a kind and type on one picture, answered rightly or not at all."""
    one = next(one for one in problems(kind="all") if one.kind == kind)
    one = one.model_copy(update={"group": group, "type": type_})
    best = tuple(range(one.answer_size)) if kind != "rank" else tuple(range(len(one.options)))
    return Answered(one, best if right else None)


def test_the_average_of_one_type_is_the_mean_of_the_papers_four() -> None:
    marks = {"a": {"3t1": True, "4t1": False, "5t2": True, "rank": True}, "b": {"3t1": True, "4t1": True}}
    found = [answered_as(kind, group, right) for group, of in marks.items() for kind, right in of.items()]
    made = score.average(found, Settings(), score.AVERAGES["average"])
    assert made.value == pytest.approx((1 + 0.5 + 1 + 1) / 4)
    assert (made.n, made.observations) == (2, 6)
    lacking = score.average(
        [one for one in found if one.problem.kind != "5t2"], Settings(), score.AVERAGES["average_with_2t1"]
    )
    assert lacking.value is None
    assert lacking.why == "no 2T1 of I2T, 5T2 of I2T was asked: the average is over 5 of each type"


def test_the_average_weighs_types_alike_however_many_problems_each_has() -> None:
    four = ("3t1", "4t1", "5t2", "rank")
    found = [answered_as(kind, f"picture {n}", True) for kind in four for n in range(9)]
    found += [answered_as(kind, f"question {n}", False, "T2T") for kind in four for n in range(4)]
    made = score.average(found, Settings(), score.AVERAGES["average"])
    table = sections.cells(found, Settings()).tables[0]
    column = table.columns.index("Avg.")
    assert made.value == pytest.approx((1 + 0) / 2)  # 36 of 52 answers are right
    assert made.low is not None and made.high is not None and made.low < 0.5 < made.high
    assert {row[:2]: row[column] for row in table.rows if row[1] == "en"} == {
        ("I2T", "en"): 1.0,
        ("T2T", "en"): 0.0,
        ("all", "en"): 0.5,
    }
    ranked = score.ndcg([answered_as("rank", "any", True)], Settings()).baselines["chance"]
    assert ranked and made.baselines["chance"] == pytest.approx((1 / 3 + 1 / 4 + 1 / 10 + ranked) / 4)
