"""An index of the training rows in an SQLite file.

Selections need responses to other pictures, and rankings other responses to the same one. The rows may not fit into
memory, so one pass over the data sets writes them into the file.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Literal

from clot_training.config import Config
from lotbench.benchmarks.standard.oogiri import Row, held_out
from lotbench.errors import DataError
from lotbench.storage.jsonl import rows

TABLES = """
pragma journal_mode = off;
pragma synchronous = off;
create table rows (
    number integer primary key,
    id text unique,
    kind text,
    place integer,
    unit text,
    preference real,
    row text
);
create table heard (role text, about text, text text, primary key (role, about)) without rowid;
"""
PAGE = 500
TRIES = 20
"""The maximum number of draws for an unrelated row."""


class Rows:
    """An index of the training rows or of the held-out rows, in a file that is removed at the end of a `with` block.

    The pictures of its rows are given by their full paths.

    Args:
        path: The SQLite file; an existing one is replaced.

    Attributes:
        skipped: The numbers of rows that are not in the index, by reason.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._path = path
        # The file is temporary, so it needs no journal.
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.executescript(TABLES)
        self._kinds: Counter[str] = Counter()
        self._last: tuple[str, list[int]] = ("", [])
        self.skipped: Counter[str] = Counter()

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._base.close()
        self._path.unlink(missing_ok=True)

    def __len__(self) -> int:
        (count,) = self._base.execute("select count(*) from rows").fetchone()
        return int(count)

    def fill(self, config: Config, part: Literal["train", "held_out"] = "train") -> None:
        """Add the training rows, or the held-out rows, of the configured data sets; call once.

        Raises:
            DataError: A line is no row, or two rows have one id.
        """
        self._base.execute("begin")
        for folder in config.folders():
            for _, row in rows(folder / "samples.jsonl", Row.model_validate):
                self._take(row, config, folder, part)
        self._base.execute("commit")
        self._base.executescript(
            "create index by_kind on rows (kind, place); create index by_unit on rows (unit, preference desc, number)"
        )

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
        if row.image is not None:
            row = row.model_copy(update={"image": (folder / row.image).as_posix()})
        kind = _kind(row)
        values = (row.id, kind, self._kinds[kind], _unit(row), row.preference, row.model_dump_json())
        try:
            self._base.execute(
                "insert into rows (id, kind, place, unit, preference, row) values (?, ?, ?, ?, ?, ?)", values
            )
        except sqlite3.IntegrityError:
            raise DataError([f"{folder / 'samples.jsonl'}: id {row.id!r} stands there twice"]) from None
        self._kinds[kind] += 1

    def all(self) -> Iterator[Row]:
        """Yield all rows in the order of the data; the caller may drop rows meanwhile."""
        last, page = 0, "select number, row from rows where number > ? order by number limit ?"
        while page_rows := self._base.execute(page, (last, PAGE)).fetchall():
            for last, text in page_rows:  # noqa: B007 - the number at which the next page begins
                yield Row.model_validate_json(text)

    def drop(self, row: Row, reason: str) -> None:
        """Remove a row from the index and count it under a reason in `skipped`."""
        self._base.execute("delete from rows where id = ?", (row.id,))
        self._last = ("", [])
        self.skipped[reason] += 1

    def rated(self, row: Row) -> list[int]:
        """Return the numbers (for `get`) of the rows with this row's picture and question that have votes, best first."""
        unit = _unit(row)
        # Cache the last group: groups may be large, and their rows are mostly consecutive.
        if self._last[0] != unit:
            cursor = self._base.execute(
                "select number from rows where unit = ? and preference is not null"
                " order by preference desc, number",
                (unit,),
            )
            self._last = (unit, [number for (number,) in cursor])
        return self._last[1]

    def rows_of_same_prompt(self, row: Row, most: int) -> list[Row]:
        """Return at most `most` other rows with this row's picture and question, the best liked first."""
        cursor = self._base.execute(
            "select row from rows where unit = ? and id != ? order by preference desc, number limit ?",
            (_unit(row), row.id, most),
        )
        return [Row.model_validate_json(text) for (text,) in cursor]

    def get(self, number: int) -> Row:
        """Return the row with this number in the index."""
        (text,) = self._base.execute("select row from rows where number = ?", (number,)).fetchone()
        return Row.model_validate_json(text)

    def unrelated(self, row: Row, rng: Random) -> Row | None:
        """Return a random row of the same type and language to another picture or question; None if TRIES draws fail."""
        kind = _kind(row)
        for _ in range(TRIES):
            place = rng.randrange(self._kinds[kind])
            record = self._base.execute(
                "select row from rows where kind = ? and place = ?", (kind, place)
            ).fetchone()
            # Dropped rows leave gaps.
            if record is not None:
                other = Row.model_validate_json(record[0])
                if other.group != row.group:
                    return other
        return None

    def hear(self, role: str, about: str, text: str) -> None:
        """Keep the text that a model wrote in a role (`caption`, `rewrite`) about a picture (path) or a row (id)."""
        self._base.execute("insert or replace into heard values (?, ?, ?)", (role, about, text))

    def heard(self, role: str, about: str) -> str | None:
        """Return the text kept by `hear` for this role and picture or row; None if there is none."""
        record = self._base.execute(
            "select text from heard where role = ? and about = ?", (role, about)
        ).fetchone()
        return record[0] if record else None


def _unit(row: Row) -> str:
    """Return a key that is equal for rows with the same picture and question."""
    return "\0".join((row.language, row.type, row.group, row.question or ""))


def _kind(row: Row) -> str:
    return f"{row.language} {row.type}"
