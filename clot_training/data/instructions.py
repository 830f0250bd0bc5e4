"""`clot instructions`: turn rows into instructions for generation, selection and ranking (Sec. 5.2.1).

The draws for an instruction are seeded by its row and number, so they do not depend on the rows before it.
"""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from clot_training.config import Config, Instructions, freeze
from clot_training.data import templates
from clot_training.data.index import Rows
from clot_training.data.keywords import Words, content_words
from clot_training.data.roles import batched, help_with
from clot_training.records import Instruction, Kind, Work
from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import UsageError
from lotbench.storage import atomic_write

CHUNK = 500
"""The number of rows whose content words are found together."""
DRAWN = 40
"""The maximum number of responses to a picture or question that are considered for a ranking."""


def make(config: Config, own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Write the instructions of a run, their manifest and the frozen configuration.

    Args:
        config: The configuration.
        own: Models that are Python objects, by the NAME in `python:NAME`.

    Returns:
        The manifest: the counts of instructions, and of rows and options that were left out.

    Raises:
        UsageError: A data set or a model is missing.
        ImportError: The tagger of a language is not installed.
    """
    folder = Work(Path(config.out)).instructions
    folder.mkdir(parents=True, exist_ok=True)
    for stale in (folder / "manifest.json", folder / "screened.jsonl"):
        stale.unlink(missing_ok=True)
    index = Rows(config)
    failed = help_with(index, config, folder / "screened.jsonl", own)
    maker = Maker(index, config)
    atomic_write.write(
        folder / "train.jsonl", (instruction.model_dump_json() + "\n" for instruction in maker.all())
    )
    manifest = maker.manifest() | {
        "rows": len(index),
        "skipped": dict(sorted(index.skipped.items())),
        "fewer": dict(sorted((maker.fewer + failed).items())),
        "screened": bool(config.instructions.screener),
    }
    if not manifest["instructions"]:
        raise UsageError(f"{folder / 'train.jsonl'}: no instruction: no row is left to learn from")
    freeze(config, folder)
    atomic_write.write(folder / "manifest.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return manifest


class Maker:
    """A maker of instructions from the rows of an index; it counts them while it yields them.

    Attributes:
        fewer: How often a row gave fewer instructions or options than configured, by reason.
    """

    def __init__(self, index: Rows, config: Config) -> None:
        self.fewer: Counter[str] = Counter()
        self._index = index
        self._seed = config.seed
        self._settings: Instructions = config.instructions
        self._kinds: Counter[str] = Counter()
        self._free = 0

    def all(self) -> Iterator[Instruction]:
        """Yield the instructions of all rows in the order of the data."""
        for chunk in batched(self._index.all(), CHUNK):
            for row, words in zip(chunk, _words(chunk), strict=True):
                for instruction in self._make_all(row, words):
                    self._kinds[instruction.kind] += 1
                    yield instruction

    def manifest(self) -> dict[str, Any]:
        """Return the numbers of the instructions made so far: all, and by kind.

        `empty_condition` has the share of generation instructions without a condition, as configured and as drawn.
        """
        generations = self._kinds["generation"]
        return {
            "instructions": self._kinds.total(),
            "kinds": dict(sorted(self._kinds.items())),
            "empty_condition": {
                "asked": self._settings.empty_condition,
                "realised": self._free / generations if generations else None,
            },
        }

    def _make_all(self, row: Row, words: Words) -> Iterator[Instruction]:
        makers = (
            (self._settings.generation, self._generation),
            (self._settings.selection, self._selection),
            (self._settings.ranking, self._ranking),
        )
        for copies, maker in makers:
            for copy in range(copies):
                if (instruction := maker(row, words, copy)) is not None:
                    yield instruction

    def _generation(self, row: Row, words: Words, copy: int) -> Instruction:
        rng = self._rng(row, "generation", copy)
        empty = rng.uniform(0, 1) < self._settings.empty_condition
        if not empty and not words:
            self.fewer["no_content_word"] += 1
        condition = None if empty or not words else rng.choice(words)
        self._free += condition is None
        chat = templates.generation(row, condition, rng)
        return _instruction("generation", row, copy, (row.id,), messages=chat, response=row.text).model_copy(
            update={"condition": condition}
        )

    def _selection(self, row: Row, words: Words, copy: int) -> Instruction | None:
        rng = self._rng(row, "selection", copy)
        options, rows = [row.text], [row.id]
        for _ in range(self._settings.unrelated):
            if (other := self._index.unrelated(row, rng)) is not None and other.text not in options:
                options.append(other.text)
                rows.append(other.id)
        for about in (("caption", row.image or ""), ("rewrite", row.id)):
            heard = self._index.heard.get(about)
            if heard is not None and heard not in options:
                options.append(heard)
        if len(options) == 1:
            self.fewer["nothing_to_select_from"] += 1
            return None
        rng.shuffle(options)
        return _instruction(
            "selection",
            row,
            copy,
            tuple(rows),
            messages=templates.choice("selection", row, options, rng),
            response=templates.option(options.index(row.text), row.text),
        )

    def _ranking(self, row: Row, words: Words, copy: int) -> Instruction | None:
        if row.preference is None:
            self.fewer["no_preference"] += 1
            return None
        rng = self._rng(row, "ranking", copy)
        rated = self._index.rated(row)
        drawn = rng.sample(rated, min(DRAWN, len(rated)))
        ranked = distinct([row, *drawn], self._settings)
        if len(ranked) == 1:
            self.fewer["nothing_to_rank"] += 1
            return None
        display = rng.sample(ranked, len(ranked))
        return _instruction(
            "ranking",
            row,
            copy,
            (row.id, *(other.id for other in ranked if other.id != row.id)),
            messages=templates.choice("ranking", row, [entry.text for entry in display], rng),
            response=templates.ordered([display.index(entry) for entry in ranked]),
        )

    def _rng(self, row: Row, kind: Kind, copy: int) -> Random:
        return Random(f"{self._seed}:{row.id}:{kind}:{copy}")


def distinct(rows: Iterable[Row], settings: Instructions) -> list[Row]:
    """Return at most `settings.ranked` of the rows, the best liked first.

    The rows are read in order. A row is taken if its text and people's preference differ from those of all taken before.
    """
    result: list[Row] = []
    for row in rows:
        if len(result) == settings.ranked:
            break
        if all(row.text != other.text and differ(row, other, settings.apart) for other in result):
            result.append(row)
    return sorted(result, key=lambda row: (-(row.preference or 0.0), row.id))


def differ(first: Row, other: Row, apart: float) -> bool:
    """Return whether people clearly prefer one of two rows, which must both have votes.

    Likes must be unequal. Mean ratings must be at least `apart` standard errors of their difference apart. If one row
    has likes and the other ratings, the result is False.
    """
    assert first.preference is not None
    assert other.preference is not None
    gap = abs(first.preference - other.preference)
    if first.ratings is None or other.ratings is None:
        return first.ratings is other.ratings and gap > 0
    # With fewer than two votes the standard error is NaN, and the comparison is false.
    return gap > 0 and gap >= apart * math.hypot(first.ratings.error, other.ratings.error)


def _words(rows: list[Row]) -> list[Words]:
    """Return the content words of each row's response, in the order of the rows."""
    texts: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        texts[row.language].append(row.text)
    words = {language: iter(content_words(responses, language)) for language, responses in texts.items()}
    return [next(words[row.language]) for row in rows]


def _instruction(kind: Kind, row: Row, copy: int, rows: tuple[str, ...], **fields: Any) -> Instruction:
    return Instruction(
        id=f"{row.id}:{kind}:{copy}",
        kind=kind,
        rows=rows,
        **row.model_dump(include={"type", "language", "group", "image"}),
        **fields,
    )
