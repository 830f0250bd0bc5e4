"""Exploration over many processes or machines by Ray: `explore.engine = "ray"`.

Ray gives prepared batches to workers that each hold the model; results come back in order. A worker that dies is started
again and repeats its batch. Each machine needs the data sets and models.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext

from clot_training.config import Explore
from clot_training.data.roles import batched
from clot_training.exploring.explorer import Batch, Explorer
from clot_training.records import Candidate
from lotbench.storage.ray_workers import start

WAVE = 4_096
"""The number of batches that are given to Ray at once, which bounds its memory."""
RETRIES = 3
"""How often a worker that died is started again, and how often a batch is repeated."""


def explored(
    batches: Iterator[Batch], maker: Callable[[], Explorer], settings: Explore
) -> Iterator[list[Candidate]]:
    """Yield the candidates of each batch in order; `maker` makes the worker of each process."""
    import ray
    from ray.util import ActorPool

    # A Ray that was started elsewhere is left running.
    with nullcontext() if ray.is_initialized() else start(logging_level=logging.WARNING):
        worker = ray.remote(num_gpus=settings.gpus, max_restarts=RETRIES, max_task_retries=RETRIES)(_Worker)
        pool = ActorPool([worker.remote(maker) for _ in range(settings.workers)])
        for wave in batched(batches, WAVE):
            yield from pool.map(lambda actor, batch: actor.explored.remote(batch), wave)


class _Worker:
    """An Explorer in a process of its own."""

    def __init__(self, maker: Callable[[], Explorer]) -> None:
        self._explorer = maker()

    def explored(self, batch: Batch) -> list[Candidate]:
        return self._explorer(batch)
