"""The places of an endpoint: fewer after a sign of crowding, won back by replies, and nobody left waiting."""

from __future__ import annotations

import asyncio

import pytest

from lotbench.edge.models.concurrency import Pace


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def held(pace: Pace, calls: int) -> tuple[list[asyncio.Task[None]], asyncio.Event]:
    """Calls that hold a place, or wait for one, until the event is set."""
    over = asyncio.Event()

    async def call() -> None:
        async with pace.place():
            await over.wait()

    tasks = [asyncio.create_task(call()) for _ in range(calls)]
    await settle()
    return tasks, over


async def test_no_more_calls_are_in_flight_than_there_are_places() -> None:
    pace = Pace(3)
    tasks, over = await held(pace, 8)
    assert pace.in_flight == 3
    over.set()
    await asyncio.gather(*tasks)
    assert pace.in_flight == 0


async def test_a_burst_of_refusals_counts_once_and_not_below_one_place() -> None:
    pace = Pace(10)
    tasks, over = await held(pace, 10)
    for _ in range(10):
        pace.crowded()
    assert pace.places == 8
    for _ in range(1000):
        pace.crowded()
    assert pace.places == 1
    over.set()
    await asyncio.gather(*tasks)


def test_places_are_won_back_by_replies() -> None:
    pace = Pace(10)
    pace.crowded()
    assert pace.places == 8
    pace.kept_up(0.1)
    assert 8 < pace.places < 9
    for _ in range(20):
        pace.kept_up(0.1)
    assert pace.places == 10


def test_replies_that_take_many_times_as_long_are_a_sign_too() -> None:
    pace = Pace(10)
    for _ in range(10):
        pace.kept_up(0.5)
    for _ in range(30):
        pace.kept_up(8.0)
    assert pace.places < 8


def test_a_model_that_was_slow_from_the_first_is_not_crowded() -> None:
    pace = Pace(10)
    for _ in range(50):
        pace.kept_up(30.0)
    assert pace.places == 10


async def test_who_gives_up_waiting_takes_no_place_along() -> None:
    pace = Pace(1)
    tasks, over = await held(pace, 3)
    tasks[1].cancel()
    await settle()
    # Cancelled just as its turn comes.
    over.set()
    await asyncio.gather(tasks[0], tasks[2])
    with pytest.raises(asyncio.CancelledError):
        await tasks[1]
    assert pace.in_flight == 0
    async with pace.place():
        assert pace.in_flight == 1


async def test_a_place_that_was_given_to_one_who_leaves_goes_to_the_next() -> None:
    pace = Pace(1)
    first, over = await held(pace, 1)
    others, later = await held(pace, 2)
    over.set()
    await asyncio.sleep(0)
    others[0].cancel()
    later.set()
    await asyncio.gather(*first, others[1])
    assert pace.in_flight == 0


async def test_calls_that_hold_a_place_and_calls_that_wait_are_given_up_together() -> None:
    """A walk took the ValueError of its waiting call for a bug, and its worker went on with the next one."""
    pace = Pace(1)
    tasks, _ = await held(pace, 4)
    for task in tasks:
        task.cancel()
    came = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in came] == [asyncio.CancelledError] * 4
    assert pace.in_flight == 0 and not pace._waiting
