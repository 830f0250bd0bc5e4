"""Which samples are played in training, and which are held out: apart by sample, by picture and by answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.data.split import groups, texts
from lotbench import benchmarks
from lotbench.edge.files import adapter_texts, datasets
from lotbench.edge.files.adapter_texts import fingerprint
from lotbench.errors import UsageError

BENCHMARK = "lotbench"


@dataclass(frozen=True, slots=True)
class Split:
    """The samples of a training run.

    Attributes:
        folder: Where their data set is.
        train: What is played.
        held_out: What is never played, and tells before from after.
    """

    folder: Path
    train: tuple[Any, ...]
    held_out: tuple[Any, ...]

    @property
    def seen(self) -> Iterable[str]:
        """What an adapter that played the training samples has seen: their answers, scenes and pictures."""
        for one in self.train:
            yield from (one.response, one.key_text, *one.accept, one.caption)
            if one.image:
                yield adapter_texts.picture(self.folder / one.image)


def split(config: Config) -> Split:
    """The split of the samples that `play` names, by the share and the seed of the run.

    Raises:
        UsageError: There is no such sample, or too few of them to hold one out.
        DataError: The data set is faulty.
    """
    folder = datasets.data_folder(config.play.data, "lotbench_easy")
    data = datasets.samples(folder, benchmarks.get(BENCHMARK).Item)
    wanted = config.play.samples or tuple(one.id for one in data)
    known = {one.id: one for one in data}
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(f"play.samples: no sample {unknown[0]!r} in {folder}")

    def marks(one: Any) -> set[str]:
        shown = {fingerprint(adapter_texts.picture(folder / one.image))} if one.image else set()
        return texts(one) | shown

    found = groups((known[name] for name in dict.fromkeys(wanted)), marks)
    if len(found) < 2:
        raise UsageError(f"play.samples: {len(found)} scene is too few: one is held out, the rest are played")
    ranked = sorted(found, key=lambda group: _digest(f"{config.seed}/{group[0].id}"))
    away = min(math.ceil(config.held_out * len(ranked)), len(ranked) - 1)
    kept = {one.id for group in ranked[away:] for one in group}
    chosen = [known[name] for name in dict.fromkeys(wanted)]
    return Split(
        folder,
        tuple(one for one in chosen if one.id in kept),
        tuple(one for one in chosen if one.id not in kept),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
