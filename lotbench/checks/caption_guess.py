"""What a model finds from the captions alone: whoever needs no picture needs no leap.

The questions are the benchmark's own (first step, no history), put through the same caller; the
answers are kept nowhere, since they decide about a sample and are part of no score.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lotbench import benchmarks
from lotbench.config import experiment as config
from lotbench.edge.calls.store import Store
from lotbench.edge.files.run_folder import Folder
from lotbench.errors import LotbenchError, UsageError
from lotbench.harness.data_findings import Finding, Guess
from lotbench.harness.episode import visit
from lotbench.harness.state import start
from lotbench.run import plan
from lotbench.run.calling import calling
from lotbench.types import Sample

TIMES = 5


def caption_alone(folder: Path, benchmark: str, model: Any) -> list[Finding]:
    """The samples whose key text a model finds without the picture.

    Args:
        folder: The data set's folder.
        benchmark: Its benchmark.
        model: A model name, or a Python object that is a model.

    Raises:
        UsageError: The benchmark has no masks, or the model is not known.
        LotbenchError: The model cannot be reached.
    """
    guess = benchmarks.get(benchmark).data.guess
    if guess is None:
        raise UsageError(f"--model: {benchmark} has no mask to fill")
    name = model if isinstance(model, str) else "python:model"
    return asyncio.run(_caption_alone(folder, benchmark, guess, name, {name: model}))


async def _caption_alone(
    folder: Path, benchmark: str, guess: Guess, model: str, own: Mapping[str, Any]
) -> list[Finding]:
    settings = {f"settings.{name}": value for name, value in guess.settings.items()}
    given = {"benchmark": benchmark, "model": model, "data": str(folder), **settings}
    made = plan.make(config.load(None, (), given))
    alone = replace(made, names={"candidate": made.names["candidate"]})
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place), fresh=True)
        async with calling(alone, partial(Folder, Path(place)), own, store) as calls:
            respond = made.benchmark.nodes["respond"]
            room = asyncio.Semaphore(made.limits.concurrency)

            async def fill(sample: str, repeat: int) -> str | None:
                async with room:
                    episode = made.episode(sample, repeat, calls.caller.ask)
                    changed = await visit(respond, start(sample, repeat), episode)
                if changed.get("outcome"):
                    raise LotbenchError(f"{model}: {changed['why']}")
                return guess.given(changed["turn"])

            async def judged(item: Sample) -> Sequence[Finding]:
                tries = (fill(item.id, repeat) for repeat in range(1, TIMES + 1))
                return guess.findings(item, await asyncio.gather(*tries))

            found = await asyncio.gather(*(judged(item) for item in made.chosen))
    return [finding for findings in found for finding in findings]
