"""Findings about weak samples: numbers that reveal the gold score (Sec. 4.1.1), and single texts that predict it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from lotbench.benchmarks.rinobench.construction.papers import leak
from lotbench.benchmarks.rinobench.sample import Item
from lotbench.benchmarks.rinobench.settings import Settings
from lotbench.harness.data_findings import Finding

FEWEST = 20
"""The minimum number of ideas, or of blocks of ideas, for a classifier to learn from."""
FOLDS = 5


def lints(
    items: Sequence[Item], settings: Settings, metadata: Mapping[str, Sequence[str]]
) -> Sequence[Finding]:
    """Return the findings about a data set; `metadata` is not used, since ideas have no pictures."""
    leaks = (finding for item in items for finding in _leaks(item))
    return [*leaks, *_shortcuts(items)]


def _leaks(item: Item) -> Iterator[Finding]:
    texts = {"research_idea": item.research_idea.text(), "novelty_reasoning": item.novelty_reasoning}
    for field, text in texts.items():
        if number := leak(text):
            yield Finding(item.id, field, f"may give the score away: {number!r}")


def _shortcuts(items: Sequence[Item]) -> Iterator[Finding]:
    """Yield a finding if ideas alone, or related works alone, predict scores better than the most frequent score."""
    if len({item.block or item.id for item in items}) < FEWEST:
        return
    sides = {
        "research_idea": [item.research_idea.text() for item in items],
        "related_works": [
            "\n".join(f"{work.title}\n{work.abstract}" for work in item.related_works) for item in items
        ],
    }
    commonest = max(Counter(item.novelty_score for item in items).values()) / len(items)
    for field, texts in sides.items():
        right = right_by_words(items, texts)
        # More than two standard errors above guessing.
        if right > commonest + 2 * np.sqrt(commonest * (1 - commonest) / len(items)):
            note = f"a bag of words of it alone, trained on other samples, gets {right:.2f} of the scores ({commonest:.2f} by guessing)"
            yield Finding(items[0].id, field, note, grave=False)


def right_by_words(items: Sequence[Item], texts: Sequence[str]) -> float:
    """Return the share of gold scores that naive Bayes predicts from one text of each sample, in cross-validation.

    Samples with the same `block` are in one fold.
    """
    gold = np.array([int(item.novelty_score) for item in items])
    groups = [item.block or item.id for item in items]
    words = make_pipeline(CountVectorizer(min_df=2), MultinomialNB(fit_prior=False))
    # Stratified, since a class that is frequent in a fold is rare in its training data, which lowers chance.
    predicted = cross_val_predict(words, texts, gold, groups=groups, cv=StratifiedGroupKFold(FOLDS))
    return float((predicted == gold).mean())
