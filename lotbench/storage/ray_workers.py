"""Work on several processes, on Ray: one call of a function for each thing that is given, side by side.

Ray is an extra (`scale`): it is imported here and nowhere else in lotbench, and in a process of its own. It puts
handlers of its own on signals, and has been seen to abort its process while it closed: neither is anything that
should happen to a run.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from lotbench.errors import UsageError

POLL_S = 0.25
"""Seconds between two looks at whether the work is done, or nobody waits for it any more."""
CLOSING_S = 30.0
"""Seconds that Ray may take to close."""
RETRIES = 3
"""How often Ray gives the thing of a process that died to another."""

A = TypeVar("A")
B = TypeVar("B")


async def side_by_side(work: Callable[[A], B], tasks: Sequence[A], died: B) -> list[B]:
    """Return what a function makes of each thing, in order, each in a process of its own; the processes end if this is cancelled.

    Args:
        work: A function of a module; it raises nothing.
        tasks: What can be pickled, without secrets: workers have this process's environment.
        died: What stands for a thing whose process came to no end.

    Raises:
        UsageError: Ray is not installed.
    """
    if find_spec("ray") is None:
        raise UsageError("--shards needs ray: pip install 'lotbench[scale]'")
    context = get_context("spawn")
    ours, child = context.Pipe()
    driver = context.Process(target=_drive, args=(child, work, list(tasks), died), daemon=True)
    driver.start()
    child.close()
    try:
        while not ours.poll():
            await asyncio.sleep(POLL_S)
        results: list[B] = ours.recv()
        return results
    except EOFError:
        # The driver itself died, and its workers with it.
        return [died] * len(tasks)
    finally:
        ours.close()
        driver.join(CLOSING_S)
        driver.kill()


def _drive(results: Connection, work: Callable[[Any], Any], tasks: Sequence[Any], died: Any) -> None:
    """Take the work on Ray and send what came of it; given up when nobody waits for it any more."""
    # Ctrl-C goes to every process of a terminal: whoever waits for the results decides when this one ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import ray

    ray.init(
        address="local",
        num_cpus=len(tasks),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    # Ray's own handler, which prints a stack and aborts, is there only now.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    remote = ray.remote(max_retries=RETRIES)(work)
    promised = pending = [remote.remote(task) for task in tasks]
    # Nothing is ever sent from the other end: it can be read once it is closed.
    while pending and not results.poll():
        _, pending = ray.wait(pending, num_returns=len(pending), timeout=POLL_S)
    if not pending:
        results.send([_await_result(result, died) for result in promised])
    ray.shutdown()


def _await_result(promise: Any, died: Any) -> Any:
    """Return what a worker returned."""
    import ray

    try:
        return ray.get(promise)
    except ray.exceptions.RayError:
        return died
