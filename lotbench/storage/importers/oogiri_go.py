"""Importer of Oogiri-GO: one JSON-lines file per language, pictures in a folder.

The layout is that of the published data (docs/standard.md): en.jsonl, cn.jsonl, jp.jsonl. The field `image` is the stem
of a picture file; `star` is the number of likes, or null.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from lotbench.benchmarks.standard.oogiri import Language, Row
from lotbench.config.makers import PEOPLE
from lotbench.errors import UsageError
from lotbench.storage.importers.importing import BrokenError, PictureFiles, Raw, SkippedError
from lotbench.storage.jsonl import document

FILES: Mapping[str, Language] = {"en.jsonl": "en", "cn.jsonl": "zh", "jp.jsonl": "ja"}
FOLDERS = ("images", "image")


def rows(folder: Path, pictures: PictureFiles) -> Iterator[Raw]:
    """Yield the unread rows of all languages in a folder; a row that is read writes its picture to `pictures`.

    Raises:
        UsageError: The folder has none of the files.
    """
    files = [folder / file for file in FILES if (folder / file).is_file()]
    if not files:
        raise UsageError(f"{folder}: has none of {', '.join(FILES)}")
    pictures_by_stem = _pictures(folder)
    for path in files:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    read = partial(_row, line, FILES[path.name], number, pictures_by_stem, pictures)
                    yield Raw(str(path), number, read)


def _pictures(folder: Path) -> dict[str, Path]:
    """Return the paths of the picture files in the subfolder of pictures, by their stems; {} without a subfolder.

    Raises:
        UsageError: There is an archive of pictures in place of the subfolder.
    """
    for place in FOLDERS:
        if (folder / place).is_dir():
            return {path.stem: path for path in (folder / place).iterdir()}
    if (folder / "images.zip").is_file():
        raise UsageError(
            f"{folder / 'images.zip'}: unpack it first, so that {folder / 'images'} has the pictures"
        )
    return {}


def _row(
    line: bytes, language: Language, number: int, files: Mapping[str, Path], pictures: PictureFiles
) -> Row:
    """Return one line of a published file as a row; `number` is its line number, `files` has the pictures by stem.

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
        image = pictures.keep(str(stem), files.get(str(stem)))
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
