"""The loop: sequences in order and side by side, failures as data, and what stops a run."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from lotbench.harness.episode import AnyEpisode
from lotbench.harness.loop import Course, Loop, Planned
from lotbench.harness.state import State
from lotbench.types import Score, Trace

Playing = Callable[[State], Mapping[str, Any]]


@dataclass
class Path:
    """A graph of one step that does as it is told and remembers who played it."""

    step: Playing = lambda state: {"outcome": "solved"}
    played: list[tuple[str, int, Any]] = field(default_factory=list)
    open: int = 0
    peak: int = 0
    limits: set[Any] = field(default_factory=set)

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        self.played.append((input["sample"], input["repeat"], input["memory"]))
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


def sequence(name: str, repeats: int = 1) -> list[Planned]:
    return [Planned(name, repeat, name) for repeat in range(1, repeats + 1)]


def ended(sample: str, repeat: int, outcome: str = "solved", memory: Any = None) -> Trace:
    return Trace(sample, repeat, sample, outcome, Score(1.0), (), memory, {})


async def run_episodes(one: Loop, *sequences: list[Planned]) -> list[tuple[str, int]]:
    return [(trace.sample, trace.repeat) async for trace in one.traces(sequences)]


async def test_episodes_of_a_sequence_follow_each_other_and_hand_their_memory_on() -> None:
    graph = Path(lambda state: {"outcome": "scored", "memory": [*(state["memory"] or []), state["repeat"]]})
    await run_episodes(loop(graph), sequence("a", 3), sequence("b", 2))
    assert [memory for sample, _, memory in graph.played if sample == "a"] == [None, [1], [1, 2]]
    assert [memory for sample, _, memory in graph.played if sample == "b"] == [None, [1]]


async def test_what_is_done_is_not_played_again_and_its_memory_goes_on() -> None:
    graph = Path()
    played = await run_episodes(loop(graph, done=[ended("a", 1, memory="kept")]), sequence("a", 2))
    assert played == [("a", 2)]
    assert graph.played == [("a", 2, "kept")]
