"""Budgets and rates: nothing is spent that was not set aside, and nothing goes faster than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.edge.calls import budget as limits
from lotbench.edge.calls.budget import Bucket, Budget, refuse_unpriced
from lotbench.errors import LimitReached, UsageError
from lotbench.types import Usage


class Clock:
    """A clock that only moves when it is told to, and the sleep that moves it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def refused(about: str) -> Iterator[None]:
    with pytest.raises(LimitReached, match=about) as caught:
        yield
    assert caught.value.exit_code == 3


def test_without_limits_nothing_is_refused() -> None:
    budget = Budget(Limits())
    for _ in range(3):
        budget.reserve(10**9, 10**6)


def test_tokens_set_aside_count_until_they_are_settled() -> None:
    budget = Budget(Limits(token_limit=100))
    budget.reserve(60, 0.0)
    with refused("token limit of 100"):
        budget.reserve(60, 0.0)
    budget.reserve(40, 0.0)

    budget.settle(60, 0.0, Usage(input_tokens=10, output_tokens=5), 0.0)

    assert budget.tokens == 15
    budget.reserve(45, 0.0)
    with refused("15 used"):
        budget.reserve(1, 0.0)


def test_money_set_aside_counts_until_it_is_settled() -> None:
    budget = Budget(Limits(cost_limit=1.0))
    budget.reserve(0, 0.6)
    with refused(r"cost limit of \$1"):
        budget.reserve(0, 0.6)
    budget.settle(0, 0.6, Usage(), 0.25)
    budget.reserve(0, 0.6)
    assert budget.cost == 0.25


def test_a_call_that_brought_nothing_gives_everything_back() -> None:
    budget = Budget(Limits(token_limit=10, cost_limit=1.0))
    for _ in range(5):
        budget.reserve(10, 1.0)
        budget.settle(10, 1.0, Usage(), 0.0)
    assert (budget.tokens, budget.cost) == (0, 0.0)


def test_what_earlier_sessions_used_counts() -> None:
    budget = Budget(Limits(token_limit=100, cost_limit=1.0))
    budget.count(Usage(90, 50, 5), 0.9)

    with refused("token limit"):
        budget.reserve(6, 0.0)
    with refused("cost limit"):
        budget.reserve(0, 0.2)


def test_a_limit_of_nothing_refuses_the_first_call() -> None:
    with refused("token limit"):
        Budget(Limits(token_limit=0)).reserve(1, 0.0)


def test_time_counts_from_the_beginning_of_the_session(clock: Clock) -> None:
    budget = Budget(Limits(time_limit=60), clock)
    clock.now += 59.9
    budget.reserve(1, 0.0)
    clock.now += 0.1
    with refused("time limit of 60 s"):
        budget.reserve(1, 0.0)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=30))
def test_the_overspend_is_never_more_than_the_calls_that_cost_more_than_thought(
    calls: list[tuple[int, int]],
) -> None:
    budget, excess = Budget(Limits(token_limit=200)), 0
    for thought, really in calls:
        try:
            budget.reserve(thought, 0.0)
        except LimitReached:
            continue
        budget.settle(thought, 0.0, Usage(output_tokens=really), 0.0)
        excess += max(0, really - thought)
        assert budget.tokens <= 200 + excess
    assert budget._held_tokens == 0


def rate_of(clock: Clock, monkeypatch: pytest.MonkeyPatch, per_minute: float) -> Bucket:
    monkeypatch.setattr(limits.asyncio, "sleep", clock.sleep)
    return Bucket(per_minute, clock)


def spend(bucket: Bucket, *amounts: float) -> None:
    async def go() -> None:
        for amount in amounts:
            await bucket.take(amount)

    asyncio.run(go())


def test_a_bucket_starts_with_ten_seconds_worth(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = rate_of(clock, monkeypatch, 60)

    spend(bucket, *[1] * 10)
    assert clock.waits == []
    spend(bucket, 1, 1)
    assert clock.waits == [pytest.approx(1.0), pytest.approx(1.0)]


def test_in_any_minute_after_the_first_the_rate_holds(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = rate_of(clock, monkeypatch, 30)
    started = clock.now
    spend(bucket, *[1] * 105)
    assert clock.now - started == pytest.approx((105 - 5) * 2)


def test_an_idle_bucket_fills_up_and_no_further(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = rate_of(clock, monkeypatch, 60)
    clock.now += 3600
    spend(bucket, *[1] * 11)
    assert len(clock.waits) == 1


def test_a_call_larger_than_the_bucket_pays_its_debt(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = rate_of(clock, monkeypatch, 6000)
    spend(bucket, 5000)
    assert clock.waits == [pytest.approx(40.0)]
    spend(bucket, 100)
    assert clock.waits[1:] == [pytest.approx(1.0)]


def test_a_rate_below_one_in_ten_seconds_still_lets_one_through(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket = rate_of(clock, monkeypatch, 1)
    spend(bucket, 1, 1)
    assert clock.waits == [pytest.approx(60.0)]


def test_those_who_wait_side_by_side_are_let_through_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(limits.asyncio, "sleep", sleep)
    bucket = Bucket(60, lambda: 0.0)

    async def go() -> None:
        await asyncio.gather(*(bucket.take(1) for _ in range(13)))

    asyncio.run(go())
    assert waits == [pytest.approx(1.0), pytest.approx(2.0), pytest.approx(3.0)]


def test_without_a_rate_nobody_waits(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits.asyncio, "sleep", clock.sleep)
    spend(Bucket(None, clock), *[10**6] * 3)
    assert clock.waits == []


def names(*given: str) -> dict[str, Any]:
    return {name: parse(name) for name in given}


def test_a_cost_limit_refuses_models_without_a_price() -> None:
    with pytest.raises(UsageError, match=r"--cost-limit: no price for gpt-98, gpt-99 in the table of 20"):
        refuse_unpriced(Limits(cost_limit=1), names("gpt-99", "gpt-4o", "gpt-98"))
    refuse_unpriced(Limits(cost_limit=1), names("gpt-4o", "local"))
    refuse_unpriced(Limits(), names("gpt-99"))
