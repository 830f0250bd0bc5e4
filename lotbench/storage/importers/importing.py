"""Import of published rows into a data set: rows are read one at a time, pictures checked, skipped rows counted.

samples.jsonl appears when it is complete. Pictures that an earlier attempt wrote are not written again. Nothing is
written outside the target folder: picture names are made here, not taken from an archive.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from lotbench.benchmarks.standard.oogiri import Row
from lotbench.errors import DataError, UsageError, at, faults_of
from lotbench.storage import atomic_write
from lotbench.storage.jsonl import line
from lotbench.storage.pictures import picture_file
from lotbench.storage.pictures.picture_file import MAX_BYTES, MAX_PIXELS

NAMED = 100
"""How many broken rows are listed; all are counted."""


class SkippedError(Exception):
    """A row cannot be used and is skipped; the message is the reason under which it is counted."""


class BrokenError(Exception):
    """A row is not valid; it is skipped, counted as broken, and listed with its line."""


@dataclass(frozen=True, slots=True)
class Raw:
    """One unread row of a source: its file, its line number, and a function that reads it.

    The function raises SkippedError, BrokenError or ValidationError for a row that cannot become a sample.
    """

    path: str
    number: int
    read: Callable[[], Row]


@dataclass(slots=True)
class Progress:
    """The progress of an import: rows read and kept, skipped rows by reason, and messages about broken rows."""

    read: int = 0
    imported: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def bring(source: str, rows: Iterable[Raw], dest: Path) -> Progress:
    """Write rows as a data set in `dest`, with a summary in import.json that names their `source`; return the counts.

    Raises:
        UsageError: The folder holds a data set already.
        DataError: No row could be kept.
    """
    if (dest / "samples.jsonl").exists():
        raise UsageError(f"{dest}: holds a data set already")
    done = Progress()
    with atomic_write.opened(dest / "samples.jsonl") as out:
        for raw in rows:
            if (row := _row(raw, done)) is not None:
                out.write(line(row.model_dump(mode="json", exclude_none=True)))
                done.imported += 1
            done.read += 1
        if not done.imported:
            counts = ", ".join(f"{reason}: {count}" for reason, count in done.skipped.most_common())
            raise DataError(done.broken or [f"{source}: no rows ({counts or 'it is empty'})"])
    rows_of = {"read": done.read, "kept": done.imported, "skipped": done.skipped, "broken": done.broken}
    summary = json.dumps({"from": source, **rows_of}, indent=2, ensure_ascii=False)
    atomic_write.write(dest / "import.json", summary)
    return done


class PictureFiles:
    """The pictures of a data set that is being imported; each is checked once and written to images/.

    Args:
        dest: The folder of the data set.
    """

    def __init__(self, dest: Path) -> None:
        self._folder = dest / "images"
        self._known: dict[str, str] = {}
        """For each picture name its path, or `!` and the reason why it was skipped."""

    def keep(self, name: str, source: Path | None) -> str:
        """Write a copy of a picture file unless it is there, and return its path relative to the data set's folder.

        Raises:
            SkippedError: The picture is missing, too large, not readable, or has an invalid name.
        """
        if name not in self._known:
            try:
                self._known[name] = self._copy(name, source)
            except SkippedError as reason:
                self._known[name] = f"!{reason}"
        file = self._known[name]
        if file.startswith("!"):
            raise SkippedError(file[1:])
        return file

    def _copy(self, name: str, source: Path | None) -> str:
        if not name or not all(letter.isalnum() or letter in "-_." for letter in name) or name[0] == ".":
            raise SkippedError("the picture's name is no file's")
        if source is None or not source.is_file():
            raise SkippedError("the picture is not there")
        if source.stat().st_size > MAX_BYTES:
            raise SkippedError(f"the picture has more than {MAX_BYTES:,} bytes")
        raw = source.read_bytes()
        file = f"{name}.{_format(raw)}"
        path = self._folder / file
        if not path.is_file() or path.stat().st_size != len(raw):
            atomic_write.write(path, raw)
        return f"images/{file}"


def _format(raw: bytes) -> str:
    """Return the file suffix of a picture, by its content.

    Raises:
        SkippedError: It has too many pixels, or is not a picture of a known format.
    """
    try:
        with picture_file.opened(raw, pixels=MAX_PIXELS) as picture:
            picture.verify()
            return picture_file.FORMATS[str(picture.format)]
    except picture_file.TooLargeError:
        raise SkippedError(f"the picture has more than {MAX_PIXELS:,} pixels") from None
    except picture_file.PictureError:
        raise SkippedError("the picture cannot be read") from None


def _row(raw: Raw, done: Progress) -> Row | None:
    try:
        return raw.read()
    except SkippedError as reason:
        done.skipped[str(reason)] += 1
        return None
    except ValidationError as error:
        message = faults_of(error, raw.path, raw.number)[0]
    except BrokenError as error:
        message = f"{at(raw.path, raw.number)}: {error}"
    done.skipped["broken"] += 1
    if len(done.broken) < NAMED:
        done.broken.append(message)
    return None
