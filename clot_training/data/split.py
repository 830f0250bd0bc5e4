"""The split of the game's samples into those to train on and those held out: whatever they have in common stays together.

Two samples hang together by a picture, a scene or an answer; what hangs together falls to one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lotbench.benchmarks.standard.oogiri import drawn_out
from lotbench.edge.files.adapter_texts import fingerprint


def texts(sample: Any) -> set[str]:
    """What two samples of the game must not have in common across a split, but for the picture."""
    said = (sample.key_text, *sample.accept, sample.response, sample.caption)
    return {fingerprint(text) for text in said}


def groups(chosen: Iterable[Any], marks: Callable[[Any], set[str]]) -> list[list[Any]]:
    """What has a mark in common with another, or with one that has one in common with it, and so on."""
    made: list[tuple[set[str], list[Any]]] = []
    for one in chosen:
        mine = marks(one)
        near = [group for group in made if group[0] & mine]
        made = [group for group in made if not group[0] & mine]
        made.append((mine.union(*(group[0] for group in near)), [*_members(near), one]))
    return [members for _, members in made]


def held_out_samples(together: Iterable[Sequence[str]], *, share: float, seed: int) -> frozenset[str]:
    """The samples that are never trained on: of these groups of ids a share is drawn, as of the groups of Oogiri rows."""
    return frozenset(
        sample for names in together if drawn_out(min(names), share=share, seed=seed) for sample in names
    )


def _members(found: Sequence[tuple[set[str], list[Any]]]) -> list[Any]:
    return [one for _, members in found for one in members]
