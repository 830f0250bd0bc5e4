"""Findings about weak samples: numbers in the texts that reveal the gold score (Sec. 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lotbench.benchmarks.rinobench.construction.papers import leak
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.harness.data_findings import Finding


def lints(items: Sequence[Item], settings: Settings, metadata: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Return the findings about a data set; `metadata` is not used, since ideas have no pictures."""
    return [
        Finding(item.id, field, f"may give the score away: {number!r}")
        for item in items
        for field, text in (
            ("research_idea", item.research_idea.text()),
            ("novelty_reasoning", item.novelty_reasoning),
        )
        if (number := leak(text))
    ]
