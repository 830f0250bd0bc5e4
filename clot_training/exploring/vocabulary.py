"""The keyword set of a language and its vectors: encoded once for a model, kept in the store, mapped by workers.

Vectors are a matrix on disk that processes share, named by the digest of what made it: the encoder's
identity and the words themselves.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from clot_training.data.keywords import content_words
from clot_training.data.roles import batched
from clot_training.exploring.conditions import Vectors
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.config.experiment import digest
from lotbench.storage.home import home

CHUNK = 500


def vocabularies(rows: Iterable[Row], min_count: int) -> dict[str, tuple[str, ...]]:
    """Return the content words that at least `min_count` responses of a language have, sorted, by language.

    Raises:
        UsageError: The tagger of a language is not installed.
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
    """Return the vectors of words, (words, dimensions), of unit length; encoded only if no run has done so.

    Args:
        encoder: Identifies what encodes; vectors of another are another file.
        words: The vocabulary.
        encode: Called with all the words, if it has to be.
    """
    path = _stored(encoder, words)
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError):
        matrix = encode(words)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temp_path = path.with_name(f".{path.name}.{os.getpid()}.npy")
        np.save(temp_path, matrix)
        os.replace(temp_path, path)
    except OSError:
        # A store that cannot be written to costs the encoder's time again, no more.
        return matrix
    return matrix


def _stored(encoder: str, words: Sequence[str]) -> Path:
    """Return where the vectors of a vocabulary are kept."""
    return home() / "store" / "keywords" / f"{digest([encoder, list(words)])}.npy"
