"""What a run asks with is put together in one place, and closed in order whatever ends it."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lotbench.calls import journal
from lotbench.calls.store import Store
from lotbench.config.experiment import Config, Experiment, Limits
from lotbench.errors import LimitReached, UsageError
from lotbench.run import plan
from lotbench.run.calling import calling
from lotbench.run.plan import Plan
from lotbench.storage.run_folder import Folder
from tests.fakes import ScriptedModel

READY = ScriptedModel({"word": "ready"}, loop=True)


def planned(model: str = "python:ready", **limits: Any) -> Plan:
    experiment = Experiment(model=model, roles={role: ("python:ready",) for role in ("judge", "oracle")})
    return plan.make(Config(experiment=experiment, limits=Limits(**limits)))


async def test_a_missing_key_is_found_before_there_is_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        async with calling(planned("gpt-4o-mini"), partial(Folder, place), {"python:ready": READY}):
            raise AssertionError("never entered")
    assert not place.exists()


async def test_what_earlier_sessions_used_is_counted_once(tmp_path: Path) -> None:
    opened = partial(calling, folder=partial(Folder, tmp_path), own={"python:ready": READY})
    async with opened(planned(), store=Store(tmp_path)) as calls:
        await calls.check()
        used = calls.caller.budget.tokens
    assert used > 0
    for _ in range(2):
        # From the journal alone: the same questions are answered from it, and cost nothing.
        async with opened(planned(token_limit=used), store=Store(tmp_path)) as calls:
            assert calls.caller.budget.tokens == used
            await calls.check()
            assert calls.caller.budget.tokens == used
    lines = (tmp_path / "calls.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "calls.jsonl").write_bytes(b"".join(lines[:2]))
    with pytest.raises(LimitReached):
        async with opened(planned(token_limit=used), store=Store(tmp_path)) as calls:
            await calls.check()


async def test_all_is_closed_whatever_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        async with calling(planned(), partial(Folder, tmp_path), {"python:ready": READY}) as calls:
            raise KeyError
    assert calls.caller.journal._file.closed
    with Folder(tmp_path):
        pass


async def test_a_journal_adds_up_to_what_its_lines_do(tmp_path: Path) -> None:
    async with calling(planned(), partial(Folder, tmp_path), {"python:ready": READY}) as calls:
        await calls.check()
        written = calls.caller.journal.totals
    lines = list(journal.read_journal(tmp_path / "calls.jsonl"))
    assert sum(total.calls for total in written.by_origin.values()) == len(lines) == 3
    assert journal.read_totals(tmp_path / "calls.jsonl", written.prices) == written
    assert written.ids() == {role: [["scripted"]] for role in ("candidate", "judge", "oracle")}
    with journal.Journal(tmp_path / "calls.jsonl", prices=written.prices) as again:
        assert again.totals == written
    assert journal.read_totals(tmp_path / "nowhere.jsonl") == journal.Totals()
