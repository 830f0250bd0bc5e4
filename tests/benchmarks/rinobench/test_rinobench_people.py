"""People check the claims of a RINoBench run: what they are shown, and how far judge and people agree."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lotbench import load_run
from lotbench.benchmarks.rinobench.people import AGAINST, AMONG, people
from lotbench.cli import main
from lotbench.run.loading import Run
from tests.benchmarks.rinobench.test_rinobench_runs import play
from tests.ideas import judge, known, novel

CHECKS = {
    "ground_known": known("k1", ["gk1"], ["w2"]) | known("k2"),
    "ground_novelty": novel("n1", ["gn1"], True),
}
"""Of each idea the first known claim is grounded and in the gold, the second neither, the novelty claim both."""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return asyncio.run(play(tmp_path, judge(["Works look.", "Works leap."], ["They leap."], CHECKS)))


def to_label(run: Run, place: Path) -> list[dict[str, Any]]:
    assert main(["export", str(run.path), "--for-review", "--out", str(place)]) == 0
    return [json.loads(line) for line in place.read_text("utf-8").splitlines()]


def filled(place: Path, rows: list[dict[str, Any]], said: Mapping[str, Mapping[str, bool]]) -> str:
    lines = (json.dumps(row | said.get(row["row"], {})) for row in rows)
    place.write_text("\n".join(lines) + "\n", "utf-8")
    return str(place)


def test_people_see_a_claim_and_what_it_rests_on_and_nothing_of_the_verdict(run: Run, tmp_path: Path) -> None:
    rows = to_label(run, tmp_path / "to-label.jsonl")
    assert [row["row"] for row in rows[:3]] == ["idea-1/1/k1", "idea-1/1/k2", "idea-1/1/n1"]
    assert len(rows) == 9
    first, _, third = rows[:3]
    assert first | {"beside": ""} == {
        "row": "idea-1/1/k1", "kind": "known", "claim": "Works look.", "gold_arguments": "Looking is known.",
        "beside": "", "grounded": None, "in_gold": None, "who": None,
    }  # fmt: skip
    assert "[w1] Work 1" in first["beside"] and "Solution approach" not in first["beside"]
    assert "Solution approach:\n- We look." in third["beside"] and "Work 1" not in third["beside"]
    assert "because" not in json.dumps(rows), "a reason of the judge"


def test_two_people_label_one_claim_and_their_agreement_is_the_ceiling(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = to_label(run, tmp_path / "to-label.jsonl")
    as_judged = {row["row"]: row["row"][-2:] in ("k1", "n1") for row in rows}
    ann = {row: {"grounded": yes, "in_gold": yes} for row, yes in as_judged.items()}
    ben = {row: {"grounded": yes} for row, yes in as_judged.items()}
    ben["idea-1/1/k1"], ben["idea-3/1/k2"] = {"grounded": False}, {"grounded": True}
    files = [filled(tmp_path / "ann.jsonl", rows, ann), filled(tmp_path / "ben.jsonl", rows, ben)]
    assert main(["score", str(run.path), "--labels", files[0], "--labels", files[1]]) == 0
    assert "labels kept: 18 labels by 2 people on 9 of 9 answers" in capsys.readouterr().out
    assert "People among themselves" in (run.path / "report.md").read_text("utf-8")

    lines = (run.path / "labels.jsonl").read_text("utf-8").splitlines()
    section = people(load_run(run.path).traces, [json.loads(line) for line in lines])
    assert section is not None
    against, among = ([dict(zip(names, row, strict=True)) for row in table.rows] for names, table in zip(
        (AGAINST, AMONG), section.tables, strict=True
    ))  # fmt: skip
    grounded = next(one for one in against if (one["question"], one["claims"]) == ("grounded", "known"))
    # Where the two differ, no more than half say yes: people accept 2 of 6 claims, the judge 3.
    assert [grounded[name] for name in ("labelled", "people yes", "judge yes")] == [6, 2, 3]
    assert grounded["agree"] == pytest.approx(5 / 6) and grounded["kappa"] == pytest.approx(2 / 3)
    assert grounded["false yes"] == pytest.approx(1 / 4) and grounded["false no"] == 0
    # In the gold: nobody but ann answered, so there is no ceiling, and she agrees with the judge on all.
    in_gold = next(one for one in against if (one["question"], one["claims"]) == ("in_gold", "known"))
    assert (in_gold["labelled"], in_gold["kappa"]) == (6, 1)
    assert not [one for one in among if one["question"] == "in_gold"]
    two, one = [row for row in among if row["claims"] == "known"]
    assert (two["agree"], two["of"]) == (4, 6) and two["kappa"] == pytest.approx(1 / 3)
    assert (one["agree"], one["of"]) == (10, 12) and one["kappa"] == pytest.approx(2 / 3)


def test_a_label_is_true_or_false(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = to_label(run, tmp_path / "to-label.jsonl")
    wrong = filled(tmp_path / "wrong.jsonl", rows, {"idea-1/1/k2": {"grounded": "maybe"}})  # type: ignore[dict-item]
    assert main(["score", str(run.path), "--labels", wrong]) == 2
    assert "wrong.jsonl:2: grounded" in capsys.readouterr().err
