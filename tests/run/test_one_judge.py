"""Who is one judge: the store, the judge checks and `compare` agree on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lotbench import load_run
from lotbench.checks.judge_check import judge_check
from lotbench.checks.judge_check_plan import WantedCheck
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.edge.calls.journal import read_journal
from lotbench.run import results
from lotbench.run.loading import Run
from tests.server import FakeServer


def chains(run: Run) -> set[str]:
    """Where a run's causal chains came from."""
    return {entry.source for entry in read_journal(run.path / "calls.jsonl") if entry.key.step == "chain"}


GIVEN: dict[str, Any] = {"settings": {"judge_mode": "zero_shot", "confirm": "never"}}


async def checked(server: FakeServer, out: Path) -> Path:
    """The record of a check of a server's judge."""
    experiment = Experiment(roles={"judge": (f"judge@{server.url}",)}, repeats=1, **GIVEN)
    wanted = WantedCheck(Config(experiment=experiment, limits=Limits()), out=out, limit=8)
    (record,) = (await judge_check(wanted)).kept
    return record


def known(run: Run) -> bool:
    """Whether a run's judge is known to have been checked, its report written anew."""
    again, _ = results.rewritten(load_run(run.path))
    return not any(reason.startswith("the judge was never checked") for reason in again.summary["reasons"])
