"""The rule of trust from end to end, by the command and over HTTP: the game, judges checked and not."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from lotbench import benchmarks
from lotbench.cli import main
from lotbench.report import trust
from lotbench.run.loading import check_command, load_run
from tests.judging import PlantedJudge, asked, data_set, filled, shipped, write
from tests.rules import game_rule, hear
from tests.server import FakeServer

GAMES = shipped(32)


@dataclass
class Everybody:
    """A server's rule: whoever is called a candidate plays, everybody else judges."""

    plays: Any
    judges: Any

    def __call__(self, body: Mapping[str, Any]) -> Any:
        return (self.plays if hear(body).model == "candidate" else self.judges)(body)


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six samples are enough, and 20 rows of a check."""
    monkeypatch.setattr(trust, "MIN_SAMPLES", 6)
    for name, bounds in trust.BOUNDS.items():
        monkeypatch.setitem(trust.BOUNDS, name, replace(bounds, min_negatives=20, min_positives=20))


def summary(out: Path) -> dict[str, Any]:
    """The summary of the one run in a folder."""
    (path,) = out.glob("*/summary.json")
    made: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return made


@pytest.mark.slow
def test_the_game_is_rankable_once_judge_and_oracle_are_checked(tmp_path: Path) -> None:
    data = data_set(tmp_path / "lotbench_easy", GAMES)
    rows = write(tmp_path / "set", daeso=filled(GAMES), oracle=asked(GAMES))
    with FakeServer(rule=Everybody(game_rule(), PlantedJudge(GAMES))) as server:
        judges = [f"--judge=judge@{server.url}", f"--oracle=oracle@{server.url}"]
        bounds = ["--set=max_rounds=2", "--set=judge_mode=zero_shot", "--set=sampling.judge.temperature=0.5"]
        bounds += ["--set=oracle_says=yes_no", "--set=oracle_sees=response", "--set=verdict=first"]
        play = ["--model", f"candidate@{server.url}", "--data", str(data), *bounds]
        checking = ["--judge-set", str(rows), "--data", str(data), "--repeats", "1"]
        run = ["evaluate", *play, *judges, "--repeats", "1", "--out"]
        assert main([*run, str(tmp_path / "before")]) == 0
        [begun] = map(load_run, (tmp_path / "before").glob("*-*"))
        printed = shlex.split(check_command(begun.config, begun.summary["reasons"]))
        assert main([*printed[1:], *checking, "--out", str(tmp_path / "checks")]) == 0
        assert main([*run, str(tmp_path / "after")]) == 0
    before, after = summary(tmp_path / "before"), summary(tmp_path / "after")
    assert before["rankable"] is False
    assert {reason.partition(" (")[0] for reason in before["reasons"]} == {
        "the judge was never checked", "the oracle was never checked",
    }  # fmt: skip
    assert after["reasons"] == [] and after["rankable"] is True


def test_standard_evaluation_is_rankable_without_any_check(tmp_path: Path) -> None:
    assert not benchmarks.get("standard").judged
    with FakeServer(rule=lambda body: {"answer": "A"}) as server:
        play = ["--model", f"candidate@{server.url}", "--limit", "6", "--set=kind=2t1", "--set=arm=blind"]
        assert main(["evaluate", "standard", *play, "--out", str(tmp_path)]) == 0
    found = summary(tmp_path)
    assert (found["rankable"], found["reasons"]) == (True, [])
