"""Where the journal of a run has its calls, by their keys: 16 bytes a call, whatever was said in them."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from lotbench.edge.calls.journal import Entry, entry
from lotbench.edge.files.jsonl import unsealed
from lotbench.types import Key, Usage

_KEY = b'{"key":'
"""How a line of the journal begins."""


class CallTokens:
    """The lines of a journal by key, and the tokens of their calls; a line is read when its call is asked for.

    Args:
        path: The calls.jsonl; one that is not there has no calls.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = self._inode = 0
        self._known: tuple[NDArray[np.uint64], NDArray[np.int64]] = _table(array("Q"), array("q"))
        """The digests of keys in order, and where the line of each begins."""

    def read_on(self) -> CallTokens:
        """Find the lines that came since the last time, or all lines of what is another file now."""
        names, begins = array("Q"), array("q")
        if not self._path.is_file():
            return self
        with self._path.open("rb") as lines:
            now = os.fstat(lines.fileno())
            if now.st_ino != self._inode or now.st_size < self._end:
                self._end, self._inode, self._known = 0, now.st_ino, _table(names, begins)
            lines.seek(self._end)
            for text in lines:
                if not text.endswith(b"\n"):
                    break
                with suppress(ValueError, KeyError, TypeError):
                    names.append(_digest(str(_key(text))))
                    begins.append(self._end)
                self._end += len(text)
        self._known = _joined(self._known, _table(names, begins))
        return self

    def of(self, keys: Iterable[str]) -> dict[str, Usage]:
        """What some calls used, by key; one that is not in the journal is left out."""
        return {key: made.reply.usage for key, (_, made) in self._found(keys).items()}

    def lines(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The lines of some calls, by key; one that is not in the journal is left out."""
        return {key: text for key, (text, _) in self._found(keys).items()}

    def _found(self, keys: Iterable[str]) -> dict[str, tuple[bytes, Entry]]:
        found: dict[str, tuple[bytes, Entry]] = {}
        if self._path.is_file():
            with self._path.open("rb") as journal:
                for key in dict.fromkeys(keys):
                    for begin in self._begins(key):
                        journal.seek(begin)
                        text = journal.readline()
                        with suppress(ValueError, KeyError, TypeError):
                            made = entry(unsealed(text))
                            if str(made.key) == key:
                                found[key] = text, made
                                break
        return found

    def _begins(self, key: str) -> Iterator[int]:
        """Where lines of a key begin, the last first: it counts, as in `Journal`, unless it is damaged."""
        names, begins = self._known
        digest = np.uint64(_digest(key))
        first, end = (int(np.searchsorted(names, digest, side)) for side in ("left", "right"))
        return map(int, begins[first:end][::-1])


def _key(text: bytes) -> Key:
    """The key of a line, of which no more is read where it comes first; the rest is when its call is asked for.

    Raises:
        KeyError, TypeError, ValueError: It has none.
    """
    if text.startswith(_KEY):
        with suppress(orjson.JSONDecodeError):
            return Key(**orjson.loads(text[len(_KEY) : text.index(b"}") + 1]))
    return Key(**orjson.loads(text)["key"])


def _table(names: array[int], begins: array[int]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    return np.array(names, np.uint64), np.array(begins, np.int64)


def _joined(
    one: tuple[NDArray[np.uint64], NDArray[np.int64]], other: tuple[NDArray[np.uint64], NDArray[np.int64]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    names, begins = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.argsort(names, kind="stable")
    return names[order], begins[order]


def _digest(key: str) -> int:
    """Eight bytes: that two keys share one only means that a line more is read."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
