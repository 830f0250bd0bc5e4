"""Budgets of money, tokens and time for a run, and the request and token rates of each endpoint.

The largest possible use of a call is reserved before the call and settled with its real use afterwards, so a run overspends
only if a server writes more tokens than it was asked for. All roles and all earlier sessions of the run count.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from lotbench.calls.prices import price, price_source
from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName
from lotbench.errors import LimitReached, UsageError
from lotbench.types import Usage

GRACE_S = 1.0
"""Seconds after the time limit in which calls in flight may still end; then they are cancelled."""
discarded: ContextVar[Callable[[Usage | None], None]] = ContextVar("discarded", default=lambda usage: None)
"""Called by models with the token counts (None: unknown) of a reply that was billed and cannot be used. It counts them, and
raises LimitReached if another try could exceed a limit."""
UNSENT = "the call was not under way at the server"
"""The note of a cancellation in `unsent`."""


@dataclass(slots=True)
class Budget:
    """The money, tokens and time that a run has used, with its limits.

    Attributes:
        clock: Returns the time in seconds.
        cost: US dollars of finished calls.
        tokens: Input and output tokens of finished calls.
        started: The time at which this session began.
    """

    limits: Limits
    clock: Callable[[], float] = time.monotonic
    cost: float = 0.0
    tokens: int = 0
    started: float = field(default=0.0)
    _held_cost: float = 0.0
    _held_tokens: int = 0
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and replaced by a new one, when a call is settled."""

    def __post_init__(self) -> None:
        self.started = self.clock()

    async def reserve(self, tokens: int, cost: float) -> None:
        """Reserve the tokens and the cost (US dollars) that a call uses at most; wait while calls in flight hold what it needs.

        Raises:
            LimitReached: The call could exceed a limit.
        """
        while True:
            self.refuse_late()
            try:
                self.refuse_beyond(tokens, cost)
            except LimitReached:
                if not self._held_tokens:
                    raise
                await self._settled.wait()
            else:
                break
        self._held_tokens += tokens
        self._held_cost += cost

    def refuse_beyond(self, tokens: int = 0, cost: float = 0.0) -> None:
        """Raise if so many more tokens and US dollars could exceed a limit.

        Raises:
            LimitReached: They could.
        """
        limits = self.limits
        if limits.token_limit is not None and self.tokens + self._held_tokens + tokens > limits.token_limit:
            more = f", and the next call may take {tokens:,}" if tokens else ""
            raise LimitReached(
                f"the token limit of {limits.token_limit:,} is used up ({self.tokens:,} used{more})"
            )
        if limits.cost_limit is not None and self.cost + self._held_cost + cost > limits.cost_limit:
            more = f", and the next call may cost ${cost:.4f}" if cost else ""
            raise LimitReached(
                f"the cost limit of ${limits.cost_limit:g} is used up (${self.cost:.4f} used{more})"
            )

    @property
    def limited(self) -> bool:
        """Whether the cost or the tokens have a limit."""
        return self.limits.cost_limit is not None or self.limits.token_limit is not None

    def refuse_late(self) -> None:
        """Raise if the time limit has passed. A call checks this again after it has waited for a rate limit.

        Raises:
            LimitReached: The time is used up.
        """
        limit = self.limits.time_limit
        if limit is not None and self.left <= 0:
            raise LimitReached(f"the time limit of {limit:g} s is used up")

    @property
    def left(self) -> float:
        """The seconds until the time limit; infinite without one."""
        limit = self.limits.time_limit
        return math.inf if limit is None else self.started + limit - self.clock()

    @asynccontextmanager
    async def ending(self) -> AsyncIterator[None]:
        """Cancel the block `GRACE_S` seconds after the time limit, with the calls in flight in it.

        Raises:
            LimitReached: The time is used up.
        """
        try:
            async with asyncio.timeout(self.left + GRACE_S):
                yield
        except TimeoutError:
            self.refuse_late()
            raise

    def patience(self, seconds: float) -> float:
        """Return a wait, cut so that it ends just after the time limit."""
        return min(seconds, max(0.0, self.left) + 0.01)

    def settle(self, tokens: int, cost: float, usage: Usage, spent: float) -> None:
        """Release the reserved `tokens` and `cost`, and count what the call used: its `usage`, and `spent` US dollars."""
        self._held_tokens -= tokens
        self._held_cost -= cost
        self.count(usage, spent)
        self._settled.set()
        self._settled = asyncio.Event()

    @property
    def overspent(self) -> str:
        """How much was spent beyond the limits, as text; empty if nothing was."""
        limits, over = self.limits, []
        if limits.token_limit is not None and self.tokens > limits.token_limit:
            over.append(f"{self.tokens - limits.token_limit:,} tokens")
        if limits.cost_limit is not None and self.cost > limits.cost_limit:
            over.append(f"${self.cost - limits.cost_limit:.4f}")
        return " and ".join(over)

    def count(self, usage: Usage, spent: float) -> None:
        """Count token usage, and `spent` US dollars, that were not reserved (those of an earlier session)."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost += spent


spending: ContextVar[Budget] = ContextVar("spending", default=Budget(Limits()))  # noqa: B039 - never counted in
"""The budget of the call; one without limits outside a run. Models check its time limit before they send."""


def refuse_unpriced(
    limits: Limits, names: Mapping[str, Iterable[ModelName]], *, objects: bool = False
) -> None:
    """Raise if a cost limit is set and the price of a model is unknown; Python objects need one only with `objects`.

    Raises:
        UsageError: A model has no known price.
    """
    if limits.cost_limit is None:
        return
    every = (name for panel in names.values() for name in panel if objects or name.kind != "python")
    unpriced = {name.text for name in every if price(name) is None}
    if unpriced:
        raise UsageError(
            f"--cost-limit: no price for {', '.join(sorted(unpriced))} in the table of {price_source()}; give your own "
            "in a TOML file named by $LOTBENCH_PRICES"
        )


def refuse_tier(limits: Limits, names: Iterable[ModelName]) -> None:
    """Raise if the limits ask for the service tier `flex` and a model is not at OpenAI's endpoint.

    Raises:
        UsageError: A model has no such tier; the message names it.
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


@contextmanager
def unsent() -> Iterator[None]:
    """Mark a cancellation in the block, in which a call waits and is not at a server: nothing of it can be billed."""
    try:
        yield
    except asyncio.CancelledError as error:
        error.add_note(UNSENT)
        raise


class Bucket:
    """A rate limit in units a minute (requests or tokens), as a token bucket; no limit if `per_minute` is None.

    It starts full and holds what ten seconds allow, but at least one unit.
    """

    def __init__(self, per_minute: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = per_minute / 60 if per_minute else None
        self._clock = clock
        self._level = max(1.0, self.rate * 10) if self.rate else 0.0
        self._at = clock()

    async def take(self, amount: float, patience: Callable[[float], float]) -> None:
        """Take this many units and wait until the bucket has refilled, but no longer than `patience` allows.

        An amount above its capacity waits longer.
        """
        self.debit(amount)
        if self.rate is not None and self._level < 0:
            await asyncio.sleep(patience(-self._level / self.rate))

    def debit(self, amount: float) -> None:
        """Take this many units without a wait; the next `take` waits for them."""
        if self.rate is None:
            return
        now, full = self._clock(), max(1.0, self.rate * 10)
        self._level = min(full, self._level + (now - self._at) * self.rate) - amount
        self._at = now
