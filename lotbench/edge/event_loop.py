"""The event loop of a run: uvloop's where it is installed, which takes about a sixth less CPU to post a call."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a loop of its own, as `asyncio.run` does.

    Raises:
        KeyboardInterrupt: Ctrl-C; the coroutine was cancelled first.
    """
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)
