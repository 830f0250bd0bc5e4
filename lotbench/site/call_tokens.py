"""What the calls of a run used and where its journal has them, by their keys: 40 bytes a call, whatever was said in them."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lotbench.edge.calls.journal import entry
from lotbench.edge.files.jsonl import unsealed
from lotbench.types import Usage


class CallTokens:
    """The tokens of every call of a journal.

    Args:
        path: The calls.jsonl; one that is not there has no calls.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = self._inode = 0
        self._known: tuple[NDArray[np.uint64], NDArray[np.int64]] = _table(array("Q"), array("q"))
        """The digests of keys in order, and for each the tokens of its call and where its line begins, [calls, 4]."""

    def read_on(self) -> CallTokens:
        """Read the lines that came since the last time, or all lines of what is another file now."""
        names, tokens = array("Q"), array("q")
        if not self._path.is_file():
            return self
        with self._path.open("rb") as lines:
            now = os.fstat(lines.fileno())
            if now.st_ino != self._inode or now.st_size < self._end:
                self._end, self._inode, self._known = 0, now.st_ino, _table(names, tokens)
            lines.seek(self._end)
            for text in lines:
                if not text.endswith(b"\n"):
                    break
                begin, self._end = self._end, self._end + len(text)
                with suppress(ValueError, KeyError, TypeError, OverflowError):
                    made = entry(unsealed(text))
                    used = made.reply.usage
                    # Made first: a number that is none of 64 bits leaves the two of one length.
                    four = (used.input_tokens, used.cached_input_tokens, used.output_tokens, begin)
                    told = array("q", four)
                    names.append(_digest(str(made.key)))
                    tokens.extend(told)
        self._known = _joined(self._known, _table(names, tokens))
        return self

    def of(self, keys: Iterable[str]) -> dict[str, Usage]:
        """What some calls used, by key; one that is not in the journal is left out."""
        return {key: Usage(*map(int, told[:3])) for key, told in self._told(keys)}

    def lines(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The lines of some calls, by key; one that is not in the journal is left out."""
        found: dict[str, bytes] = {}
        if self._path.is_file():
            with self._path.open("rb") as journal:
                for key, told in self._told(keys):
                    journal.seek(int(told[3]))
                    found[key] = journal.readline()
        return found

    def _told(self, keys: Iterable[str]) -> Iterator[tuple[str, NDArray[np.int64]]]:
        names, tokens = self._known
        for key in dict.fromkeys(keys):
            # The last line of a key counts, as in `Journal`.
            at = int(np.searchsorted(names, np.uint64(_digest(key)), "right")) - 1
            if at >= 0 and int(names[at]) == _digest(key):
                yield key, tokens[at]


def _table(names: array[int], tokens: array[int]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    return np.array(names, np.uint64), np.array(tokens, np.int64).reshape(-1, 4)


def _joined(
    one: tuple[NDArray[np.uint64], NDArray[np.int64]], other: tuple[NDArray[np.uint64], NDArray[np.int64]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    names, tokens = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.argsort(names, kind="stable")
    return names[order], tokens[order]


def _digest(key: str) -> int:
    """Eight bytes: among three million keys, two have the same in one journal of four million."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest())
