"""Related works in a prompt: titles are always whole, abstracts are cut if they do not all fit.

The longest abstracts are cut first, each at the end of a word. Each cut is marked; the prompt and the trace give the
number of cut abstracts.
"""

import textwrap
from collections.abc import Sequence

from lotbench.benchmarks.rinobench.sample import Work

MARK = "[...]"
"""Marks the place where the rest of an abstract was cut off."""


def show_works(works: Sequence[Work], budget: int) -> tuple[str, int]:
    """Return the related works as text for a prompt, within a budget of characters, and the number of abstracts that were cut.

    Titles and ids are never cut, so a budget that is too small for them is exceeded.

    Args:
        works: In the order of the sample.
        budget: Characters for titles, ids and abstracts together.
    """
    heads = [f"[{work.id}] {work.title}" + (f" ({work.year})" if work.year else "") for work in works]
    limit = even([len(work.abstract) for work in works], budget - sum(map(len, heads)))
    texts = [shortened(work.abstract, limit) for work in works]
    cut = sum(text != work.abstract for text, work in zip(texts, works, strict=True))
    body = "\n\n".join(f"{head}\n{text or '(no abstract)'}" for head, text in zip(heads, texts, strict=True))
    note = f"{cut} of {len(works)} abstracts are shortened; {MARK} stands where the rest is missing.\n\n"
    return (note if cut else "") + body, cut


def even(lengths: Sequence[int], budget: int) -> int:
    """Return the largest L, at least 0, such that the lengths, each cut to at most L, add up to at most the budget."""
    room = max(0, budget)
    for place, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - place)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def shortened(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, cut at the end of a word and marked; the mark alone if no word fits."""
    if len(text) <= limit:
        return text
    return textwrap.shorten(text, limit, placeholder=f" {MARK}") if limit >= len(MARK) else MARK
