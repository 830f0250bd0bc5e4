"""Work on several processes, on Ray: one call of a function for each thing that is given, side by side.

Ray is an extra (`scale`): it is imported here and nowhere else in lotbench.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, TypeVar

from lotbench.errors import UsageError

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(work: Callable[[A], B], given: Sequence[A]) -> list[B]:
    """What a function makes of each thing, in order, each in a process of its own.

    Args:
        work: A function of a module; it raises nothing.
        given: What can be pickled, without secrets: workers have this process's environment.

    Raises:
        UsageError: Ray is not installed.
    """
    if find_spec("ray") is None:
        raise UsageError("--shards needs ray: pip install 'lotbench[scale]'")
    import ray

    ray.init(
        address="local",
        num_cpus=len(given),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    waiting: list[Any] = []
    try:
        remote = ray.remote(max_retries=0)(work)
        waiting = [remote.remote(one) for one in given]
        found: list[B] = ray.get(waiting)
        return found
    finally:
        for one in waiting:
            ray.cancel(one)
        ray.shutdown()
