"""How much of a prompt the fake server has heard before: what a provider would bill as cached."""

import bisect
from collections import deque


class Prefixes:
    """The texts heard so far, sorted: the one that shares the longest start with another stands beside it."""

    def __init__(self, most: int = 4096) -> None:
        self._sorted: list[str] = []
        self._age: deque[str] = deque()
        self._most = most

    def add(self, model: str, text: str) -> int:
        """The words at the start of a text that one heard before has too; then the text is known."""
        line = f"{model}\0{text}"
        place = bisect.bisect_left(self._sorted, line)
        beside = self._sorted[max(0, place - 1) : place + 1]
        shared = max((_shared(line, other) for other in beside), default=0)
        self._sorted.insert(place, line)
        self._age.append(line)
        if len(self._age) > self._most:
            del self._sorted[bisect.bisect_left(self._sorted, self._age.popleft())]
        if shared <= len(model):
            return 0
        words = len(line[len(model) + 1 : shared].split())
        torn = shared < len(line) and not line[shared].isspace() and not line[shared - 1].isspace()
        return max(0, words - torn)


def _shared(one: str, other: str) -> int:
    """The length of the start that two texts share; by halves, so that long texts cost little."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
