"""What a run may use: budgets of money, tokens and time, and the rate of each endpoint.

A budget is reserved from an estimate before a call and settled with what the call used, so the overspend
is at most the calls in flight. All roles count, and so does what earlier sessions of the run used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from lotbench.calls.prices import price, price_date
from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName
from lotbench.errors import LimitReached, UsageError
from lotbench.types import Usage


def _count_nothing(usage: Usage | None) -> None:
    """Ignore a discarded reply: what happens outside a run."""


discarded: ContextVar[Callable[[Usage | None], None]] = ContextVar("discarded", default=_count_nothing)
"""Counts a reply that is paid for and cannot be used; None: what it used is not known. Raises where no other try fits."""


@dataclass(slots=True)
class Budget:
    """The money, tokens and time that a run may use, and what it has used so far."""

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    cost: float = 0.0
    tokens: int = 0
    started: float = field(default=0.0)
    _held_cost: float = 0.0
    _held_tokens: int = 0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def reserve(self, tokens: int, cost: float) -> None:
        """Set a call's estimate aside.

        Raises:
            LimitReached: The call could exceed a limit.
        """
        self.refuse_late()
        limits = self.limits
        if limits.token_limit is not None and self.tokens + self._held_tokens + tokens > limits.token_limit:
            raise LimitReached(f"the token limit of {limits.token_limit:,} is used up ({self.tokens:,} used)")
        if limits.cost_limit is not None and self.cost + self._held_cost + cost > limits.cost_limit:
            raise LimitReached(f"the cost limit of ${limits.cost_limit:g} is used up (${self.cost:.4f} used)")
        self._held_tokens += tokens
        self._held_cost += cost

    def refuse_late(self) -> None:
        """Refuse a call for which there is no time left; also after it waited for its turn at a rate.

        Raises:
            LimitReached: The time is used up.
        """
        limit = self.limits.time_limit
        if limit is not None and self.clock() - self.started >= limit:
            raise LimitReached(f"the time limit of {limit:g} s is used up")

    def settle(self, tokens: int, cost: float, usage: Usage, spent: float) -> None:
        """Give an estimate back and count what the call really used."""
        self._held_tokens -= tokens
        self._held_cost -= cost
        self.count(usage, spent)

    @property
    def overspent(self) -> str:
        """By how much a limit was overspent, in words; empty if none was. At most the calls in flight."""
        limits, over = self.limits, []
        if limits.token_limit is not None and self.tokens > limits.token_limit:
            over.append(f"{self.tokens - limits.token_limit:,} tokens")
        if limits.cost_limit is not None and self.cost > limits.cost_limit:
            over.append(f"${self.cost - limits.cost_limit:.4f}")
        return " and ".join(over)

    def count(self, usage: Usage, spent: float) -> None:
        """Count usage that was not reserved (of an earlier session)."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost += spent


def refuse_unpriced(limits: Limits, names: Mapping[str, ModelName]) -> None:
    """Refuse a cost limit where the price of a model is unknown.

    Raises:
        UsageError: A model has none.
    """
    if limits.cost_limit is None:
        return
    unpriced = sorted(name.text for name in names.values() if price(name) is None)
    if unpriced:
        raise UsageError(
            f"--cost-limit: no price for {', '.join(unpriced)} in the table of {price_date()}; give your own "
            "in a TOML file named by $LOTBENCH_PRICES"
        )


def refuse_tier(limits: Limits, names: Iterable[ModelName]) -> None:
    """Refuse the service tier `flex` for whoever does not have it.

    Raises:
        UsageError: A model is asked at an endpoint that is not OpenAI's.
    """
    others = sorted(
        {
            name.text
            for name in names
            if name.kind == "langchain" or (name.kind == "api" and name.provider != "openai")
        }
    )
    if limits.service_tier == "flex" and others:
        raise UsageError(
            f"service_tier=flex is OpenAI's, and {', '.join(others)} is asked elsewhere: leave it out, or name models of OpenAI alone"
        )


class Bucket:
    """A rate: so many units a minute, as a token bucket that begins with ten seconds' worth."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = per_minute / 60 if per_minute else None
        self._clock = clock
        self._level = max(1.0, self.rate * 10) if self.rate else 0.0
        self._at = clock()

    async def take(self, amount: float) -> None:
        """Wait until the units are there; a call larger than the bucket waits until its debt is paid."""
        if self.rate is not None and (wait := self.taken(amount)):
            await asyncio.sleep(wait)

    def taken(self, amount: float) -> float:
        """Take the units now; returns the seconds after which they are there."""
        assert self.rate is not None
        now = self._clock()
        full = max(1.0, self.rate * 10)
        self._level = min(full, self._level + (now - self._at) * self.rate) - amount
        self._at = now
        return max(0.0, -self._level / self.rate)
