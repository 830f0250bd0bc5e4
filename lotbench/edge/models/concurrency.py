"""How many calls an endpoint is given at once: fewer when it says that it is too much, more when it keeps up.

Additive increase, multiplicative decrease, as in TCP: a crowded endpoint (429, 503, replies that take several
times as long as before) loses a share of its places at once and wins them back one by one. Only the number
of calls in flight changes, never what is asked, so a score does not depend on it. Who waits to try again
holds no place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

SHARE_LEFT, REGAINED = 0.8, 3.0
"""Of the places, after a sign of crowding; places won back by as many replies as there are places."""
SLOWER, SLACK_S = 4.0, 2.0
"""Replies count as slow when they take so many times the usual, and so many seconds more."""
FORGET = 1.002
"""How fast the quickest time that an endpoint was ever seen at is forgotten, a reply."""


class Pace:
    """The places of one endpoint.

    Args:
        most: Calls in flight at most; where it begins, since most endpoints can take what they are given.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.places = float(most)
        self.in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._spared = 0
        """Replies until the next decrease: those of calls that were sent before the last one say nothing new."""
        self._recent = self._usual = 0.0

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a place and hold it for one attempt of a call."""
        if self.in_flight >= int(self.places) or self._waiting:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if not waiter.cancelled():
                    self._leave()
                elif waiter in self._waiting:
                    # Who leaves a place in the meantime throws out those who have gone.
                    self._waiting.remove(waiter)
                raise
        else:
            self.in_flight += 1
        try:
            yield
        finally:
            self._leave()

    def kept_up(self, seconds: float) -> None:
        """Note a reply and how long it took."""
        self._recent = 0.8 * self._recent + 0.2 * seconds if self._recent else seconds
        self._usual = min(self._usual * FORGET, self._recent) if self._usual else self._recent
        if self._recent > SLOWER * self._usual + SLACK_S:
            self.crowded()
        else:
            self._spared = max(0, self._spared - 1)
            self.places = min(float(self.most), self.places + REGAINED / self.places)
        self._wake()

    def crowded(self) -> None:
        """Note a sign that the endpoint has too much to do."""
        if self._spared:
            self._spared -= 1
            return
        self.places = max(1.0, self.places * SHARE_LEFT)
        self._spared = self.in_flight

    def _leave(self) -> None:
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.in_flight < int(self.places):
            waiter = self._waiting.popleft()
            if not waiter.done():
                # The place is taken here, so that nobody who comes later is before it.
                self.in_flight += 1
                waiter.set_result(None)
