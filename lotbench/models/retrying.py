"""Calls that are tried again, in one place: how often, after how long a wait, and what is said in the end."""

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
"""Times that a response which is no chat completion is asked for: it was paid for, and often it stays one."""
TEST, REFUSED_TRIES = "preflight", 3
"""Times that a connection test is tried where nothing listens: a server that is down is named in two seconds."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Where the server names no time, each wait doubles from the first to the longest."""


@dataclass(slots=True)
class Waiting:
    """How many calls wait to be tried again; for the progress display."""

    retries: int = 0

    async def wait(self, seconds: float) -> None:
        """Wait before another try."""
        self.retries += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.retries -= 1


@dataclass(eq=False)
class PassingError(Exception):
    """A trouble that another try may not meet.

    Attributes:
        reason: What is said of it.
        wait: The seconds that the server asks to wait, if it names any.
        tries: How often it is worth trying, whatever the limits say.
        refused: Whether nothing listens at the address.
        billed: Whether a reply had begun to come, which is paid for.
        usage: What it used, if it said so.
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
    """Return what comes of a call in the end.

    Raises:
        CallFailed: No other try is worth it.
        Unreachable: It was a connection test, and nothing listens.
        LimitReached: What was billed and thrown away leaves no room for another try.
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
        # A server that says 0 and still has too much to do has not said when that will end.
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
    """Return the seconds before another try; calls that failed together come back apart."""
    longest = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return longest * random.Random(f"{place}:{attempt}").uniform(0.75, 1.0)
