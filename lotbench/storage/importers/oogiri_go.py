"""Importer of Oogiri-GO: one JSON-lines file per language, pictures in a folder or an archive.

The layout is that of the published data (docs/standard.md): en.jsonl, cn.jsonl, jp.jsonl. The field `image` is the stem
of a picture file; `star` is the number of likes, or null.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from lotbench.benchmarks.standard.oogiri import Language, Row
from lotbench.config.makers import PEOPLE
from lotbench.errors import UsageError
from lotbench.storage.importers.importing import BrokenError, PictureFiles, Raw, SkippedError
from lotbench.storage.jsonl import document
from lotbench.storage.pictures.picture_file import MAX_BYTES

FILES: Mapping[str, Language] = {"en.jsonl": "en", "cn.jsonl": "zh", "jp.jsonl": "ja"}
ARCHIVE, FOLDERS = "images.zip", ("images", "image")

Find: TypeAlias = Callable[[str], bytes | None]
"""Returns the bytes of a picture by its stem; None if there is no such picture."""


def rows(folder: Path, pictures: PictureFiles) -> Iterator[Raw]:
    """Yield the unread rows of all languages in a folder; a row that is read writes its picture to `pictures`.

    Raises:
        UsageError: The folder has none of the files.
    """
    files = [folder / file for file in FILES if (folder / file).is_file()]
    if not files:
        raise UsageError(f"{folder}: has none of {', '.join(FILES)}")
    find = _pictures(folder)
    for path in files:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    read = partial(_row, line, FILES[path.name], number, find, pictures)
                    yield Raw(str(path), number, read)


def _pictures(folder: Path) -> Find:
    """Return a function that reads pictures by stem, from a subfolder or from the archive; it finds none without either."""
    for place in FOLDERS:
        if (folder / place).is_dir():
            files = {Path(entry.name).stem: entry.path for entry in os.scandir(folder / place)}
            return lambda stem: _read_file(files[stem]) if stem in files else None
    if (folder / ARCHIVE).is_file():
        return _archive(folder / ARCHIVE)
    return lambda stem: None


def _read_file(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError:
        return None


def _archive(path: Path) -> Find:
    """Return a function that reads files in a zip archive by stem, whatever their folder.

    Raises:
        UsageError: The archive cannot be read. (The function raises SkippedError for a damaged file in it.)
    """
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"{path}: {error}") from None
    members = {PurePosixPath(info.filename).stem: info for info in archive.infolist() if not info.is_dir()}

    def find(stem: str) -> bytes | None:
        if stem not in members:
            return None
        try:
            with archive.open(members[stem]) as member:
                # The size in the archive's index may be wrong.
                return member.read(MAX_BYTES + 1)
        except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, NotImplementedError):
            raise SkippedError("the picture cannot be read") from None

    return find


def _row(line: bytes, language: Language, number: int, find: Find, pictures: PictureFiles) -> Row:
    """Return one line of a published file as a row; `number` is its line number, `find` reads pictures.

    Raises:
        SkippedError: The row cannot be used.
        BrokenError, ValidationError: The line is not a row.
    """
    try:
        table = document(line)
    except ValueError as error:
        raise BrokenError(f"not JSON: {error}") from None
    if not isinstance(table, dict):
        raise BrokenError("not a JSON object")
    kind, text, stem = table.get("type"), table.get("text"), table.get("image")
    text_of_question = table.get("question")
    question = None if text_of_question in (None, "", "None") else text_of_question
    if text is None or (isinstance(text, str) and not text.strip()):
        raise SkippedError("no response")
    if kind in ("T2T", "IT2T") and question is None:
        raise SkippedError("the question is in an image" if text_of_question == "None" else "no question")
    image = None
    if kind in ("I2T", "IT2T") and stem is not None:
        image = pictures.keep(str(stem), partial(find, str(stem)))
    asked_by = hashlib.sha256(str(question).encode()).hexdigest()[:12]
    return Row(
        id=f"go-{language}-{number}",
        type=kind,
        language=language,
        group=f"image-{stem}" if image else f"question-{language}-{asked_by}",
        question=question,
        image=image or (None if kind == "I2T" else stem),
        text=text,
        star=table.get("star"),
        writer=PEOPLE,
    )
