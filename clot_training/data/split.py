"""The split of the game's samples into those to train on and those held out, for whatever trains on them.

Two samples hang together by a picture, a scene or an answer; what hangs together falls to one side, drawn by a hash of
its smallest id. What hangs together is found in whole data sets, not in what is trained on of them: so `clot pairs`
and `clot play-train` hold out the same samples under the same share and seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import chain
from pathlib import Path

from lotbench.benchmarks.lotbench.sample import Item
from lotbench.benchmarks.standard.oogiri import drawn_out
from lotbench.edge.files import adapter_texts, datasets


def shown(path: Path) -> str | None:
    """What stands for a picture; None if it is not there: who plays in words can do without the file."""
    try:
        return adapter_texts.picture(path)
    except OSError:
        return None


def marks(sample: Item, picture: str | None) -> set[str]:
    """What two samples of the game must not have in common across a split; `picture` is what stands for the sample's."""
    said = (sample.key_text, *sample.accept, sample.response, sample.caption, picture)
    return {adapter_texts.fingerprint(text) for text in said if text is not None}


def data_marks(folder: Path) -> dict[str, set[str]]:
    """The marks of every sample of a data set, by id.

    Raises:
        DataError: The data set is faulty.
    """
    return {one.id: marks(one, shown(folder / one.image)) for one in datasets.samples(folder, Item)}


def groups(marked: Mapping[str, Set[str]]) -> list[list[str]]:
    """The ids of what has a mark in common with another, or with one that has one in common with it, and so on."""
    made: list[tuple[set[str], list[str]]] = []
    for name, mine in marked.items():
        near = [group for group in made if group[0] & mine]
        made = [group for group in made if not group[0] & mine]
        made.append(
            (set(mine).union(*(group[0] for group in near)), [*chain(*(ids for _, ids in near)), name])
        )
    return [ids for _, ids in made]


def held_out_samples(marked: Mapping[str, Set[str]], *, share: float, seed: int) -> frozenset[str]:
    """The samples that are never trained on, of these with their marks: a share of the groups, as of those of Oogiri rows."""
    return frozenset(
        name for ids in groups(marked) if drawn_out(min(ids), share=share, seed=seed) for name in ids
    )
