"""The event loop of a run: uvloop's where there is one, asyncio's where there is none."""

from __future__ import annotations

import asyncio
import sys

import pytest

from lotbench.edge import event_loop


async def loop_and_answer() -> str:
    await asyncio.sleep(0)
    return type(asyncio.get_running_loop()).__module__


def test_uvloop_runs_the_work_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvloop")
    assert event_loop.run(loop_and_answer()).startswith("uvloop")

    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert event_loop.run(loop_and_answer()).startswith("asyncio")
