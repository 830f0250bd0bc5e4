"""The page on adding a benchmark shows one that is found, played, scored, resumed and told like any other."""

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from lotbench import benchmarks, evaluate_sync
from lotbench.cli import main
from lotbench.errors import UsageError
from lotbench.storage import datasets
from lotbench.types import Request
from tests.adding import build
from tests.fakes import RuleModel


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The benchmark of the page, installed; its data set."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return build(tmp_path / "site")


class Player(RuleModel):
    takes_requests = True


def rule(request: Request) -> str:
    if request.key.step == "respond":
        return f"use {request.key.draw + 1} of {request.key.sample}"
    return json.dumps({"originality": 4 if request.key.sample == "brick" else 1})


def played(data: Path, out: Path, rule: Any = rule, **asked: Any) -> Any:
    player = Player(rule)
    return evaluate_sync("uses", model=player, roles={"judge": player}, data=str(data), out=out, **asked)


def test_it_declares_nine_things(data: Path) -> None:
    declared = benchmarks.get("uses")
    said = {one.name for one in fields(declared) if getattr(declared, one.name) is not one.default}
    assert len(said) == 9
    assert said == {one.name for one in fields(declared) if one.default is MISSING}


def test_it_is_listed_and_shown(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "uses (version 1): name unusual uses of a thing" in capsys.readouterr().out
    assert main(["show", "uses", "--data", str(data)]) == 0
    assert "Name one unusual use of a brick" in capsys.readouterr().out


def test_it_is_played_scored_and_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = played(data, tmp_path / "runs", settings={"uses": 3})
    assert [trace.score.value for trace in run.traces] == [4.0, 1.0]
    assert run.score("originality") == 2.5
    assert run.summary["usage"]["calls"] == 14
    before = (run.path / "traces.jsonl").read_bytes()
    for command in ("score", "report"):
        assert main([command, str(run.path)]) == 0, capsys.readouterr().err
    assert (run.path / "traces.jsonl").read_bytes() == before
    assert "originality" in (run.path / "report.md").read_text(encoding="utf-8")
    assert main(["replay", str(run.path), "--sample", "brick"]) == 0
    assert "use 3 of brick" in capsys.readouterr().out


def test_what_cannot_be_read_is_no_score(data: Path, tmp_path: Path) -> None:
    run = played(
        data, tmp_path, lambda request: "" if request.key.step == "respond" else rule(request), max_failed=1.0
    )
    assert {trace.outcome for trace in run.traces} == {"candidate_failed"}
    assert run.score("originality") is None


def test_its_prompts_lie_beside_its_code(data: Path) -> None:
    assert set(datasets.prompts("uses").files) == {"en/judge.txt", "en/respond.txt"}


def test_an_unknown_benchmark_is_told_of_all_there_are(data: Path) -> None:
    with pytest.raises(UsageError, match=r"lotbench, standard, .*, uses"):
        benchmarks.get("nonsense")
