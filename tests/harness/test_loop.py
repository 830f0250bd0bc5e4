"""The loop: lanes in order and side by side, failures as data, and what stops a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lotbench.errors import LimitReached, LotbenchError, TooManyFailures, Unescapable
from lotbench.harness.episode import AnyEpisode
from lotbench.harness.loop import Course, Loop, Planned
from lotbench.harness.state import State
from lotbench.types import Score, Trace

Walking = Callable[[State], Mapping[str, Any]]


@dataclass
class Path:
    """A graph of one step that does as it is told and remembers who walked it."""

    step: Walking = lambda state: {"outcome": "solved"}
    walked: list[tuple[str, int, Any]] = field(default_factory=list)
    open: int = 0
    peak: int = 0
    limits: set[Any] = field(default_factory=set)

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        self.walked.append((input["sample"], input["repeat"], input["memory"]))
        self.limits.add(config["recursion_limit"])
        self.open += 1
        self.peak = max(self.peak, self.open)
        await asyncio.sleep(0.001)
        self.open -= 1
        return {**input, **self.step(input)}


def loop(graph: Path, *, done: Sequence[Trace] = (), concurrency: int = 4, max_failed: int = 99) -> Loop:
    episode = cast(AnyEpisode, SimpleNamespace(at=lambda state: state))
    course = Course(graph, lambda sample, repeat: episode, lambda ended: Score(1.0), 80)
    earlier = {(trace.sample, trace.repeat): trace for trace in done}
    return Loop(course, earlier, concurrency, max_failed)


def lane(name: str, repeats: int = 1) -> list[Planned]:
    return [Planned(name, repeat, name) for repeat in range(1, repeats + 1)]


def ended(sample: str, repeat: int, outcome: str = "solved", memory: Any = None) -> Trace:
    return Trace(sample, repeat, sample, outcome, Score(1.0), (), memory, {})


async def walk(one: Loop, *lanes: list[Planned]) -> list[tuple[str, int]]:
    return [(trace.sample, trace.repeat) async for trace in one.traces(lanes)]


async def test_every_walk_of_every_lane_is_a_trace() -> None:
    graph = Path()
    walked = await walk(loop(graph), lane("a", 3), lane("b", 2), lane("c"))
    assert sorted(walked) == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)]
    assert graph.limits == {80}


async def test_walks_of_a_lane_follow_each_other_and_hand_their_memory_on() -> None:
    graph = Path(lambda state: {"outcome": "scored", "memory": [*(state["memory"] or []), state["repeat"]]})
    await walk(loop(graph), lane("a", 3), lane("b", 2))
    assert [memory for sample, _, memory in graph.walked if sample == "a"] == [None, [1], [1, 2]]
    assert [memory for sample, _, memory in graph.walked if sample == "b"] == [None, [1]]


@pytest.mark.parametrize(("concurrency", "peak"), [(1, 1), (3, 3), (9, 5)])
async def test_as_many_lanes_as_allowed_go_side_by_side(concurrency: int, peak: int) -> None:
    graph = Path()
    await walk(loop(graph, concurrency=concurrency), *(lane(name, 2) for name in "abcde"))
    assert graph.peak == peak


async def test_the_loop_says_how_many_walks_are_in_flight() -> None:
    seen: list[int] = []
    one = loop(Path(lambda state: (seen.append(one.in_flight), {"outcome": "solved"})[1]), concurrency=2)
    await walk(one, *(lane(name) for name in "abcd"))
    assert (max(seen), one.in_flight) == (2, 0)


async def test_what_is_done_is_not_walked_again_and_its_memory_goes_on() -> None:
    graph = Path()
    walked = await walk(loop(graph, done=[ended("a", 1, memory="kept")]), lane("a", 2))
    assert walked == [("a", 2)]
    assert graph.walked == [("a", 2, "kept")]


async def test_a_walk_that_failed_is_a_trace_like_any_other() -> None:
    graph = Path(lambda state: {"outcome": "judge_failed", "why": "gone", "arrived": False})
    (trace,) = [trace async for trace in loop(graph).traces([lane("a")])]
    assert (trace.outcome, trace.why, trace.arrived) == ("judge_failed", "gone", False)


async def test_a_bug_in_one_walk_ends_its_lane_and_no_other() -> None:
    def step(state: State) -> Mapping[str, Any]:
        if (state["sample"], state["repeat"]) == ("a", 2):
            raise ZeroDivisionError("bug")
        return {"outcome": "solved"}

    one = loop(Path(step))
    assert sorted(await walk(one, lane("a", 3), lane("b", 2))) == [("a", 1), ("b", 1), ("b", 2)]
    assert [(planned.sample, planned.repeat) for planned in one.crashed] == [("a", 2)]


@pytest.mark.parametrize("error", [Unescapable("key"), LimitReached("cost"), LotbenchError("disk")])
async def test_an_error_that_no_walk_can_escape_stops_the_run(error: LotbenchError) -> None:
    def step(state: State) -> Mapping[str, Any]:
        if state["sample"] == "b":
            raise error
        return {"outcome": "solved"}

    graph, walked = Path(step), []
    with pytest.raises(type(error)) as caught:
        async for trace in loop(graph, concurrency=1).traces([lane("a"), lane("b"), lane("c")]):
            walked.append(trace.sample)
    assert caught.value is error
    assert walked == ["a"]
    assert [sample for sample, _, _ in graph.walked] == ["a", "b"]


def failing(*samples: str) -> Path:
    return Path(lambda state: {"outcome": "oracle_failed" if state["sample"] in samples else "solved"})


async def test_more_failed_walks_than_allowed_stop_the_run() -> None:
    with pytest.raises(TooManyFailures, match="2 tasks failed"):
        await walk(loop(failing(*"ab"), concurrency=1, max_failed=1), *map(lane, "abc"))
    assert len(await walk(loop(failing(*"ab"), concurrency=1, max_failed=2), *map(lane, "abc"))) == 3


async def test_failed_walks_of_earlier_sessions_count() -> None:
    earlier = [ended("a", 1, "judge_failed")]
    lanes = [lane(name) for name in "abc"]
    with pytest.raises(TooManyFailures):
        await walk(loop(failing("b"), done=earlier, concurrency=1, max_failed=1), *lanes)
    assert await walk(loop(failing(), done=earlier, concurrency=1, max_failed=0), *lanes) == [
        ("b", 1),
        ("c", 1),
    ]


async def test_whoever_stops_listening_stops_the_walks() -> None:
    graph = Path()
    traces = loop(graph, concurrency=1).traces([lane(name) for name in "abcdef"])
    async for _ in traces:
        break
    await traces.aclose()  # type: ignore[attr-defined]
    walked = len(graph.walked)
    await asyncio.sleep(0.02)
    assert len(graph.walked) == walked < 6
