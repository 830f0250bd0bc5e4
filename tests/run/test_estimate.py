"""What earlier runs let expect of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.config.experiment import Config, Limits
from lotbench.run import plan
from lotbench.run.estimate import estimated
from lotbench.run.evaluate import begin
from tests.playing import SETTINGS, players
from tests.rules import game_rule
from tests.server import FakeServer


def asked(server: FakeServer, **more: Any) -> Config:
    given = players(server.url)
    experiment = {"model": given["model"], "roles": given["roles"], "limit": 4, "repeats": 3} | more
    return Config(
        experiment=plan.Experiment(**{"settings": SETTINGS, **experiment}), limits=Limits(concurrency=4)
    )


async def test_other_arms_other_rounds_and_runs_that_did_not_end_are_no_guide(tmp_path: Path) -> None:
    with FakeServer(caches=False) as server:
        run = await begin(asked(server), out=tmp_path, fresh=True)
        other = players(server.url)["model"].replace("c", "d", 1)
        strange = estimated(plan.make(asked(server, model=other)), tmp_path)
        assert strange is not None and not strange.same
        for change in ({"max_rounds": 9}, {"arm": "image"}):
            assert estimated(plan.make(asked(server, settings=SETTINGS | change)), tmp_path) is None
        table = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
        for broken in (table | {"complete": False}, {"complete": True}, table | {"usage": 5}):
            (run.path / "summary.json").write_text(json.dumps(broken), encoding="utf-8")
            assert estimated(plan.make(asked(server)), tmp_path) is None
        (run.path / "summary.json").write_text("{", encoding="utf-8")
        assert estimated(plan.make(asked(server)), tmp_path) is None


def test_a_dry_run_says_what_is_likely_beside_the_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FakeServer(game_rule(solve=0.4), caches=False) as server:
        cast = [f"--model=c@{server.url}", f"--judge=j@{server.url}", f"--oracle=o@{server.url}"]
        size = ["--set", "arm=caption", "--limit=4", "--repeats=3", "--max-rounds=3", f"--out={tmp_path}"]
        assert main(["evaluate", *cast, *size, "--dry-run"]) == 0
        assert "no estimate: no finished run of lotbench like this one" in capsys.readouterr().out
        assert main(["evaluate", *cast, *size]) == 0
        assert main(["evaluate", *cast, *size, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "cost at most" in said
    assert "likely, from 12 games or tasks of 1 earlier run of this candidate:" in said


async def test_who_counts_no_tokens_is_no_guide_for_a_model_that_does(tmp_path: Path) -> None:
    """After a run of the placebo the next candidate was said to cost nothing."""
    with FakeServer(caches=False) as server:
        await begin(asked(server, model="placebo"), out=tmp_path, fresh=True)
        assert estimated(plan.make(asked(server)), tmp_path) is None
        placebo = estimated(plan.make(asked(server, model="placebo")), tmp_path)
        assert placebo is not None and placebo.same
        await begin(asked(server), out=tmp_path, fresh=True)
        found = estimated(plan.make(asked(server)), tmp_path)
    assert found is not None and (found.walks, found.runs) == (12, 1)
    assert found.by_role["candidate"].input_tokens > 0


@pytest.mark.parametrize("broken", ["many", -3, float("nan"), None, {}])
async def test_a_damaged_summary_is_no_guide_and_stops_nothing(broken: Any, tmp_path: Path) -> None:
    with FakeServer(caches=False) as server:
        run = await begin(asked(server, limit=2, repeats=1), out=tmp_path, fresh=True)
        made = plan.make(asked(server))
        assert estimated(made, tmp_path) is not None
        table = json.loads((run.path / "summary.json").read_text(encoding="utf-8"))
        table["usage"]["by_role"]["judge"]["input_tokens"] = broken
        (run.path / "summary.json").write_text(json.dumps(table), encoding="utf-8")
        assert estimated(made, tmp_path) is None
