"""Adaptive concurrency of an endpoint: additive increase, multiplicative decrease, as in TCP.

A place allows one call in flight. An overloaded endpoint (status 429, 503 or 529) loses a share of its places and regains
them one by one. Only the number of calls in flight changes, so scores do not depend on it. Calls that wait for a retry
hold no place.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lotbench.calls.budget import unsent

SHARE_LEFT, REGAINED = 0.8, 3.0
"""The share of places that is left after an overload; the places regained after as many replies as there are places."""


class Pace:
    """A varying limit on the calls in flight at one endpoint.

    Args:
        most: The maximum number of places, and the initial one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.places = float(most)
        self.in_flight = 0
        self._free = asyncio.Semaphore(most)
        self._withheld = 0
        """Places that no call holds and no call may take now."""
        self._spared = 0
        """How many calls from before the last decrease have no outcome yet; their overloads cause no other decrease."""

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place, and hold it during the block for one attempt of a call."""
        with unsent():
            await self._free.acquire()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._withheld += 1
            self._give_back()

    def kept_up(self) -> None:
        """Note a reply: raise the number of places a little, up to the maximum."""
        self._spared = max(0, self._spared - 1)
        self.places = min(float(self.most), self.places + REGAINED / self.places)
        self._give_back()

    def crowded(self) -> None:
        """Note an overload: lower the number of places, unless the call was sent before the last decrease."""
        if self._spared:
            self._spared -= 1
            return
        self.places = max(1.0, self.places * SHARE_LEFT)
        self._spared = self.in_flight

    def _give_back(self) -> None:
        """Release withheld places for new calls, as far as the number of places allows."""
        while self._withheld > self.most - int(self.places):
            self._withheld -= 1
            self._free.release()
