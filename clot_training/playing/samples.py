"""Which samples are played in training, and which are held out: apart by sample, by picture and by answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clot_training.config import Config
from clot_training.data.split import data_marks, held_out_samples, shown
from lotbench import benchmarks
from lotbench.edge.files import datasets
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
            if picture := shown(self.folder / one.image):
                yield picture


def split(config: Config) -> Split:
    """The split of the samples that `play` names, by the share and the seed of the run.

    Raises:
        UsageError: There is no such sample, or none is left on one of the sides.
        DataError: The data set is faulty.
    """
    folder = datasets.data_folder(config.play.data, "lotbench_easy")
    data = {one.id: one for one in datasets.samples(folder, benchmarks.get(BENCHMARK).Item)}
    wanted = tuple(dict.fromkeys(config.play.samples)) or tuple(data)
    if unknown := [name for name in wanted if name not in data]:
        raise UsageError(f"play.samples: no sample {unknown[0]!r} in {folder}")
    away = held_out_samples(data_marks(folder), share=config.held_out, seed=config.seed)
    held_out = tuple(data[name] for name in wanted if name in away)
    train = tuple(data[name] for name in wanted if name not in away)
    if not train or not held_out:
        raise UsageError(
            f"play.samples: of {len(wanted)}, held_out = {config.held_out:g} and seed = {config.seed} hold out "
            f"{len(held_out)}; at least one is to be held out, and one played: change either, or name more samples"
        )
    return Split(folder, train, held_out)
