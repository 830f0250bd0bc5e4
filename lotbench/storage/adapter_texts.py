"""The list of texts that an adapter or a merged model was trained on: a file of digests in its folder.

`clot tune` writes the file. An evaluation reads it and leaves out samples that the adapter was trained on. The digests
do not reveal the texts.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import TypeAdapter

from lotbench.errors import DataError
from lotbench.prompting.normal_form import same
from lotbench.regular_file import read_text
from lotbench.storage import atomic_write
from lotbench.storage.jsonl import document

FILE = "seen.json"


def fingerprint(text: str) -> str:
    """Return 16 hex digits for a text, the same for texts that differ in case, width, spaces or punctuation only."""
    return hashlib.sha256(same(text).encode()).hexdigest()[:16]


def digests(texts: Iterable[str]) -> frozenset[str]:
    """Return the set of the texts' digests, see `fingerprint`."""
    return frozenset(map(fingerprint, texts))


def write(adapter: Path, seen: Iterable[str]) -> None:
    """Write the digests of an adapter's training texts into the file FILE of its folder, in place of an older file."""
    atomic_write.write(adapter / FILE, json.dumps({"schema": 1, "texts": sorted(seen)}) + "\n")


def read_digests(adapter: Path) -> frozenset[str] | None:
    """Return the digests of an adapter's training texts; None if its folder has no such file.

    Raises:
        DataError: The file is damaged.
    """
    path = adapter / FILE
    try:
        return TypeAdapter(frozenset[str]).validate_python(document(read_text(path))["texts"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError([f"{path}: not a list of digests: {error}"]) from None
