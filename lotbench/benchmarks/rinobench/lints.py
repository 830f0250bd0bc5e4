"""What makes an idea a weak sample: a number in its texts that gives the gold score away (Sec. 4.1.1), a broken block.

In a block two ideas stand beside the same two lists of related works, and each is of one class beside one list and of
another beside the other: then neither an idea's text nor a list tells the class, and only the two together do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from lotbench.benchmarks.rinobench.construction.papers import leak
from lotbench.benchmarks.rinobench.sample import LABELS, Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.harness.data_findings import Finding, Sight


def faults(items: Sequence[Item], settings: Settings) -> list[str]:
    """What the blocks of a data set get wrong as a whole: classes that are not equally often the gold."""
    counts = Counter(int(item.novelty_score) for item in items if item.block)
    if len({counts[label] for label in LABELS}) <= 1:
        return []
    told = ", ".join(f"{label}: {counts[label]}" for label in LABELS)
    return [f"novelty_score: the classes of rows in blocks are not balanced ({told})"]


def lints(items: Sequence[Item], sights: Mapping[str, Sight]) -> Sequence[Finding]:
    """What weakens samples; ideas have no pictures to look at."""
    return [*(finding for item in items for finding in _leaks(item)), *_blocks(items)]


def _leaks(item: Item) -> Iterator[Finding]:
    texts = {"research_idea": item.research_idea.told(), "novelty_reasoning": item.novelty_reasoning}
    for field, text in texts.items():
        if number := leak(text):
            yield Finding(item.id, field, f"may give the score away: {number!r}")


def _blocks(items: Sequence[Item]) -> Iterator[Finding]:
    blocks: dict[str, list[Item]] = {}
    for item in items:
        if item.block:
            blocks.setdefault(item.block, []).append(item)
    for name, rows in blocks.items():
        if len(rows) != 4:
            yield Finding(rows[0].id, "block", f"{name} has {len(rows)} rows, not 4")
        yield from _twice(rows, "research_idea", lambda item: item.research_idea.told())
        yield from _twice(rows, "related_works", _works)
    first: dict[str, str] = {}
    for item in items:
        if first.setdefault(item.research_idea.told(), item.block or item.id) != (item.block or item.id):
            yield Finding(item.id, "research_idea", f"stands in {first[item.research_idea.told()]} too")


def _twice(rows: Sequence[Item], field: str, of: Callable[[Item], Hashable]) -> Iterator[Finding]:
    """What does not stand twice in its block, once with each of two scores."""
    found: dict[Hashable, list[Item]] = {}
    for item in rows:
        found.setdefault(of(item), []).append(item)
    for same in found.values():
        if len(same) != 2 or same[0].novelty_score == same[1].novelty_score:
            told = f"stands {len(same)} times in {same[0].block}, with the scores {[one.novelty_score for one in same]}"
            yield Finding(same[0].id, field, f"{told}: it is to stand twice, with two scores")


def _works(item: Item) -> frozenset[str]:
    return frozenset(f"{work.title}\n{work.abstract}" for work in item.related_works)
