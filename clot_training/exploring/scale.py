"""Exploration over many processes or machines by Ray Data: `explore.engine = "ray"`.

Ray gets prepared batches, one for each block, and distributes them to workers that each hold the model; results come back in
order. Each machine needs the data sets and models.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from clot_training.config import Explore
from clot_training.data.roles import batched
from clot_training.exploring.explorer import Batch, Explorer, Task
from clot_training.records import Candidate
from lotbench.errors import LotbenchError

WAVE = 4_096
"""The number of batches that are given to Ray at once, which bounds its memory."""


def explored(
    batches: Iterator[Batch], maker: Callable[[], Explorer], settings: Explore
) -> Iterator[list[Candidate]]:
    """Yield the candidates of each batch in order; `maker` makes the worker of each process."""
    import ray

    quiet = {"logging_level": logging.WARNING, "include_dashboard": False, "log_to_driver": False}
    # A Ray that was started elsewhere is left running.
    with nullcontext() if ray.is_initialized() else ray.init(**quiet):
        for wave in batched(batches, WAVE):
            yield from _wave(wave, maker, settings)


def _wave(wave: list[Batch], maker: Callable[[], Explorer], settings: Explore) -> Iterator[list[Candidate]]:
    from ray import data

    context = data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    items = [
        {"number": number, "tasks": [task.model_dump_json() for task in batch]}
        for number, batch in enumerate(wave)
    ]
    results = data.from_items(items, override_num_blocks=len(items)).map(
        _Worker,
        fn_constructor_args=(maker,),
        compute=data.ActorPoolStrategy(size=settings.workers),
        num_gpus=settings.gpus or None,
    )
    for number, row in enumerate(results.iter_rows()):
        if row["number"] != number:
            raise LotbenchError(f"Ray returned batch {row['number']} for batch {number}")
        yield [Candidate.model_validate_json(text) for text in row["candidates"]]


class _Worker:
    """An Explorer as Ray calls it: a batch and its candidates are JSON texts in the rows of a table."""

    def __init__(self, maker: Callable[[], Explorer]) -> None:
        self._explorer = maker()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        batch = tuple(Task.model_validate_json(text) for text in row["tasks"])
        lines = [candidate.model_dump_json() for candidate in self._explorer(batch)]
        return {"number": row["number"], "candidates": lines}
