"""kwPrec: the share of an answer's keywords that its task's knowledge text has (Sec. 3.2.2, after UHGEval).

A keyword is a word of three letters or more that is no function word, by its stem; each counts once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from snowballstemmer import stemmer  # type: ignore[import-untyped]

WORD = re.compile(r"[^\W\d_]{3,}")
_WORDS = """
about above after again against all also although among and another any anything are around because been
before being below between both but can cannot could did does doing done down during each either else enough
even ever every few for from further get had has have having hence her here hers herself him himself his how
however into its itself just less let may more most much must neither nor not now off once one only onto
other our ours out over own per rather same shall she should since some such than that the their theirs them
then there therefore these they this those though through thus too toward towards under until upon using
very via was were what when where whereas whether which while who whom whose why will with within without
would yet you your yours
"""
FUNCTION_WORDS = frozenset(_WORDS.split())
_STEMMER = stemmer("english")


@lru_cache(maxsize=256)
def keywords(text: str) -> frozenset[str]:
    """The stems of a text's keywords."""
    words = {word for word in WORD.findall(text.lower()) if word not in FUNCTION_WORDS}
    return frozenset(_STEMMER.stemWords(sorted(words)))


def precision(answer: str, knowledge: str) -> float | None:
    """The share of the answer's keywords that the knowledge text has; None for an answer without one."""
    said = keywords(answer)
    return len(said & keywords(knowledge)) / len(said) if said else None
