"""Retries of calls: number, waiting times and final errors."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from lotbench.calls.budget import discarded, spending, unsent
from lotbench.config.experiment import Limits
from lotbench.errors import CallFailed, Unreachable
from lotbench.types import Key, Usage

T = TypeVar("T")
PASSING = frozenset({408, 409, 425, 429})
"""HTTP statuses below 500 after which a call is retried; it is retried after all statuses from 500 too."""
MALFORMED_TRIES = 4
"""The number of tries after malformed responses; they are billed and often repeat."""
TEST, REFUSED_TRIES = "preflight", 3
"""The step of a connection test, and its number of tries if nothing listens: a dead server is reported in two seconds."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Seconds before the first retry and before later ones at most; the wait doubles, unless the server names a time."""


@dataclass(slots=True)
class Waiting:
    """The number of calls that wait for a retry now, for the progress display."""

    retries: int = 0

    async def wait(self, seconds: float) -> None:
        """Wait these seconds before a retry, counted in `retries`."""
        self.retries += 1
        try:
            with unsent():
                await asyncio.sleep(seconds)
        finally:
            self.retries -= 1


@dataclass(eq=False)
class PassingError(Exception):
    """One attempt of a call failed, and another may succeed.

    Attributes:
        reason: The message.
        wait: The seconds that the server asks to wait; None if it does not ask.
        tries: The maximum number of tries for this error.
        refused: Whether nothing listens at the address.
        billed: Whether the provider bills the attempt, because a reply had begun.
        usage: The token counts of that reply; None if unknown.
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

    Args:
        once: Makes one attempt; raises PassingError if another may succeed.
        name: The name of the model, for messages.
        place: The key of the call.
        limits: The number of retries and the longest wait.
        waiting: Counts the call while it waits.

    Raises:
        CallFailed: The tries are used up, or the server asks for too long a wait.
        Unreachable: In a connection test, nothing listens at the address.
        LimitReached: Billed failures leave no budget for another try, or the time limit is before the next one.
    """
    budget = spending.get()
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
        await waiting.wait(budget.patience(wait))
        budget.refuse_late()
    raise AssertionError("itertools.count has an end")


def _backoff(attempt: int, place: Key) -> float:
    """Return the seconds before a retry, with jitter so that calls which failed together do not return together."""
    longest = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return longest * random.Random(f"{place}:{attempt}").uniform(0.75, 1.0)
