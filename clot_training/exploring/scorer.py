"""Vectors of rows and keywords for their similarity: pictures by CLIP, questions by the sentence encoder."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from clot_training.config import Config
from clot_training.exploring.clip import Sight
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.calls.embeddings import Vectors, load_encoder

Seen: TypeAlias = Literal["picture", "question"]


def compared_part(row: Row) -> Seen:
    """Return which part of a row is compared with keywords: its picture, else its question."""
    return "question" if row.image is None else "picture"


class Scorer:
    """An encoder of the pictures, or of the questions, of rows, and of the keywords of each language.

    Args:
        kind: `picture` or `question`.
        config: The configuration; it names the models.
        vocabulary: The keywords by language.
    """

    def __init__(self, kind: Seen, config: Config, vocabulary: Mapping[str, Sequence[str]]) -> None:
        self._pictures = kind == "picture"
        self._vocabulary = vocabulary
        self._known: dict[str, Vectors] = {}
        self._made: dict[str, Any] = {}
        self._encode: Any
        self._encode = Sight(config.explore.clip) if self._pictures else load_encoder(config.explore.encoder)

    def samples(self, rows: Sequence[Row]) -> list[Vectors]:
        """Return the vector of each row's picture or question, [dimensions]; an equal one is not encoded again."""
        contents = [(row.image if self._pictures else row.question) or "" for row in rows]
        if new := [name for name in dict.fromkeys(contents) if name not in self._made]:
            new_vectors = self._encode.pictures(new) if self._pictures else self._encode(new)
            self._made.update(zip(new, new_vectors, strict=True))
        return [self._made[name] for name in contents]

    def keywords(self, language: str) -> Vectors:
        """Return the vectors of a language's keywords, [keywords, dimensions]; each worker encodes them once."""
        if language not in self._known:
            encode = self._encode.words if self._pictures else self._encode
            self._known[language] = encode(self._vocabulary[language])
        return self._known[language]
