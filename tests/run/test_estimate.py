"""What earlier runs let expect of a run, and what is said of it when the run has ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lotbench.cli import main
from lotbench.config.experiment import Config, Limits
from lotbench.run import plan
from lotbench.run.estimate import FILE, estimated
from lotbench.run.evaluate import begin
from lotbench.run.results import Run
from tests.playing import SETTINGS, players
from tests.rules import game_rule
from tests.server import FakeServer


def asked(server: FakeServer, **more: Any) -> Config:
    given = players(server.url)
    experiment = {"model": given["model"], "roles": given["roles"], "limit": 4, "repeats": 3} | more
    return Config(
        experiment=plan.Experiment(**{"settings": SETTINGS, **experiment}), limits=Limits(concurrency=4)
    )


async def test_a_run_like_earlier_ones_takes_about_what_they_took(tmp_path: Path) -> None:
    with FakeServer(game_rule(solve=0.4), caches=False) as server:
        first = await begin(asked(server), out=tmp_path, fresh=True)
        assert not (first.path / FILE).exists()
        assert "Estimate and actual" not in first.report.read_text(encoding="utf-8")
        made = plan.make(asked(server, limit=6, seed=1))
        found = estimated(made, tmp_path)
        assert found is not None and (found.walks, found.runs, found.same) == (12, 1, True)
        second = await begin(asked(server, limit=6, seed=1), out=tmp_path, fresh=True)

    for role, one in found.by_role.items():
        used = used_by(first, role)
        assert one.calls == pytest.approx(1.5 * used["calls"])
        assert one.input_tokens == pytest.approx(1.5 * used["input_tokens"])
        assert one.calls == pytest.approx(used_by(second, role)["calls"], rel=0.5)
    # Games that are solved end early.
    assert found.by_role["candidate"].calls < 18 * made.benchmark.calls(made.settings)["candidate"]
    kept = json.loads((second.path / FILE).read_text(encoding="utf-8"))
    assert kept["by_role"]["judge"]["calls"] == found.by_role["judge"].calls
    report = second.report.read_text(encoding="utf-8")
    assert (
        "## Estimate and actual" in report
        and "12 games or tasks of 1 earlier run of this candidate" in report
    )
    assert f"| candidate | calls | {round(found.by_role['candidate'].calls)}" in report


def used_by(run: Run, role: str) -> dict[str, Any]:
    found: dict[str, Any] = run.summary["usage"]["by_role"][role]
    return found


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
