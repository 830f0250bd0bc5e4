"""A run in a process of its own, to be killed: `python -m tests.runner begin URL OUT` or `... resume RUN`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

CONCURRENCY = 6
FIELDS: dict[str, Any] = {"limit": 4, "repeats": 2, "settings": {"max_rounds": 6, "clue_interval": 2}}


async def _main(what: str, place: str, out: str = "") -> None:
    from lotbench.evaluation import resume
    from tests.playing import play

    if what == "begin":
        await play(place, Path(out), concurrency=CONCURRENCY, **FIELDS)
    else:
        await resume(place, concurrency=CONCURRENCY)


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
