"""The vocabulary of keywords of each language."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from clot_training.data.keywords import content_words
from clot_training.data.roles import batched
from lotbench.benchmarks.standard.oogiri import Row

CHUNK = 500
Vocabulary: TypeAlias = Mapping[str, Sequence[str]]
"""The keywords of each language."""


def vocabularies(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    """Return by language the sorted content words of all responses.

    Raises:
        ImportError: The tagger of a language is not installed.
    """
    by_language: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in batched(rows, CHUNK):
        for language in sorted({row.language for row in chunk}):
            texts = [row.text for row in chunk if row.language == language]
            for words in content_words(texts, language):
                by_language[language].update(words)
    return {language: tuple(sorted(words)) for language, words in by_language.items()}
