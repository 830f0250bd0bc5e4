"""The shipped rows of RINoBench: blocks that are whole, classes in balance, and no shortcut."""

from collections import Counter

import pytest

from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.benchmarks.rinobench.task import benchmark
from lotbench.storage import datasets


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return datasets.samples(datasets.data_folder("", benchmark.data_set), Item)


def test_the_rows_stand_in_whole_blocks_with_all_classes_equally_often(items: tuple[Item, ...]) -> None:
    assert len(items) >= 120 and len({item.block for item in items}) == len(items) / 4
    assert set(Counter(item.novelty_score for item in items).values()) == {len(items) / 5}
    assert benchmark.lints(items, Settings(), {}) == []
    assert all(work.invented for item in items for work in item.related_works)
    assert all(8 <= len(item.related_works) <= 10 for item in items)


def test_each_idea_and_list_of_a_block_stands_in_two_rows_with_two_scores(items: tuple[Item, ...]) -> None:
    ideas: dict[tuple[str, str], list[int]] = {}
    lists: dict[tuple[str, frozenset[str]], list[int]] = {}
    for item in items:
        works = frozenset(work.title for work in item.related_works)
        ideas.setdefault((item.block, item.research_idea.text()), []).append(item.novelty_score)
        lists.setdefault((item.block, works), []).append(item.novelty_score)
    assert all(len(scores) == len(set(scores)) == 2 for scores in (*ideas.values(), *lists.values()))
