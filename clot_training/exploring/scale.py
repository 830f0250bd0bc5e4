"""Exploration over many processes or machines, by Ray Data: `explore.engine = "ray"`.

Ray gets batches that are formed and seeded already, one a block, and hands them to workers that each hold the
model; what comes back is put in the order of the batches. A machine needs the data sets, the models and the
same `$LOTBENCH_HOME`, or encodes the keywords itself.
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
"""Batches that are in Ray's hands at once: its memory does not grow with the data."""


def explored(
    batches: Iterator[Batch], maker: Callable[[], Explorer], settings: Explore
) -> Iterator[list[Candidate]]:
    """Yield the candidates of each batch, in the order of the batches."""
    import ray

    quiet = {"logging_level": logging.WARNING, "include_dashboard": False, "log_to_driver": False}
    # Whoever began Ray ends it.
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
    """An Explorer as Ray calls it: rows of a table in and out."""

    def __init__(self, maker: Callable[[], Explorer]) -> None:
        self._explorer = maker()

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        batch = tuple(Task.model_validate_json(text) for text in row["tasks"])
        lines = [candidate.model_dump_json() for candidate in self._explorer(batch)]
        return {"number": row["number"], "candidates": lines}
