"""Opening of regular files only: a folder from somebody else may hold a pipe, or a link to an endless device."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, AnyStr

from lotbench.errors import RunFolderError

MOST_TEXT, MOST_BYTES = 100_000_000, 500_000_000
"""The maximum numbers of characters and bytes that are read of a file."""
STANDARD_INPUTS = ("/dev/stdin", "/dev/fd/", "/dev/null")
"""The beginnings of paths that are read although they may be no regular files, since a person names them on purpose."""


def regular(name: str | Path, flags: int) -> int:
    """Open a file and return its descriptor, unless it is a pipe, socket or device; for the `opener` argument of `open`.

    Raises:
        OSError: The path is a pipe, socket or device, or cannot be opened.
    """
    number = os.open(name, flags | os.O_NONBLOCK, 0o666)
    mode = os.fstat(number).st_mode
    # `open` itself refuses a folder.
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return number
    os.close(number)
    raise OSError(errno.EINVAL, "is no regular file", str(name))


def is_file(path: Path) -> bool:
    """Return whether there is a file at a path.

    Raises:
        RunFolderError: The path is a folder, pipe, socket or device, or cannot be opened.
    """
    try:
        with open(path, "rb", opener=regular):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise RunFolderError(f"{path}: {error.strerror}") from None


def read_text(path: Path, most: int = MOST_TEXT) -> str:
    """Return the text of a regular file; a path that begins as in `STANDARD_INPUTS`, such as /dev/stdin, may be another kind of file.

    Raises:
        OSError: The path is no regular file, cannot be read, or has more than `most` characters.
        UnicodeDecodeError: The file is not in UTF-8.
    """
    with open(path, encoding="utf-8", opener=_opener(path)) as file:
        return _limited(file, most)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, at most `MOST_BYTES`; raises OSError as `read_text` does."""
    with open(path, "rb", opener=_opener(path)) as file:
        return _limited(file, MOST_BYTES)


def _limited(file: IO[AnyStr], most: int) -> AnyStr:
    content = file.read(most + 1)
    if len(content) > most:
        unit = "bytes" if isinstance(content, bytes) else "characters"
        raise OSError(errno.EFBIG, f"larger than {most:,} {unit}", file.name)
    return content


def _opener(path: Path) -> Callable[[str, int], int] | None:
    return None if str(path).startswith(STANDARD_INPUTS) else regular
