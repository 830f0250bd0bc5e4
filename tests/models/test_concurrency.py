"""The places of an endpoint: fewer after a sign of crowding, won back by replies, and nobody left waiting."""

import asyncio

import pytest

from lotbench.models.concurrency import Pace


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


async def test_a_place_that_is_lost_is_taken_by_nobody_until_the_endpoint_keeps_up() -> None:
    pace = Pace(5)
    tasks, over = await held(pace, 5)
    pace.crowded()
    over.set()
    await asyncio.gather(*tasks)
    assert pace.in_flight == 0
    tasks, over = await held(pace, 8)
    assert pace.in_flight == 4
    pace.kept_up()
    pace.kept_up()
    await settle()
    assert pace.in_flight == 5
    over.set()
    await asyncio.gather(*tasks)


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
    pace.kept_up()
    assert 8 < pace.places < 9
    for _ in range(20):
        pace.kept_up()
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


async def test_calls_that_hold_a_place_and_calls_that_wait_are_given_up_together() -> None:
    """An episode took the ValueError of its waiting call for a bug, and its worker went on with the next one."""
    pace = Pace(1)
    tasks, _ = await held(pace, 4)
    for task in tasks:
        task.cancel()
    came = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in came] == [asyncio.CancelledError] * 4
    assert pace.in_flight == 0
