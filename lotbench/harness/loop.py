"""The loop, which plays episodes through a graph, several sequences concurrently, and yields each finished trace.

Episodes of one sequence run in order and pass on their memory. A failed episode gives a trace too. An error that would
hit every episode stops the run; a bug in one episode does not stop the others. The loop imports no graph and no model.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, Protocol, TypeAlias

from lotbench.errors import LotbenchError, TooManyFailures
from lotbench.harness.episode import AnyEpisode
from lotbench.harness.state import start
from lotbench.types import JSON, Score, Trace

Sequences: TypeAlias = Literal["each", "shuffled", "data"]
"""How the episodes of a repeat pass on memory: each alone, or all in sequence, in this order."""


class Graph(Protocol):
    """The part of a compiled graph that the loop uses."""

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        """Run the graph and return the last state."""
        ...


@dataclass(frozen=True, slots=True)
class Planned:
    """An episode to play: the id of its sample, its repeat, and the name of its sequence."""

    sample: str
    repeat: int
    sequence: str


def sequence(how: Sequences, sample: str, repeat: int) -> str:
    """Return the name of an episode's sequence: `SAMPLE/REPEAT` if each episode is alone, else `order-REPEAT`."""
    return f"{sample}/{repeat}" if how == "each" else f"order-{repeat}"


def sequences(how: Sequences, samples: Sequence[str], repeats: int, seed: int) -> list[list[Planned]]:
    """Return the episodes of these samples, grouped by sequence in the order of play."""
    groups: dict[str, list[Planned]] = {}
    for sample in samples:
        for repeat in range(1, repeats + 1):
            name = sequence(how, sample, repeat)
            groups.setdefault(name, []).append(Planned(sample, repeat, name))
    if how == "shuffled":
        return [Random(f"{seed}:{name}:order").sample(group, len(group)) for name, group in groups.items()]
    return [*groups.values()]


@dataclass(frozen=True, slots=True)
class Course:
    """How episodes are played.

    Attributes:
        graph: The compiled graph of the benchmark.
        episode: Makes the context of an episode from sample and repeat.
        grade: Scores a finished episode.
        supersteps: The maximum number of nodes that an episode may visit.
        config: LangChain's config for every episode: callbacks, tags, metadata.
    """

    graph: Graph
    episode: Callable[[str, int], AnyEpisode]
    grade: Callable[[AnyEpisode], Score]
    supersteps: int
    config: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Loop:
    """One session of a run.

    Attributes:
        course: How episodes are played.
        done: The traces of earlier sessions, by sample and repeat; these episodes are not played again.
        concurrency: The number of sequences (episodes that follow one another) that are played at the same time.
        max_failed: The number of episodes that may end as ROLE_failed.
        crashed: The errors of episodes that hit a bug; they have no trace, and a resumed run plays them again.
    """

    course: Course
    done: Mapping[tuple[str, int], Trace]
    concurrency: int
    max_failed: int
    crashed: dict[Planned, Exception] = field(default_factory=dict)
    _stop: LotbenchError | None = None
    _failed: int = 0

    async def traces(self, sequences: Iterable[Sequence[Planned]]) -> AsyncGenerator[Trace, None]:
        """Play all sequences and yield each trace when it is finished.

        Failed episodes of earlier sessions count towards `max_failed`.

        Raises:
            LotbenchError: The error that stopped the run, raised after the episodes in flight have ended.
        """
        finished: asyncio.Queue[Trace | None] = asyncio.Queue()
        self._failed = sum(trace.outcome.endswith("_failed") for trace in self.done.values())
        waiting = iter(sequences)
        workers = [
            asyncio.create_task(self._worker(waiting, finished.put_nowait)) for _ in range(self.concurrency)
        ]
        closing = asyncio.gather(*workers, return_exceptions=True)
        closing.add_done_callback(lambda _: finished.put_nowait(None))
        try:
            while (trace := await finished.get()) is not None:
                yield trace
        finally:
            for worker in workers:
                worker.cancel()
            await closing
        if self._stop is not None:
            raise self._stop

    async def _worker(
        self, sequences: Iterator[Sequence[Planned]], finished: Callable[[Trace], None]
    ) -> None:
        for sequence in sequences:
            memory: JSON = None
            for planned in sequence:
                if self._stop is not None:
                    return
                trace = self.done.get((planned.sample, planned.repeat))
                if trace is None:
                    trace = await self._episode(planned, memory)
                    if trace is None:
                        break
                    finished(trace)
                memory = trace.memory

    async def _episode(self, planned: Planned, memory: JSON) -> Trace | None:
        try:
            trace = await play(self.course, planned, memory)
        except LotbenchError as error:
            self._stop = self._stop or error
            return None
        except Exception as error:  # noqa: BLE001 - a bug in one episode must not cost the others
            self.crashed[planned] = error
            return None
        if trace.outcome.endswith("_failed"):
            self._failed += 1
            if self._failed > self.max_failed and isinstance(self._stop, TooManyFailures | None):
                # Episodes in flight may fail too, and the last of them counts all.
                failed = f"{self._failed} task{'s' * (self._failed > 1)} failed"
                rule = f"and max_failed lets {self.max_failed} fail; the last one: {trace.why}"
                self._stop = TooManyFailures(f"{failed}, {rule}")
        return trace


async def play(course: Course, planned: Planned, memory: JSON = None) -> Trace:
    """Play one episode and return its trace.

    Args:
        course: How episodes are played.
        planned: The sample and the repeat.
        memory: The memory of the previous episode in its sequence.

    Raises:
        LotbenchError: An error that would hit every episode, or a limit that is reached.
    """
    episode = course.episode(planned.sample, planned.repeat)
    about = {"sample": planned.sample, "repeat": planned.repeat}
    config = {
        "run_name": f"{planned.sample}/{planned.repeat}",
        **course.config,
        "recursion_limit": course.supersteps,
        "metadata": {**course.config.get("metadata", {}), **about},
    }
    first = start(planned.sample, planned.repeat, memory)
    state = await course.graph.ainvoke(first, config, context=episode)
    return Trace(
        sample=planned.sample,
        repeat=planned.repeat,
        sequence=planned.sequence,
        outcome=str(state["outcome"]),
        score=course.grade(episode.at(state)),
        steps=tuple(state["steps"]),
        memory=state["memory"],
        usage=state["usage"],
        why=state["why"],
        arrived=state["arrived"],
    )
