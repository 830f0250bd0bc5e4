"""`clot synthesize`: kept candidates become proposals for LoTbench samples, and accepted proposals a data set (Sec. 5.3).

Proposals are made as by `lotbench data build-lotbench`: a model writes them, and a person accepts or rejects them with
`lotbench data review`. Then the same step is run again and writes the data set of accepted proposals.
"""

import asyncio
import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.records import Work
from lotbench.benchmarks.lotbench.construction.responses import Rules, Scene
from lotbench.errors import UsageError
from lotbench.run.construct_lotbench import BuiltGames, build_from
from lotbench.run.construction import Order


def synthesize(config: Config, own: Mapping[str, Any] | None = None) -> BuiltGames:
    """Make proposals of kept candidates; after the review, write the data set of accepted ones.

    Args:
        config: The configuration.
        own: Models that are Python objects, by the NAME in `python:NAME`.

    Raises:
        UsageError: There is no exploration, no tuned model, or no usable candidate, or the review is damaged.
        LotbenchError: The model cannot be reached.
    """
    work = Work(Path(config.out))
    scenes = list(islice(_scenes(config, work), config.synthesize.limit))
    if not scenes:
        raise UsageError(f"{config.out}: no kept candidate answers one picture alone, in English or Chinese")
    if not (writer := config.synthesize.model):
        about = work.last_stage(config.explore.conditions) / "tune.json"
        writer = json.loads(about.read_text(encoding="utf-8"))["model"]
    order = Order((), work.root / "synthesize", {"writer": writer}, Rules(), config.seed)
    return asyncio.run(build_from(scenes, {"kept candidates": len(scenes)}, order, own=own))


def _scenes(config: Config, work: Work) -> Iterator[Scene]:
    """Yield the kept candidates that LoTbench can use."""
    for candidate in work.explorations(config.explore.conditions):
        if candidate.kept and candidate.type == "I2T" and candidate.image and candidate.language != "ja":
            yield Scene(
                id=f"syn-{hashlib.sha256(candidate.id.encode()).hexdigest()[:8]}",
                group=candidate.group,
                language=candidate.language,
                image=str(Path(candidate.image).resolve()),
                question=None,
                response=candidate.text,
                source=f"written to row {candidate.row}",
                writer=candidate.policy,
            )
