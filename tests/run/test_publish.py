"""What is published of a run on held-out samples: scores, report and digests, and nothing that tells a sample."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lotbench.cli import main
from lotbench.report.held_out import finder, texts, without_samples
from lotbench.report.sections import Grid, Plot, Reading, Section, Table
from lotbench.run.results import Run
from tests.hostile import everything
from tests.judging import data_set, shipped
from tests.playing import play
from tests.rules import game_rule
from tests.server import FakeServer

ITEMS = shipped(4)
FILES = ("run.json", "summary.json", "report.md", "report.html")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return data_set(tmp_path / "held-out", ITEMS)


async def played(data: Path, out: Path) -> Run:
    with FakeServer(game_rule(solve=0.3)) as server:
        return await play(server, out, data=str(data), limit=None, repeats=2, settings={"max_rounds": 6})


async def test_what_is_published_has_scores_and_digest_and_no_text_of_a_sample(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await played(data, tmp_path / "runs")
    out = tmp_path / "public"
    assert main(["export", str(run.path), "--held-out", "--out", str(out)]) == 0
    assert run.digests["data"] in capsys.readouterr().out
    found = {path.name: path.read_text("utf-8") for path in out.iterdir()}
    assert sorted(found) == sorted(FILES)
    for item in ITEMS:
        told = [item.id, item.image, item.caption, item.response, item.explanation, *item.clues]
        for name, text in found.items():
            assert not [one for one in told if one in text], (name, item.id)
    fillings = {str(step["value"].get("filling")) for trace in run.traces for step in trace.steps} - {"None"}
    assert fillings and not [one for one in fillings if one in found["report.md"]]

    whole = (run.path / "report.md").read_text("utf-8")
    assert any(item.id in whole for item in ITEMS)
    summary, private = (
        json.loads(text) for text in (found["summary.json"], (run.path / "summary.json").read_text())
    )
    assert summary["scores"] == private["scores"] and summary["digests"] == private["digests"]
    assert "are left out." in found["report.md"]
    about = json.loads(found["run.json"])
    assert about["samples"] == {"played": 4, "of": 4} and "data" not in about["experiment"]


def test_the_digest_of_a_data_set_is_the_one_that_runs_name(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    run = asyncio.run(played(data, tmp_path / "runs"))
    capsys.readouterr()
    assert main(["data", "digest", str(data)]) == 0
    assert capsys.readouterr().out.split()[0] == run.digests["data"]
    text = (data / "samples.jsonl").read_text("utf-8")
    (data / "samples.jsonl").write_text(text.replace("toaster", "oven"), "utf-8")
    assert main(["data", "digest", str(data)]) == 0
    assert capsys.readouterr().out.split()[0] != run.digests["data"]


def test_every_part_of_a_section_that_tells_a_sample_goes_and_the_rest_stays() -> None:
    tells = finder(
        texts([{"id": "lot-7", "caption": "A red sofa floats.", "key_text": "sofa", "zh": "红沙发"}])
    )
    section = Section(
        "All",
        notes=("Solved: 3 of 4.", "The red SOFA was hard.", "他说红沙发"),
        tables=(Table(("sample",), (("lot-7",),)), Table(("n",), ((3,), ("sofas are many",)))),
        plots=(
            Plot("bar", "x", "y", {"S": ((0.0, 1.0),)}),
            Plot("bar", "x", "y", {"S": ((0.0, 1.0),)}, names=("lot-7",)),
        ),
        grids=(Grid("x", "y", ("lot-7",), ("m",), ((None,),)),),
        readings=(Reading("r", (("a", "b"),)),),
        name="all",
        numbers={"samples": [{"sample": "lot-7", "n": 1}, {"sample": "other", "n": 2}], "lot-7": 1, "n": 4},
    )
    report = replace(everything(), sections=(section,))
    told = without_samples(report, tells)
    (kept,) = told.sections
    assert kept.notes == ("Solved: 3 of 4.",)
    assert kept.tables == (section.tables[1],) and kept.plots == (section.plots[0],)
    assert kept.grids == () and kept.readings == ()
    assert kept.numbers == {"samples": [{"sample": "other", "n": 2}], "n": 4}
    assert told.scores == report.scores
    assert told.facts.notes[-1] == (
        "Held-out samples: 6 tables, notes and readings that name or quote them are left out."
    )


async def test_a_file_that_would_tell_a_sample_all_the_same_is_not_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await played(data, tmp_path / "runs")
    monkeypatch.setattr("lotbench.run.publish.without_samples", lambda report, tells: report)
    assert main(["export", str(run.path), "--held-out", "--out", str(tmp_path / "public")]) == 2
    assert "would tell of a sample" in capsys.readouterr().err
    assert not (tmp_path / "public").exists()
