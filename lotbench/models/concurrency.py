"""Adaptive concurrency of an endpoint: additive increase, multiplicative decrease, as in TCP.

An overloaded endpoint (429, 503) loses a share of its places and regains them one by one. Only the number of calls in
flight changes, so scores do not depend on it. Calls that wait for a retry hold no place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SHARE_LEFT, REGAINED = 0.8, 3.0
"""The share of places left after overload; places regained after as many replies as there are places."""


class Pace:
    """The places for calls of one endpoint.

    Args:
        most: The maximum number of calls in flight, and the initial one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.places = float(most)
        self.in_flight = 0
        self._free = asyncio.Semaphore(most)
        self._withheld = 0
        """Places that are withheld until the endpoint keeps up."""
        self._spared = 0
        """Replies until the next decrease; calls sent before the last decrease carry no new signal."""

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place and hold it for one attempt of a call."""
        await self._free.acquire()
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._withheld += 1
            self._give_back()

    def kept_up(self) -> None:
        """Note a reply: regain places."""
        self._spared = max(0, self._spared - 1)
        self.places = min(float(self.most), self.places + REGAINED / self.places)
        self._give_back()

    def crowded(self) -> None:
        """Note an overload: withhold places."""
        if self._spared:
            self._spared -= 1
            return
        self.places = max(1.0, self.places * SHARE_LEFT)
        self._spared = self.in_flight

    def _give_back(self) -> None:
        """Release the places that are no longer withheld."""
        while self._withheld > self.most - int(self.places):
            self._withheld -= 1
            self._free.release()
