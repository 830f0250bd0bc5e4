"""What makes an idea a weak sample: a number in its texts that gives the gold score away (Sec. 4.1.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lotbench.benchmarks.rinobench.construction.papers import leak
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.harness.data_findings import Finding, Sight


def lints(items: Sequence[Item], sights: Mapping[str, Sight]) -> Sequence[Finding]:
    """What weakens samples; ideas have no pictures to look at."""
    return [finding for item in items for finding in _leaks(item)]


def _leaks(item: Item) -> Iterator[Finding]:
    texts = {"research_idea": item.research_idea.told(), "novelty_reasoning": item.novelty_reasoning}
    for field, text in texts.items():
        if number := leak(text):
            yield Finding(item.id, field, f"may give the score away: {number!r}")
