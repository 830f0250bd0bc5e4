"""Accepted beside refused answers: which answers become rows, and that TRL takes the rows."""

import asyncio
import json
import runpy
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lotbench import evaluate
from lotbench.benchmarks.lotbench.games import game
from lotbench.run.loading import Run
from lotbench.types import Request
from tests.fakes import RuleModel
from tests.judging import PlantedJudge, data_set, shipped
from tests.pages import ROOT
from tests.rules import hear
from tests.tiny import saved_llama

main = runpy.run_path(str(ROOT / "examples/dpo/pairs.py"))["main"]
ITEMS = shipped(3)
BY_ID = {item.id: item for item in ITEMS}


def says_what_is_listed(request: Request) -> str | Mapping[str, Any]:
    """Right and wrong answers of the sample's own lists, in another order each game."""
    form, key = hear(request).form, request.key
    if "guess" not in form:
        return {name: "Is it false 1?" if name == "question" else "ready" for name in form}
    item = BY_ID[key.sample]
    said = [*item.accept, *(one.text for one in item.reject)]
    Random(f"{key.sample}/{key.repeat}").shuffle(said)
    return {"guess": said[(key.round - 1) % len(said)]}


def played(out: Path, data: Path, judge: Callable[[Any], Any] | None = None, **settings: Any) -> Run:
    judge = judge or PlantedJudge(ITEMS)
    return asyncio.run(
        evaluate(
            model=RuleModel(says_what_is_listed, model_id="lister"),
            roles={name: RuleModel(judge, model_id=name) for name in ("judge", "oracle")},
            data=str(data),
            out=out,
            repeats=2,
            settings={"arm": "caption", "max_rounds": 4, "confirm": "never"} | settings,
        )
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data_set(tmp_path_factory.mktemp("data") / "lotbench_easy", ITEMS)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return played(tmp_path_factory.mktemp("runs"), data)


def exported(out: Path, *runs: Run, most: int = 16) -> list[dict[str, Any]]:
    names = [str(one.path) for one in runs]
    assert main([*names, "--per-sample", str(most), "--out", str(out)]) == 0
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def said(row: Mapping[str, Any], side: str) -> str:
    (turn,) = row[side]
    assert turn["role"] == "assistant"
    return str(json.loads(turn["content"])["guess"])


def test_an_accepted_answer_stands_beside_a_refused_one_of_the_same_scene(run: Run, tmp_path: Path) -> None:
    rows = exported(tmp_path / "rows.jsonl", run)
    games = {(trace.sample, trace.repeat): game(trace) for trace in run.traces}
    for row in rows:
        item = BY_ID[row["sample"]]
        assert said(row, "chosen") in item.accept
        assert said(row, "rejected") in [one.text for one in item.reject]
        assert item.caption in row["prompt"][-1]["content"] and item.frame in row["prompt"][-1]["content"]
        assert row["canary"] == item.canary and "images" not in row
        for side in ("chosen", "rejected"):
            place = row[f"{side}_from"]
            assert (place["run"], place["model"]) == (run.path.name, "lister")
            rounds = games[item.id, place["repeat"]].rounds
            assert said(row, side) in [one.guess for one in rounds if one.number == place["round"]]


def test_a_sample_has_so_many_rows_at_most_and_none_twice(run: Run, tmp_path: Path) -> None:
    rows = exported(tmp_path / "all.jsonl", run, most=100)
    pairs = [(row["sample"], said(row, "chosen"), said(row, "rejected")) for row in rows]
    assert len(set(pairs)) == len(pairs)
    for sample, count in Counter(row["sample"] for row in rows).items():
        sides = [
            {said(row, side) for row in rows if row["sample"] == sample} for side in ("chosen", "rejected")
        ]
        assert count == len(sides[0]) * len(sides[1])
    few = exported(tmp_path / "few.jsonl", run, most=2)
    assert max(Counter(row["sample"] for row in few).values()) == 2
    exported(tmp_path / "again.jsonl", run, most=2)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "few.jsonl").read_bytes()


def test_an_answer_that_was_judged_both_ways_gives_no_row(run: Run, data: Path, tmp_path: Path) -> None:
    rows = exported(tmp_path / "rows.jsonl", run)
    sample, text = rows[0]["sample"], said(rows[0], "chosen")

    class Other(PlantedJudge):
        def verdict(self, response: str, guess: str, call: object = None) -> bool:
            return guess != text and super().verdict(response, guess, call)

    both = exported(tmp_path / "both.jsonl", run, played(tmp_path / "runs", data, Other(ITEMS)))
    here = [row for row in both if row["sample"] == sample]
    assert text not in {said(row, side) for row in here for side in ("chosen", "rejected")}
    assert len({row["chosen_from"]["run"] for row in both}) == 1, "the first run comes first"


def test_pictures_stand_by_path_where_the_game_shows_them(run: Run, data: Path, tmp_path: Path) -> None:
    shown = played(tmp_path / "runs", data, arm="image")
    for row in exported(tmp_path / "rows.jsonl", shown):
        assert row["images"] == [(data / BY_ID[row["sample"]].image).as_posix()]
        kinds = [part["type"] for turn in row["prompt"] for part in turn["content"]]
        assert kinds.count("image") == 1
    assert main([str(run.path), str(shown.path), "--out", str(tmp_path / "both.jsonl")]) == 2


def test_what_gives_no_rows_is_refused(run: Run, data: Path, tmp_path: Path, capsys: Any) -> None:
    never = played(tmp_path / "runs", data, PlantedJudge([]))
    assert main([str(never.path)]) == 2
    assert "no sample has an answer that was accepted" in capsys.readouterr().err
    assert main([str(run.path), "--per-sample", "0"]) == 2
    assert "--per-sample: at least 1" in capsys.readouterr().err


@pytest.mark.slow
def test_trl_takes_the_rows(run: Run, tmp_path: Path) -> None:
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import DPOConfig, DPOTrainer
    from trl.data_utils import is_conversational

    rows = exported(tmp_path / "rows.jsonl", run)
    table = load_dataset("json", data_files=str(tmp_path / "rows.jsonl"), cache_dir=str(tmp_path / "cache"))
    assert len(table["train"]) == len(rows) and all(map(is_conversational, table["train"]))
    saved_llama(tmp_path / "base")
    settings = DPOConfig(
        output_dir=str(tmp_path / "out"),
        max_steps=1,
        max_length=None,
        use_cpu=True,
        bf16=False,
        report_to="none",
        activation_checkpointing=False,
    )
    trainer = DPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(tmp_path / "base"),
        args=settings,
        train_dataset=table["train"],
        processing_class=AutoTokenizer.from_pretrained(tmp_path / "base"),
    )
    trainer.train()
    assert trainer.state.global_step == 1
