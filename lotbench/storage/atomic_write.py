"""Atomic writing: a file is first written under a temporary name in the same folder, then renamed.

A reader sees the old content or the new content, never a part, even after kill -9 or on a full disk.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from lotbench.regular_file import regular

PART = ".lotbench-part"
"""The suffix of a temporary file; kill -9 may leave one behind."""


def clear(folder: Path) -> None:
    """Remove leftover temporary files from a folder and its direct subfolders.

    No other process may write to the folder meanwhile.
    """
    below = (child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())
    for place in (folder, *below):
        for remnant in place.glob(f".*{PART}"):
            with suppress(OSError):
                remnant.unlink()


def write(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file atomically, text as UTF-8; a missing folder is made.

    Raises:
        OSError: The file cannot be written; its old content is unchanged.
    """
    with opened(path) as file:
        pieces = [content] if isinstance(content, str | bytes) else content
        file.writelines(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that gets the name `path` when the block ends, and is removed if the block raises.

    Raises:
        OSError: The file cannot be written, or is a pipe, socket or device; its old content is unchanged.
    """
    with suppress(FileNotFoundError):
        os.close(regular(path, os.O_RDONLY))
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with open(number, "wb") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.filename in (None, name):
            # A full disk names no file, a refused name the temporary one.
            error.filename = str(path)
        raise
