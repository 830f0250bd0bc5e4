"""The shipped rows of RINoBench: blocks that are whole, classes in balance, and no shortcut."""

from __future__ import annotations

from collections import Counter

import pytest

from lotbench.benchmarks.rinobench import score
from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.benchmarks.rinobench.task import benchmark
from lotbench.edge.files import datasets

CHANCE = 1 / len(LABELS)


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return datasets.samples(datasets.data_folder("", benchmark.data_set), Item)


def test_the_rows_stand_in_whole_blocks_with_all_classes_equally_often(items: tuple[Item, ...]) -> None:
    assert len(items) >= 120 and len({item.block for item in items}) == len(items) / 4
    assert set(Counter(item.novelty_score for item in items).values()) == {len(items) / 5}
    assert benchmark.data.lints(items, {}) == [] and benchmark.data.faults(items, Settings()) == []
    assert all(work.invented for item in items for work in item.related_works)
    assert all(8 <= len(item.related_works) <= 10 for item in items)


@pytest.mark.parametrize("player", ["idea alone", "works alone"])
def test_neither_an_idea_nor_its_works_alone_tell_the_class(player: str, items: tuple[Item, ...]) -> None:
    found = score.shortcut_metrics(items)[player]
    assert found.accuracy.low is not None and found.accuracy.high is not None
    assert round(found.accuracy.low, 2) <= CHANCE <= round(found.accuracy.high, 2)
    assert (found.macro_f1.low or 0) <= CHANCE
