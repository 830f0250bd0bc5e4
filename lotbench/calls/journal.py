"""The call journal: every reply that came, one line each, written before it is used.

The journal is what persists a run. It is append-only and unbuffered, so that kill -9 costs only the calls
in flight; a torn last line is cut when it is opened for writing again, which needs the run folder's lock:
whoever only reads passes over it. Only a reply that came is written: a call that
failed is asked again by a resumed run. Asking for a key twice in one run is a bug and raises.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from io import FileIO
from math import inf
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from lotbench.calls.prices import Price, cost
from lotbench.errors import LotbenchError, RunFolderError
from lotbench.storage.jsonl import append, fields, no_link, put, sealed, unsealed
from lotbench.types import Key, Reply, Seconds, Usage

Source: TypeAlias = Literal["call", "store", "discarded", "assumed"]
CAME = ("call", "store")
"""The sources of replies that could be used; the others were paid for alone."""
DISCARDED = "discarded.jsonl"
"""Beside the journal: what came, was paid for and could not be used; lines like the journal's, without a text."""
MOST_MODELS = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal.

    Attributes:
        role: The role that was asked.
        index: Which of the role's models.
        asked: The model as it was named.
        source: Whether the reply came from a call of this run, was taken from the store, or could not be used; "assumed" if
            that one did not say what it had used, either.
        started: When the call began, in seconds since the epoch.
    """

    key: Key
    role: str
    index: Annotated[int, Field(ge=0, lt=MOST_MODELS)]
    asked: str
    source: Annotated[Source, Field(alias="from")]
    started: Seconds
    reply: Reply


@dataclass(frozen=True, slots=True)
class Origin:
    """Where replies came from: fields of their journal lines, and the id of the model that answered."""

    role: str
    index: int
    asked: str
    source: Source
    model: str


@dataclass(slots=True)
class Total:
    """How many replies came from one place, with all their tokens, seconds and US dollars (None: no price is known)."""

    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost_usd: float | None = 0.0

    @property
    def usage(self) -> Usage:
        """The tokens alone."""
        return Usage(self.input_tokens, self.cached_input_tokens, self.output_tokens)


@dataclass(slots=True)
class Totals:
    """What the lines of a journal add up to: all that a report wants of them.

    Attributes:
        prices: Of the models, by the name that was asked for; a long call may have another price than a short one.
    """

    prices: Mapping[str, Price | None] = field(default_factory=dict)
    by_origin: dict[Origin, Total] = field(default_factory=dict)

    def add(self, line: Entry) -> None:
        """Count a line."""
        origin = Origin(line.role, line.index, line.asked, line.source, line.reply.model)
        total, usage = self.by_origin.setdefault(origin, Total()), line.reply.usage
        total.calls += line.source in CAME
        total.input_tokens += usage.input_tokens
        total.cached_input_tokens += usage.cached_input_tokens
        total.output_tokens += usage.output_tokens
        total.seconds += line.reply.seconds
        price, before = self.prices.get(line.asked), total.cost_usd
        total.cost_usd = None if price is None or before is None else before + cost(price, line.reply)

    def ids(self) -> dict[str, list[list[str]]]:
        """Return the ids that each index of each role returned."""
        by_role: dict[str, dict[int, set[str]]] = {}
        for origin in self.by_origin:
            if origin.source not in CAME:
                continue
            by_role.setdefault(origin.role, {}).setdefault(origin.index, set()).add(origin.model)
        return {
            role: [sorted(indexes.get(index, ())) for index in range(max(indexes) + 1)]
            for role, indexes in by_role.items()
        }


class Journal:
    """A run's calls.jsonl, open for reading, and for appending by the one who holds the lock of its folder."""

    def __init__(
        self,
        path: Path,
        before: Path | None = None,
        prices: Mapping[str, Price | None] | None = None,
        *,
        writes: bool = True,
    ) -> None:
        """Open a journal, or begin one.

        Args:
            path: The file.
            before: Another journal, whose replies count as if they stood here; nothing is written to it.
            prices: See `Totals`.
            writes: Whether lines will be added; if not, the file stays as it is, and may be missing.

        Raises:
            RunFolderError: The file cannot be opened, or is a link and lines will be added.
        """
        self.path = path
        self.damaged: list[int] = []
        """Lines, from 1, that could not be read: their calls are asked again."""
        self.totals = Totals(prices or {})
        """What the lines of this file add up to, those of `before` not among them."""
        self._places: dict[bytes, tuple[int, int]] = {}
        self._asked: set[bytes] = set()
        self._retried: set[bytes] = set()
        self._end = 0
        """Where the next line begins; a run folder has one writer."""
        self._before = Journal(before, writes=False) if before is not None else None
        try:
            self._file = _open_file(path, writes)
        except OSError as error:
            raise RunFolderError(f"{path}: {error.strerror}") from None
        self._index(writes)
        for line in read_journal(path.with_name(DISCARDED)):
            self.totals.add(line)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if self._before is not None:
            self._before._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def ask(self, key: Key) -> None:
        """Note that a key is asked for.

        Raises:
            LotbenchError: It was asked for before in this run.
        """
        name = _name(str(key))
        if name in self._asked:
            raise LotbenchError(f"asked twice for {key}")
        self._asked.add(name)

    def forget(self, key: Key) -> None:
        """Allow a key to be asked for again: no reply came to it."""
        self._asked.discard(_name(str(key)))

    def get(self, key: Key) -> Entry | None:
        """Return the line of a key, if a reply to it ever came that is not to be asked for again."""
        name = _name(str(key))
        again = name in self._retried
        if self._before is None:
            return None if again else self._at(name)
        # Where there are lines of before, it is one of those that could not be read: a line here is newer.
        return self._at(name) or (None if again else self._before.get(key))

    def last(self, key: str) -> Entry | None:
        """Return the last line of a key in this file, also if it is to be asked for again."""
        return self._at(_name(key))

    def _at(self, name: bytes) -> Entry | None:
        place = self._places.get(name)
        if place is None:
            return None
        return entry(os.pread(self._file.fileno(), place[1], place[0]))

    def retry(self, key: str) -> None:
        """Ask for a key again in this run although a reply came to it: that reply could not be read."""
        self._retried.add(_name(key))

    def put(self, line: Entry) -> None:
        """Append a line; on return it is in the hands of the operating system.

        Raises:
            RunFolderError: The disk is full or the file cannot be written.
        """
        text = journal_line(line)
        try:
            put(self._file, self._end, text)
        except OSError as error:
            raise RunFolderError(f"{self.path}: {error.strerror}; the run can be resumed") from None
        name = _name(str(line.key))
        self._places[name] = (self._end, len(text))
        self._retried.discard(name)
        self._end += len(text)
        self.totals.add(line)

    def discard(self, line: Entry) -> None:
        """Note what was paid for and could not be used, so that a resumed run counts it too.

        Raises:
            RunFolderError: The disk is full or the file cannot be written.
        """
        append(self.path.with_name(DISCARDED), [journal_line(line)], "the run can be resumed")
        self.totals.add(line)

    def _index(self, writes: bool) -> None:
        with open(self._file.fileno(), "rb", closefd=False) as lines:
            lines.seek(0)
            for number, text in enumerate(lines, 1):
                if not text.endswith(b"\n"):
                    if writes:
                        os.truncate(self._file.fileno(), self._end)
                    break
                try:
                    read = entry(unsealed(text))
                    self.totals.add(read)
                    self._places[_name(str(read.key))] = (self._end, len(text))
                except ValueError:
                    self.damaged.append(number)
                self._end += len(text)


def _open_file(path: Path, writes: bool) -> FileIO:
    if writes:
        return open(path, "a+b", buffering=0, opener=no_link)
    return open(path if path.exists() else os.devnull, "rb", buffering=0)


def read_journal(path: Path) -> Iterator[Entry]:
    """Yield the lines of a journal that nobody writes to, in order, if it is there; lines that cannot be read are passed over."""
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for text in lines:
            try:
                yield entry(unsealed(text))
            except ValueError:
                continue


def called(path: Path) -> tuple[float, float]:
    """Return when the first and the last call of a journal began, in seconds since 1970; 0 of one without calls."""
    first, last = inf, 0.0
    for line in read_journal(path):
        if line.source == "call":
            first, last = min(first, line.started), max(last, line.started)
    return min(first, last), last


def read_totals(path: Path, prices: Mapping[str, Price | None] | None = None) -> Totals:
    """Return what the lines of a journal add up to; of one that is not there, nothing."""
    totals = Totals(prices or {})
    for line in (*read_journal(path), *read_journal(path.with_name(DISCARDED))):
        totals.add(line)
    return totals


LINE = TypeAdapter(Entry)


def entry(text: bytes) -> Entry:
    """Return a line of the journal from its JSON.

    Raises:
        ValueError: It is no journal line.
    """
    return LINE.validate_json(text, strict=True)


def journal_line(line: Entry) -> bytes:
    """Return a line of the journal, with its line feed."""
    table = fields(line)
    table["from"] = table.pop("source")
    return sealed(table)


def _name(key: str) -> bytes:
    """Return sixteen bytes for a key: an index of 300,000 calls stays small."""
    return blake2b(key.encode(), digest_size=16).digest()
