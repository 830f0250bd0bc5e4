"""JSON lines: records are written as lines, appended to files and read again.

A file never has an incomplete line in its middle. A line is written whole or cut off again, and an incomplete last line
(left by a kill) is cut before the next line is written.

Records are encoded by orjson, without `dataclasses.asdict`: copying a record and the standard encoder each cost more
than all other work on a call.
"""

import errno
import fcntl
import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import IO, Any, TypeVar
from zlib import crc32

import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from lotbench.errors import DataError, at, faults_of, file_errors
from lotbench.regular_file import regular

T = TypeVar("T")
CRC, END = b',"crc":"', b'"}\n'
LONGEST_LINE = 100_000_000
SEAL = len(CRC) + 8 + len(END)


def fields(record: Any) -> dict[str, Any]:
    """Return the fields of a frozen slotted record by name, in order, without copying their values."""
    return {name: getattr(record, name) for name in record.__slots__}


def line(table: dict[str, Any]) -> bytes:
    """Return a table as one line of JSON in UTF-8; records inside it become tables of their fields."""
    try:
        return orjson.dumps(table, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # An integer of more than 64 bits, which only the standard encoder accepts.
        text = json.dumps(table, ensure_ascii=False, separators=(",", ":"), default=fields)
        return text.encode() + b"\n"


def sealed(table: dict[str, Any]) -> bytes:
    """Return a table as a line of JSON with a checksum as its last field.

    The checksum is the CRC-32 of the line without that field and without its line feed.
    """
    text = line(table)[:-1]
    return b"%b%b%08x%b" % (text[:-1], CRC, crc32(text), END)


def unsealed(text: bytes) -> bytes:
    """Check a line that `sealed` made and return it; a line without a checksum (of an old file) is returned unchecked.

    Raises:
        ValueError: The checksum does not match.
    """
    end = len(text) - SEAL
    if text.startswith(CRC, max(end, 0)):
        checksum = crc32(b"}", crc32(memoryview(text)[:end]))
        if text[end:] != b"%b%08x%b" % (CRC, checksum, END):
            raise ValueError("its checksum is another one")
    return text


def document(text: str | bytes) -> Any:
    """Return the JSON value of a text from an untrusted source.

    Raises:
        ValueError: It is not JSON, is nested too deeply, or holds half of a surrogate pair.
    """
    return from_json(text)


def no_link(name: str | Path, flags: int) -> int:
    """Open a regular file but refuse a symbolic link; for the `opener` argument of `open`.

    A run folder from somebody else may hold a link to any file.

    Raises:
        OSError: The file is a link or no regular file, or cannot be opened.
    """
    try:
        return regular(name, flags | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "is a link, and nothing is written through one", str(name)) from None
        raise


def append(path: Path, lines: Iterable[bytes], advice: str = "nothing of it was kept") -> None:
    """Append lines to a file, each whole or not at all, under a lock.

    Args:
        path: The file; created if it is missing.
        lines: The lines, each with its line feed.
        advice: The end of the error message if a line cannot be written.

    Raises:
        UsageError: The disk is full, or the file cannot be written.
    """
    with file_errors(path, advice=f"; {advice}"), open(path, "a+b", buffering=0, opener=no_link) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        end = _mend(file)
        for text in lines:
            end = put(file, end, text)


def put(file: FileIO, end: int, text: bytes) -> int:
    """Write text at the end of a file that is open for appending, and return the new end; `end` is the old one.

    Raises:
        OSError: The text could not be written whole; nothing of it remains.
    """
    written = 0
    try:
        while written < len(text):
            # Not os.write: the LangGraph server refuses it as a blocking call.
            more = file.write(text[written:])
            if not more:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written += more
    except BaseException:
        # If this fails too, the next writer cuts the incomplete line.
        with suppress(OSError):
            os.truncate(file.fileno(), end)
        raise
    return end + len(text)


def _mend(file: FileIO) -> int:
    """Return the end of a file, after an incomplete last line is removed, or a complete one gets its missing line feed."""
    end = os.fstat(file.fileno()).st_size
    if not end:
        return end
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        last = text[text.rfind(b"\n") + 1 :]
    if not last:
        return end
    try:
        from_json(last)
    except ValueError:
        os.truncate(file.fileno(), end - len(last))
        return end - len(last)
    return put(file, end, b"\n")


def rows(path: Path, read: Callable[[Any], T], faults: list[str] | None = None) -> Iterator[tuple[int, T]]:
    """Yield line number (from 1) and record for each line of a file that is neither empty nor invalid.

    Args:
        path: The file, read a line at a time.
        read: Makes a record of a line's JSON, such as a pydantic model's `model_validate`.
        faults: A list to which the faults of lines are added; if None, they are raised.

    Raises:
        DataError: The file cannot be read; or, after the last line and without `faults`, every fault with file, line and
            field.
    """
    messages: list[str] = [] if faults is None else faults
    try:
        with open(path, "rb", opener=regular) as file:
            lines = (line for chunk in _chunks(path, file) for line in chunk.splitlines())
            for number, text in enumerate(lines, 1):
                if text.strip() and (result := _row(path, number, text, read, messages)):
                    yield number, result[0]
    except OSError as error:
        raise DataError([f"{path}: {error.strerror}"]) from None
    if faults is None and messages:
        raise DataError(messages)


def _chunks(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file with their ends; raises DataError if one has more than LONGEST_LINE bytes."""
    while chunk := file.readline(LONGEST_LINE):
        if len(chunk) == LONGEST_LINE:
            raise DataError([f"{path}: a line has more than {LONGEST_LINE:,} bytes"])
        yield chunk


def tables(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return an iterator of line number and JSON object for each line; it raises DataError as `rows` does."""
    return rows(path, TypeAdapter(dict[str, Any]).validate_python)


def _row(
    path: Path, number: int, text: bytes, read: Callable[[Any], T], faults: list[str]
) -> tuple[T] | None:
    """Return the record of a line as a 1-tuple; if the line is not valid, add the reason to `faults` and return None."""
    try:
        return (read(from_json(text)),)
    except ValidationError as error:
        faults += faults_of(error, path, number)
    except ValueError as error:
        faults.append(f"{at(path, number)}: not JSON: {str(error).replace('line 1 ', '')}")
    return None
