"""The training rows, or the held-out rows, of a run in memory, found by kind, and by picture and question.

Selections need responses to other pictures, and rankings other responses to the same one.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from random import Random
from typing import Literal

from clot_training.config import Config
from lotbench.benchmarks.standard.oogiri import Row, held_out
from lotbench.errors import DataError
from lotbench.storage.jsonl import rows

TRIES = 20
"""The maximum number of draws for an unrelated row."""


class Rows:
    """The rows of one part of the configured data sets; their pictures are given by full paths.

    Args:
        config: The configuration.
        part: `train` or `held_out`.

    Raises:
        DataError: A line is no row, or two rows have one id.

    Attributes:
        skipped: The numbers of rows that are left out, by reason.
        heard: The texts that models wrote, by ("caption", path of the picture) or ("rewrite", id of the row).
    """

    def __init__(self, config: Config, part: Literal["train", "held_out"] = "train") -> None:
        self.skipped: Counter[str] = Counter()
        self.heard: dict[tuple[str, str], str] = {}
        self._rows: dict[str, Row] = {}
        self._kinds: defaultdict[str, list[Row]] = defaultdict(list)
        """The rows of each language and type; dropped rows stay, so that draws do not depend on them."""
        self._units: defaultdict[str, dict[str, Row]] = defaultdict(dict)
        self._ordered: dict[str, tuple[list[Row], list[Row]]] = {}
        for folder in config.folders():
            for _, row in rows(folder / "samples.jsonl", Row.model_validate):
                self._take(row, config, folder, part)

    def __len__(self) -> int:
        return len(self._rows)

    def _take(self, row: Row, config: Config, folder: Path, part: str) -> None:
        out = held_out(row, share=config.held_out, seed=config.seed)
        if out != (part == "held_out"):
            self.skipped["held_out" if out else "train"] += 1
            return
        if row.type not in config.types or row.language not in config.languages:
            self.skipped["type_or_language"] += 1
            return
        if row.question == "None":
            # Oogiri-GO writes "None" for a question inside a missing picture.
            self.skipped["no_question"] += 1
            return
        if row.id in self._rows:
            raise DataError([f"{folder / 'samples.jsonl'}: id {row.id!r} stands there twice"])
        if row.image is not None:
            row = row.model_copy(update={"image": (folder / row.image).as_posix()})
        self._rows[row.id] = row
        self._kinds[_kind(row)].append(row)
        self._units[_unit(row)][row.id] = row

    def all(self) -> Iterator[Row]:
        """Yield all rows in the order of the data; the caller may drop rows meanwhile."""
        yield from list(self._rows.values())

    def drop(self, row: Row, reason: str) -> None:
        """Remove a row and count it under a reason in `skipped`."""
        del self._rows[row.id], self._units[_unit(row)][row.id]
        self._ordered.pop(_unit(row), None)
        self.skipped[reason] += 1

    def rated(self, row: Row) -> list[Row]:
        """Return the rows with this row's picture and question that have votes, best first."""
        return self._by_votes(row)[0]

    def rows_of_same_prompt(self, row: Row, most: int) -> list[Row]:
        """Return at most `most` other rows with this row's picture and question, the best liked first."""
        return list(islice((other for other in chain(*self._by_votes(row)) if other.id != row.id), most))

    def unrelated(self, row: Row, rng: Random) -> Row | None:
        """Return a random row of the same type and language to another picture or question; None if TRIES draws fail."""
        alike = self._kinds[_kind(row)]
        for _ in range(TRIES):
            other = alike[rng.randrange(len(alike))]
            if other.id in self._rows and other.group != row.group:
                return other
        return None

    def _by_votes(self, row: Row) -> tuple[list[Row], list[Row]]:
        """Return the rows with this row's picture and question: those with votes, best first, and those without."""
        unit = _unit(row)
        if unit not in self._ordered:
            alike = self._units[unit].values()
            rated = [other for other in alike if other.preference is not None]
            rated.sort(key=lambda other: -(other.preference or 0.0))
            self._ordered[unit] = rated, [other for other in alike if other.preference is None]
        return self._ordered[unit]


def _unit(row: Row) -> str:
    """Return a key that is equal for rows with the same picture and question."""
    return "\0".join((row.language, row.type, row.group, row.question or ""))


def _kind(row: Row) -> str:
    return f"{row.language} {row.type}"
