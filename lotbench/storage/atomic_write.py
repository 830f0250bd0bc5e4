"""A file that is written whole or not at all: beside its place first, then moved there.

Readers see the old content or the new one, never half of it, also after kill -9 or on a full disk.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

PART = ".lotbench-part"
"""How the name of a file ends that is being written; kill -9 leaves it behind."""


def clear(folder: Path) -> None:
    """Remove what a kill left of files that were being written in a folder, or one below it; nobody else may write there."""
    below = (child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())
    for place in (folder, *below):
        for remnant in place.glob(f".*{PART}"):
            with suppress(OSError):
                remnant.unlink()


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file, whole or piece by piece, text as UTF-8, with its folder if that is missing.

    Raises:
        OSError: It cannot be written; what stood there before still does.
    """
    with opened(path) as file:
        pieces = [content] if isinstance(content, str | bytes) else content
        file.writelines(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to write; it takes its place when the block ends in order, and is removed when it does not.

    Raises:
        OSError: It cannot be written; what stood there before still does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with open(number, "wb") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
