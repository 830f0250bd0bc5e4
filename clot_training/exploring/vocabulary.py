"""The vocabulary of keywords of each language."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from clot_training.data.keywords import content_words
from clot_training.data.roles import batched
from lotbench.benchmarks.standard.oogiri import Row

CHUNK = 500


def vocabularies(rows: Iterable[Row], min_count: int) -> dict[str, tuple[str, ...]]:
    """Return by language the sorted content words that occur in at least `min_count` responses.

    Raises:
        ImportError: The tagger of a language is not installed.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for chunk in batched(rows, CHUNK):
        for language in sorted({row.language for row in chunk}):
            texts = [row.text for row in chunk if row.language == language]
            for words in content_words(texts, language):
                counts[language].update(words)
    return {
        language: tuple(sorted(word for word, count in counter.items() if count >= min_count))
        for language, counter in counts.items()
    }
