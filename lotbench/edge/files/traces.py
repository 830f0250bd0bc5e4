"""The finished tasks of a run, read from its folder one at a time: a sequence that stays on disk.

A trace of a long game is tens of kilobytes once it is read; a run has hundreds or thousands. Only where each
line begins is held, so what a report takes up does not grow with the run.
"""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import overload

from pydantic import TypeAdapter

from lotbench.edge.files.jsonl import fields, sealed, unsealed
from lotbench.errors import RunFolderError
from lotbench.types import Trace

SCHEMA = 1
LINE = TypeAdapter(Trace)


class Traces(Sequence[Trace]):
    """The lines of a traces.jsonl, as they were when it was opened; a torn last line is passed over.

    Args:
        file: The traces.jsonl; one that is not there has no walks.
        strict: Refuse a damaged line instead of passing it over.
        seen: Is shown each walk as it is found, which spares reading the file twice.

    Raises:
        RunFolderError: A line is damaged, or the file cannot be read.
    """

    def __init__(
        self, file: Path, *, strict: bool = True, seen: Callable[[Trace], object] | None = None
    ) -> None:
        self._text: bytes | mmap.mmap = b""
        self._begins, self._ends = array("q"), array("q")
        self.names: list[tuple[str, int]] = []
        """Sample and repeat of each walk."""
        if not file.is_file():
            return
        try:
            # The file may be replaced while it is read: what was opened stays.
            with file.open("rb") as opened:
                if file.stat().st_size:
                    self._text = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise RunFolderError(f"{file}: {error.strerror}") from None
        self._index(file, strict, seen or (lambda _: None))

    def __len__(self) -> int:
        return len(self._begins)

    @overload
    def __getitem__(self, at: int) -> Trace: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Trace]: ...
    def __getitem__(self, at: int | slice) -> Trace | Sequence[Trace]:
        if isinstance(at, slice):
            return [self._read(one) for one in range(len(self))[at]]
        return self._read(range(len(self))[at])

    def __iter__(self) -> Iterator[Trace]:
        return map(self._read, range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} traces on disk>"

    def lines(self, order: Sequence[tuple[str, int]]) -> Iterator[str]:
        """The lines of walks by sample and repeat, in this order; a walk that is not there is left out."""
        at = {name: number for number, name in enumerate(self.names)}
        return (self._bytes(at[name]).decode() for name in order if name in at)

    def _index(self, file: Path, strict: bool, seen: Callable[[Trace], object]) -> None:
        begin = number = 0
        while end := self._text.find(b"\n", begin) + 1:
            number += 1
            try:
                read = LINE.validate_json(unsealed(self._text[begin:end]), strict=True)
                self.names.append((read.sample, read.repeat))
                self._begins.append(begin)
                self._ends.append(end)
                seen(read)
            except ValueError:
                if strict:
                    message = f"{file}:{number}: damaged; lotbench resume writes it anew"
                    raise RunFolderError(message) from None
            begin = end

    def _read(self, at: int) -> Trace:
        return LINE.validate_json(self._bytes(at), strict=True)

    def _bytes(self, at: int) -> bytes:
        return self._text[self._begins[at] : self._ends[at]]


def trace_line(made: Trace) -> str:
    """A finished walk as a line of traces.jsonl."""
    return sealed({"schema": SCHEMA, **fields(made)}).decode()
