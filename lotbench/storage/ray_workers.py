"""Parallel calls of a function in several processes, by Ray.

Ray is an optional dependency (extra `scale`), imported only here. It runs in a process of its own, because it replaces
signal handlers and has been seen to abort its process while closing; a run must survive both.
"""

import asyncio
import logging
import signal
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from lotbench.errors import LotbenchError, UsageError, install_hint

POLL_S = 0.25
"""Seconds between two checks whether the work is done, or its results are no longer awaited."""
STOPPING_S, CLOSING_S = 10.0, 30.0
"""Seconds that workers may take to end after an interruption, and that they and Ray may take to close."""
RETRIES = 3
"""How often Ray repeats a task whose process died."""

A = TypeVar("A")
B = TypeVar("B")


async def side_by_side(work: Callable[[A], B], tasks: Sequence[A], died: B) -> list[B]:
    """Return the results of a function for all tasks, in order, each task in its own process.

    If the call is cancelled, the processes end.

    Args:
        work: A module-level function that raises nothing.
        tasks: Arguments that can be pickled and hold no secret; workers have this process's environment.
        died: The result of a task whose process died.

    Raises:
        UsageError: Ray is not installed.
        LotbenchError: Ray did not start.
    """
    if find_spec("ray") is None:
        raise UsageError(f"--shards needs ray: {install_hint('scale')}")
    context = get_context("spawn")
    ours, child = context.Pipe()
    driver = context.Process(target=_drive, args=(child, work, list(tasks), died), daemon=True)
    driver.start()
    child.close()
    try:
        while not ours.poll():
            await asyncio.sleep(POLL_S)
        results: list[B] | str = ours.recv()
        if isinstance(results, str):
            raise LotbenchError(f"--shards: {results}; the run can be resumed")
        return results
    except EOFError:
        # The driver itself died, and its workers with it.
        return [died] * len(tasks)
    finally:
        ours.close()
        driver.join(CLOSING_S)
        driver.kill()


def start(**options: Any) -> Any:
    """Call `ray.init` without the dashboard and the workers' output, and return its result.

    Raises:
        LotbenchError: Ray did not start.
    """
    import ray

    try:
        return ray.init(include_dashboard=False, log_to_driver=False, **options)
    except Exception as error:  # noqa: BLE001 - of its processes, sockets and files, of many kinds
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise LotbenchError(f"ray did not start: {lines[0]}") from None


def _drive(results: Connection, work: Callable[[Any], Any], tasks: Sequence[Any], died: Any) -> None:
    """Run the tasks on Ray and send the results, or a message if Ray did not start.

    It stops early if the receiver closes the connection.
    """
    # Ctrl-C reaches every process of a terminal: the receiver of the results decides when this one ends. SIG_IGN would pass to
    # the workers, and `ray.cancel` would do nothing.
    signal.signal(signal.SIGINT, lambda *_: None)
    # The end of the terminal does so too, and Ray's processes, which get this, must live until the workers have stopped.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    import ray

    try:
        start(address="local", num_cpus=len(tasks), logging_level=logging.ERROR)
    except LotbenchError as error:
        results.send(str(error))
        return
    # Ray has now set its own handler, which prints a stack and aborts.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    remote = ray.remote(max_retries=RETRIES)(work)
    promised = pending = [remote.remote(task) for task in tasks]
    # The receiver sends nothing: `poll` is true only once it has closed the connection.
    while pending and not results.poll():
        _, pending = ray.wait(pending, num_returns=len(pending), timeout=POLL_S)
    if not pending:
        results.send([_await_result(result, died) for result in promised])
    for task in pending:
        # It raises KeyboardInterrupt there, so that a worker counts its calls in flight; they may be billed.
        ray.cancel(task)
    ray.wait(promised, num_returns=len(promised), timeout=STOPPING_S)
    ray.shutdown()


def _await_result(promise: Any, died: Any) -> Any:
    """Return the result of a worker, or `died` if its process died."""
    import ray

    try:
        return ray.get(promise)
    except ray.exceptions.RayError:
        return died
