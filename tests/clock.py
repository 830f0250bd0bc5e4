"""A clock that runs faster than the world's, for a whole process: hours of waiting in minutes.

    python -m tests.clock 12 -m tests.server --port 0 --latency 1.2-4.8
    python -m tests.clock 12 -m lotbench.cli play --browser

Every clock, sleep, timeout, retry and timer of asyncio in that process runs so many times as fast: what asks for the time
is given the fast one, and what waits for the kernel waits that much less. Not so what waits for a thread or a lock with a
timeout, and what a processor needs stays what it is: a machine under such a clock is that many times as slow.
"""

from __future__ import annotations

import runpy
import selectors
import sys
import time
from collections.abc import Callable
from typing import Any


def quicken(times: float) -> None:
    """Let the clocks of this process run so many times as fast from now on."""
    for name in ("monotonic", "time"):
        setattr(time, name, _quick(getattr(time, name), times))
    sleep = time.sleep
    time.sleep = lambda seconds: sleep(seconds / times)
    kernel = selectors.DefaultSelector.select

    def select(self: Any, timeout: float | None = None) -> Any:
        return kernel(self, None if timeout is None else timeout / times)

    selectors.DefaultSelector.select = select  # type: ignore[method-assign]


def _quick(clock: Callable[[], float], times: float) -> Callable[[], float]:
    begun = clock()
    return lambda: begun + (clock() - begun) * times


if __name__ == "__main__":
    rate, _, module = sys.argv[1:4]
    sys.argv[:] = [module, *sys.argv[4:]]
    # A loop in C has a clock of its own.
    sys.modules["uvloop"] = None  # type: ignore[assignment]
    quicken(float(rate))
    runpy.run_module(module, run_name="__main__", alter_sys=True)
