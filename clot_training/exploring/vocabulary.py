"""The vocabulary of keywords of each language, and its vectors.

Vectors are computed once for each encoder and vocabulary and stored as a matrix, which workers map into memory. The
file is named by the digest of encoder and words.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import numpy as np

from clot_training.data.keywords import content_words
from clot_training.data.roles import batched
from clot_training.exploring.conditions import Vectors
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.config.experiment import digest
from lotbench.storage.home import home

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


def vectors(encoder: str, words: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
    """Return the vectors of words, [words, dimensions], from the store or by encoding and storing them.

    Args:
        encoder: The id of the encoder.
        words: The vocabulary.
        encode: Returns the vectors of all words; called only if the store has none.
    """
    path = home() / "store" / "keywords" / f"{digest([encoder, list(words)])}.npy"
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError):
        matrix = encode(words)
    # Without a writable store the words are encoded again next time.
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temp_path = path.with_name(f".{path.name}.{os.getpid()}.npy")
        np.save(temp_path, matrix)
        os.replace(temp_path, path)
    return matrix
