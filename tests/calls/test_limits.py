"""Budgets and rates: nothing is spent that was not set aside, and nothing goes faster than allowed."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lotbench.calls import budget as limits
from lotbench.calls.budget import Bucket, Budget, refuse_unpriced
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import LimitReached, UsageError
from lotbench.types import Usage


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=30))
def test_the_overspend_is_at_most_the_calls_that_cost_more_than_thought(calls: list[tuple[int, int]]) -> None:
    budget, excess = Budget(Limits(token_limit=200)), 0
    for thought, really in calls:
        try:
            asyncio.run(budget.reserve(thought, 0.0))
        except LimitReached:
            continue
        budget.settle(thought, 0.0, Usage(output_tokens=really), 0.0)
        excess += max(0, really - thought)
        assert budget.tokens <= 200 + excess
    assert budget._held_tokens == 0


async def test_an_idle_bucket_fills_up_and_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waits = [1000.0], []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(limits.asyncio, "sleep", sleep)
    bucket = Bucket(60, lambda: now[0])
    now[0] += 3600
    for _ in range(11):
        await bucket.take(1, Budget(Limits()).patience)
    assert len(waits) == 1


async def test_a_wait_for_a_rate_ends_with_the_time_limit() -> None:
    bucket, budget = Bucket(1.0), Budget(Limits(time_limit=0.01))
    async with asyncio.timeout(5):
        await bucket.take(1e9, budget.patience)
    with pytest.raises(LimitReached):
        budget.refuse_late()


def names(*given: str) -> dict[str, Any]:
    return {name: (parse(name),) for name in given}


def test_a_cost_limit_refuses_models_without_a_price() -> None:
    with pytest.raises(
        UsageError, match=r"--cost-limit: no price for gpt-98, gpt-99 in the table of genai-prices "
    ):
        refuse_unpriced(Limits(cost_limit=1), names("gpt-99", "gpt-4o", "gpt-98"))
    refuse_unpriced(Limits(cost_limit=1), names("gpt-4o", "local"))
    refuse_unpriced(Limits(), names("gpt-99"))
