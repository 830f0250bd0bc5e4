"""How many calls an endpoint is given at once: fewer when it says that it is too much, more when it keeps up.

Additive increase, multiplicative decrease, as in TCP: a crowded endpoint (429, 503) loses a share of its places and
wins them back one by one. Only the number of calls in flight changes, never what is asked, so a score does not depend
on it. Who waits to try again holds no place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SHARE_LEFT, REGAINED = 0.8, 3.0
"""Of the places, after a sign of crowding; places won back by as many replies as there are places."""


class Pace:
    """The places of one endpoint.

    Args:
        most: Calls in flight at most; where it begins, since most endpoints can take what they are given.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.places = float(most)
        self.in_flight = 0
        self._free = asyncio.Semaphore(most)
        self._withheld = 0
        """Places that nobody may take until the endpoint has kept up."""
        self._spared = 0
        """Replies until the next decrease: those of calls that were sent before the last one say nothing new."""

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
        """Note a reply."""
        self._spared = max(0, self._spared - 1)
        self.places = min(float(self.most), self.places + REGAINED / self.places)
        self._give_back()

    def crowded(self) -> None:
        """Note a sign that the endpoint has too much to do."""
        if self._spared:
            self._spared -= 1
            return
        self.places = max(1.0, self.places * SHARE_LEFT)
        self._spared = self.in_flight

    def _give_back(self) -> None:
        """Let others have the places that are not lost."""
        while self._withheld > self.most - int(self.places):
            self._withheld -= 1
            self._free.release()
