"""Retries of calls: number, waiting times and final errors."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from lotbench.calls.budget import discarded
from lotbench.config.experiment import Limits
from lotbench.errors import CallFailed, Unreachable
from lotbench.types import Key, Usage

T = TypeVar("T")
MALFORMED_TRIES = 4
"""The number of tries after malformed responses; they are billed and often repeat."""
TEST, REFUSED_TRIES = "preflight", 3
"""The number of tries of a connection test if nothing listens; a dead server is reported within two seconds."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Without a time from the server, waits double from the first to the longest."""


@dataclass(slots=True)
class Waiting:
    """Counts calls that wait for a retry, for the progress display."""

    retries: int = 0

    async def wait(self, seconds: float) -> None:
        """Wait before a retry."""
        self.retries += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.retries -= 1


@dataclass(eq=False)
class PassingError(Exception):
    """An error that a retry may avoid.

    Attributes:
        reason: The message.
        wait: The seconds that the server asks to wait, if any.
        tries: The maximum number of tries for this error.
        refused: Whether nothing listens at the address.
        billed: Whether a reply had begun, which is billed.
        usage: The usage of that reply, if known.
    """

    reason: str
    wait: float | None = None
    tries: float = float("inf")
    refused: bool = False
    billed: bool = False
    usage: Usage | None = None

    def __str__(self) -> str:
        return self.reason


async def retried(
    once: Callable[[], Awaitable[T]], name: str, place: Key, limits: Limits, waiting: Waiting
) -> T:
    """Call `once` until it succeeds, and return its result.

    Raises:
        CallFailed: The tries are used up, or the server asks for too long a wait.
        Unreachable: In a connection test, nothing listens at the address.
        LimitReached: Billed failures leave no budget for another try.
    """
    for attempt in itertools.count():
        try:
            return await once()
        except PassingError as error:
            failure = error
        if failure.billed:
            discarded.get()(failure.usage)
        if failure.refused and place.step == TEST and attempt >= REFUSED_TRIES - 1:
            raise Unreachable(f"{name}: {failure}: is the server running?")
        # An overloaded server that repeatedly says 0 gives no usable time.
        server_wait = failure.wait if failure.wait or not attempt else None
        wait = _backoff(attempt, place) if server_wait is None else server_wait
        if attempt >= min(limits.retries, failure.tries - 1):
            raise CallFailed(f"{name}: {failure} (tries: {attempt + 1})")
        if wait > limits.max_wait_s:
            longest = f"max_wait_s is {limits.max_wait_s:g}"
            raise CallFailed(f"{name}: {failure}; told to wait {wait:g} s, {longest}")
        await waiting.wait(wait)
    raise AssertionError("itertools.count has an end")


def _backoff(attempt: int, place: Key) -> float:
    """Return the seconds before a retry, with jitter that spreads calls which failed together."""
    longest = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return longest * random.Random(f"{place}:{attempt}").uniform(0.75, 1.0)
