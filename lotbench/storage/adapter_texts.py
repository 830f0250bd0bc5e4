"""What an adapter was trained on, in a file beside its weights: digests of texts, from which no text can be read.

`clot tune` writes it, and whoever evaluates the adapter reads it: on what it has seen a model is not measured.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from lotbench.errors import DataError
from lotbench.storage import atomic_write

FILE = "seen.json"


def fingerprint(text: str) -> str:
    """Return the digest of a text without what does not make it another one: case, width, spaces and punctuation."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    letters = "".join(letter for letter in plain if letter.isalnum()) or plain.strip()
    return hashlib.sha256(letters.encode()).hexdigest()[:16]


def digests(texts: Iterable[str]) -> frozenset[str]:
    """Return the digests of texts."""
    return frozenset(map(fingerprint, texts))


def write(adapter: Path, texts: Iterable[str], before: frozenset[str] = frozenset()) -> None:
    """Write down the texts that an adapter was trained on, beside digests: of the adapter that it began from, or made before."""
    seen = sorted(before | digests(texts))
    atomic_write.write(adapter / FILE, json.dumps({"schema": 1, "texts": seen}) + "\n")


def read(adapter: Path) -> frozenset[str] | None:
    """Return the digests of what an adapter was trained on; None if it does not say.

    Raises:
        DataError: The file is damaged.
    """
    path = adapter / FILE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return frozenset(map(str, table["texts"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError([f"{path}: not a list of digests: {error}"]) from None
