"""Common nouns by what they are, by which the host of a game without a key refuses guesses that are on no list.

They stand in `data/lotbench_easy/nouns.toml`. The name of a row has facts of `facts.toml`: first the kind of its nouns, then what
they have to do with. The file also names the rows that miss a key text although its facts do not rule them out.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from lotbench.benchmarks.lotbench import words
from lotbench.regular_file import read_text
from lotbench.site import facts
from lotbench.storage.datasets import shipped

PLAIN = frozenset(Path(__file__).with_name("plain_words.txt").read_text("utf-8").split())
"""Words without content, which are left out when texts are compared."""
LONGEST = 4
"""The largest number of words of a noun ("hide and seek"), in Chinese of characters."""
VARIED = 4
"""If accepted texts have nouns of so many rows of a kind, a noun of any row of that kind may count."""


def is_other_kind(key: str, guess: str, accepted: Iterable[str]) -> bool:
    """Return whether all words of a guess with content are nouns for other kinds of things than a key text (`other_rows`)."""
    named = set(_named(guess))
    return bool(named) and named <= other_rows(key, accepted)


def is_noun(text: str) -> bool:
    """Return whether a text is one of the nouns."""
    return bool(_rows().get(words.same(text)))


def other_rows(key: str, accepted: Iterable[str]) -> frozenset[str]:
    """Return the rows with nouns for other kinds of things than a key text; empty if there are no facts about it.

    The facts about the key text rule out the name of such a row, or the file says that it misses; no accepted text has a noun of it.
    """
    about = facts.about(key)
    if about is None:
        return frozenset()
    named = {row for text in accepted for row in _named(text)}
    kinds = Counter(row.split()[0] for row in named)
    ruled_out = {
        row
        for row in table()
        for kind, *linked in [row.split()]
        if kinds[kind] < VARIED
        if kind not in about.itself | about.unsure or not about.itself | about.near >= {*linked}
    }
    return frozenset(ruled_out.union(_file()["misses"].get(key, "").split(", ")) & table().keys() - named)


@cache
def table() -> Mapping[str, list[str]]:
    """Return the nouns by row, in the normal form of guesses."""
    return {row: [words.same(noun) for noun in text.split(", ")] for row, text in _file()["rows"].items()}


def plain() -> frozenset[str]:
    """Return the words that say nothing of the kind."""
    return PLAIN.union(map(words.same, _file()["plain"].split(", ")))


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(read_text(shipped("data", "lotbench_easy", "nouns.toml")))


@cache
def _rows() -> Mapping[str, set[str]]:
    """Return the rows of each noun, in the plural too; none for a word that says nothing of the kind."""
    rows: dict[str, set[str]] = {word: set() for word in plain()}
    for row, nouns in table().items():
        for noun in nouns:
            for form in (noun, f"{noun}s", f"{noun}es", re.sub("y$", "ies", noun)):
                rows.setdefault(form, set()).add(row)
    return rows


@lru_cache(maxsize=8192)
def _named(text: str) -> Sequence[str]:
    """Return the rows of the nouns of a text, the longest nouns first; "unknown" for another word, in Chinese a character."""
    same = words.same(text)
    tokens, space = (list(same), "") if words.CJK.search(same) else (same.split(), " ")
    rows: list[str] = []
    while tokens:
        parts = [space.join(tokens[:size]) for size in range(1, LONGEST + 1)]
        size = max((at for at, part in enumerate(parts, 1) if part in _rows()), default=1)
        rows += _rows().get(parts[size - 1], ("unknown",))
        tokens = tokens[size:]
    return rows
