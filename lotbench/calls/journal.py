"""The call journal: one line for each reply, written before the reply is used.

The journal makes a run resumable. It is append-only and unbuffered, so kill -9 loses only the calls in flight. A torn
last line is skipped by readers and cut by the next writer, which holds the lock of the run folder. A failed call is
not written, and a resumed run asks again. Asking for a key twice in one run is a bug and raises.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from hashlib import blake2b
from io import FileIO
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from lotbench.calls.prices import Price, cost, total_cost
from lotbench.errors import LotbenchError, RunFolderError, file_errors
from lotbench.regular_file import is_file, regular
from lotbench.storage.jsonl import append, fields, no_link, put, sealed, unsealed
from lotbench.types import Key, Reply, Seconds, Usage

Source: TypeAlias = Literal["call", "store", "discarded", "assumed"]
CAME = ("call", "store")
"""Sources of usable replies; the other sources mark replies that were only billed."""
DISCARDED = "discarded.jsonl"
"""File of replies that were billed and could not be used; lines as in the journal, without text."""
MOST_MODELS = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the journal.

    Attributes:
        role: The role of the model.
        index: The index of the model in its role, from 0.
        asked: The model name that was requested.
        source: `call` for a reply of the model; `store` for a copy from the store; `discarded` for the usage of a billed
            reply that cannot be used; `assumed` for an estimate of usage that the server did not report.
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
    """The origin of the replies in one `Total`: role, index, `asked` and source as in `Entry`, and the returned model id.

    `model` is the requested name if the replies have no id, since two models without an id are not one. It is "" for empty
    replies without an id: a server that refuses a request names no model.
    """

    role: str
    index: int
    asked: str
    source: Source
    model: str


@dataclass(slots=True)
class Total:
    """Number, tokens, seconds and US dollars of replies; `calls` counts usable ones, the cost is None if unknown."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    cost_usd: float | None = 0.0


@dataclass(slots=True)
class Totals:
    """Sums over the lines of a journal.

    Attributes:
        prices: The price of each model by its requested name; needed per call, since long calls may cost more a token.
        by_origin: The sums for each origin.
        began: When the first call began, in seconds since the epoch; 0 without a call.
    """

    prices: Mapping[str, Price | None] = field(default_factory=dict)
    by_origin: dict[Origin, Total] = field(default_factory=dict)
    began: float = 0.0

    def add(self, line: Entry) -> None:
        """Add a line to the sums."""
        if line.source == "call":
            self.began = min(line.started, self.began or line.started)
        model = line.reply.model or (line.asked if line.reply.text else "")
        origin = Origin(line.role, line.index, line.asked, line.source, model)
        total = self.by_origin.setdefault(origin, Total())
        total.calls += line.source in CAME
        total.usage += line.reply.usage
        total.seconds += line.reply.seconds
        total.cost_usd = total_cost((total.cost_usd, cost(self.prices.get(line.asked), line.reply)))

    def ids(self) -> dict[str, list[list[str]]]:
        """Return for each role the model ids that were returned, a sorted list for each index."""
        by_role: dict[str, dict[int, set[str]]] = {}
        for origin in self.by_origin:
            if origin.source in CAME and origin.model:
                by_role.setdefault(origin.role, {}).setdefault(origin.index, set()).add(origin.model)
        return {
            role: [sorted(indexes.get(index, ())) for index in range(max(indexes) + 1)]
            for role, indexes in by_role.items()
        }


class Journal(AbstractContextManager["Journal"]):
    """A run's calls.jsonl, open for reading, and for appending by the holder of the folder's lock."""

    def __init__(
        self,
        path: Path,
        before: Path | None = None,
        prices: Mapping[str, Price | None] | None = None,
        *,
        writes: bool = True,
    ) -> None:
        """Open or create a journal.

        Args:
            path: The file.
            before: Another journal in which `get` also looks; it is only read.
            prices: The price of each model by its requested name, for the costs in `totals`; None if no cost is needed.
            writes: Whether lines will be appended; otherwise the file is not changed and may be missing.

        Raises:
            RunFolderError: The file cannot be opened, or is a symbolic link and `writes` is set.
        """
        self.path = path
        self.damaged: list[int] = []
        """Line numbers, from 1, that could not be read; their calls are made again."""
        self.totals = Totals(prices or {})
        """Sums over this file, without `before`."""
        self._places: dict[bytes, tuple[int, int]] = {}
        self._asked: set[bytes] = set()
        self._retried: set[bytes] = set()
        self._end = 0
        """Offset of the next line; a run folder has one writer."""
        # If one file cannot be read, those before it are closed.
        with ExitStack() as opened:
            self._before = opened.enter_context(Journal(before, writes=False)) if before is not None else None
            with file_errors(path, RunFolderError):
                self._file = opened.enter_context(_open_file(path, writes))
            self._index(writes)
            for line in read_journal(path.with_name(DISCARDED)):
                self.totals.add(line)
            self._opened = opened.pop_all()

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def ask(self, key: Key) -> None:
        """Note that a key is asked for, so that it is not asked for again.

        Raises:
            LotbenchError: The key was asked for before in this run.
        """
        name = _name(str(key))
        if name in self._asked:
            raise LotbenchError(f"asked twice for {key}")
        self._asked.add(name)

    def forget(self, key: Key) -> None:
        """Allow a key to be asked for again after its call brought no reply."""
        self._asked.discard(_name(str(key)))

    def get(self, key: Key) -> Entry | None:
        """Return the entry of a key; None if there is no reply, or if the call is to be retried."""
        name = _name(str(key))
        again = name in self._retried
        if self._before is None:
            return None if again else self._at(name)
        # A retried key of `before` was unreadable there: an entry here is newer.
        return self._at(name) or (None if again else self._before.get(key))

    def last(self, key: str) -> Entry | None:
        """Return the last entry of a key in this file, even if its call is to be retried; None if there is none."""
        return self._at(_name(key))

    def _at(self, name: bytes) -> Entry | None:
        place = self._places.get(name)
        if place is None:
            return None
        return entry(os.pread(self._file.fileno(), place[1], place[0]))

    def retry(self, key: str) -> None:
        """Let `get` find no entry of a key until a new one is put, because the recorded reply could not be read."""
        self._retried.add(_name(key))

    def put(self, line: Entry) -> None:
        """Append an entry; when this returns, the operating system has it.

        Raises:
            RunFolderError: The disk is full or the file cannot be written.
        """
        text = journal_line(line)
        with file_errors(self.path, RunFolderError, "; the run can be resumed"):
            put(self._file, self._end, text)
        name = _name(str(line.key))
        self._places[name] = (self._end, len(text))
        self._retried.discard(name)
        self._end += len(text)
        self.totals.add(line)

    def discard(self, line: Entry) -> None:
        """Append the usage of a billed reply that cannot be used to discarded.jsonl, so that a resumed run counts it too.

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
    if not is_file(path):
        return open(os.devnull, "rb", buffering=0)
    return open(path, "rb", buffering=0, opener=regular)


def read_journal(path: Path) -> Iterator[Entry]:
    """Yield the entries of a journal that nobody writes to, in order; skip unreadable lines and a missing file.

    Raises:
        RunFolderError: It is no regular file, or cannot be opened.
    """
    if not is_file(path):
        return
    with path.open("rb") as lines:
        for text in lines:
            try:
                yield entry(unsealed(text))
            except ValueError:
                continue


def read_totals(path: Path, prices: Mapping[str, Price | None] | None = None) -> Totals:
    """Return the sums over a journal and the discarded.jsonl beside it; a missing file counts as empty."""
    totals = Totals(prices or {})
    for line in (*read_journal(path), *read_journal(path.with_name(DISCARDED))):
        totals.add(line)
    return totals


LINE = TypeAdapter(Entry)


def entry(text: bytes) -> Entry:
    """Return the entry in one line of JSON.

    Raises:
        ValueError: The text is no journal line.
    """
    return LINE.validate_json(text, strict=True)


def journal_line(line: Entry) -> bytes:
    """Return an entry as a line of the journal, with checksum and line feed."""
    table = fields(line)
    table["from"] = table.pop("source")
    return sealed(table)


def _name(key: str) -> bytes:
    """Return a 16-byte digest of a key, which keeps the index small for 300,000 calls."""
    return blake2b(key.encode(), digest_size=16).digest()
