"""Records as lines of JSON, field by field as they stand; such lines appended to a file and read again.

A file that is appended to never has a torn line in its middle: a line is written whole or cut off again, and
what a kill left of a last line is cut before the next one is written.

`dataclasses.asdict` would first copy all that is inside a record, and the standard encoder reads a text
letter by letter: each costs more than the rest of what happens to a call.
"""

from __future__ import annotations

import errno
import fcntl
import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from lotbench.errors import DataError, UsageError, at, faults_of

T = TypeVar("T")
CRC, END = b',"crc":"', b'"}\n'
SEAL = len(CRC) + 8 + len(END)


def fields(record: Any) -> dict[str, Any]:
    """Return the fields of a frozen slotted record by name, in their order; what is inside them is not copied."""
    return {name: getattr(record, name) for name in record.__slots__}


def line(table: dict[str, Any]) -> bytes:
    """Return one line of JSON in UTF-8; records inside the table are tables of their fields."""
    try:
        return orjson.dumps(table, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # A whole number of more than 64 bits, which only the standard encoder takes.
        text = json.dumps(table, ensure_ascii=False, separators=(",", ":"), default=fields)
        return text.encode() + b"\n"


def sealed(table: dict[str, Any]) -> bytes:
    """Return a line with a checksum as its last field: the CRC-32 of the line without that field and its line feed."""
    text = line(table)[:-1]
    return b"%b%b%08x%b" % (text[:-1], CRC, crc32(text), END)


def unsealed(text: bytes) -> bytes:
    """Return a line of `sealed`, or one that has no checksum, as it was before there were any, once it was looked at.

    Raises:
        ValueError: It is not what was written.
    """
    end = len(text) - SEAL
    if text.startswith(CRC, max(end, 0)):
        checksum = crc32(b"}", crc32(memoryview(text)[:end]))
        if text[end:] != b"%b%08x%b" % (CRC, checksum, END):
            raise ValueError("its checksum is another one")
    return text


def document(text: str | bytes) -> Any:
    """Return the JSON of a text that anybody may have written.

    Raises:
        ValueError: It is no JSON, is nested deeper than anyone writes it, or holds half of a character pair.
    """
    return from_json(text)


def no_link(name: str | Path, flags: int) -> int:
    """Open a file that is appended to, as `open` wants it: a link in a run folder from somebody else may name any file.

    Raises:
        OSError: It is a link, or cannot be opened.
    """
    try:
        return os.open(name, flags | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link, and nothing is written through one") from None
        raise


def append(path: Path, lines: Iterable[bytes], advice: str = "nothing of it was kept") -> None:
    """Add lines to a file, each whole or not at all; other processes that append wait.

    Args:
        path: The file; begun if it is missing.
        lines: Each with its line feed.
        advice: What to tell a person if a line cannot be written.

    Raises:
        UsageError: The disk is full, or the file cannot be written.
    """
    try:
        with open(path, "a+b", buffering=0, opener=no_link) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = _mend(file)
            for text in lines:
                end = put(file, end, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}; {advice}") from None


def put(file: FileIO, end: int, text: bytes) -> int:
    """Write a line, or several, at the end of a file open for appending; returns its new end.

    Raises:
        OSError: It could not be written whole, and nothing of it is left.
    """
    written = 0
    try:
        while written < len(text):
            # Not os.write: the server of graphs takes that for a call that holds up its loop, and refuses it.
            more = file.write(text[written:])
            if not more:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += more
    except BaseException:
        # A disk that cannot even do this leaves a torn line, which the next writer cuts.
        with suppress(OSError):
            os.truncate(file.fileno(), end)
        raise
    return end + len(text)


def _mend(file: FileIO) -> int:
    """Return the end of a file, once a torn last line is cut and one that lacks only its line feed has it."""
    end = os.fstat(file.fileno()).st_size
    if not end:
        return end
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        last = text[text.rfind(b"\n") + 1 :]
    if not last:
        return end
    if not _is_torn(last):
        return put(file, end, b"\n")
    os.truncate(file.fileno(), end - len(last))
    return end - len(last)


def _is_torn(last: bytes) -> bool:
    """Return whether a last line without a line feed was cut off in being written."""
    try:
        from_json(last)
    except ValueError:
        return True
    return False


def rows(path: Path, read: Callable[[Any], T], faults: list[str] | None = None) -> Iterator[tuple[int, T]]:
    """Yield the lines of a file as what they are, with their numbers, from 1; empty lines are left out.

    Args:
        path: The file, read a line at a time.
        read: Makes a record of a line's JSON: a pydantic model's `model_validate`.
        faults: Where to put the faults, if they are not to be raised here.

    Raises:
        DataError: After the last line, every fault of every line, with file, line and field; or the file
            cannot be read.
    """
    messages: list[str] = [] if faults is None else faults
    try:
        with path.open("rb") as file:
            lines = (line for chunk in file for line in chunk.splitlines())
            for number, text in enumerate(lines, 1):
                if text.strip() and (result := _row(path, number, text, read, messages)):
                    yield number, result[0]
    except OSError as error:
        raise DataError([f"{path}: {error.strerror}"]) from None
    if faults is None and messages:
        raise DataError(messages)


def tables(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the JSON object of each line that is not empty, with its number; raises DataError as `rows` does."""
    return rows(path, TypeAdapter(dict[str, Any]).validate_python)


def _row(
    path: Path, number: int, text: bytes, read: Callable[[Any], T], faults: list[str]
) -> tuple[T] | None:
    """Return a line as what it is; None if it is not that, and why is put to the faults."""
    try:
        return (read(from_json(text)),)
    except ValidationError as error:
        faults += faults_of(error, path, number)
    except ValueError as error:
        faults.append(f"{at(path, number)}: not JSON: {str(error).replace('line 1 ', '')}")
    return None
