"""One session of a run, from the first task that is not done to the report: where graph, edge and loop meet."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from lotbench.edge.calls.caller import Caller, CallStats
from lotbench.edge.models.registry import Models
from lotbench.errors import LimitReached, LotbenchError
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode, Call
from lotbench.harness.loop import Course, Graph, Loop, Planned
from lotbench.run import results
from lotbench.run.calling import Calls
from lotbench.run.loading import Run
from lotbench.run.plan import Plan
from lotbench.types import Answer, Question, Trace

T = TypeVar("T")

YOUNG, OLDER = 50_000, 20
"""The garbage collector's thresholds while walks are taken: at Python's own it took a fifth of a call's CPU."""


@dataclass(slots=True)
class Latest:
    """The question that was put last, and the episode that put it; None before the first."""

    walk: AnyEpisode | None = None
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """A run while it goes on; what a progress display looks at."""

    plan: Plan
    path: Path
    total: int
    stats: CallStats
    loop: Loop
    models: Models
    traces: Mapping[tuple[str, int], Trace]
    """The finished walks, without their steps."""
    damaged: Sequence[int] = ()
    """Lines of the journal that could not be read: their calls are made again."""
    latest: Latest = field(default_factory=Latest)


Watch: TypeAlias = Callable[[Status], Awaitable[None]]


class Session:
    """One session of a run.

    Args:
        plan: What the run does.
        calls: What it asks with, and its folder.
        run: The run so far.
        shard: Whether this session takes a share of the run: the report is of the whole.
        callbacks: LangChain's callback handlers of every episode.
        only: The samples that this session takes; None for all. A later session takes the others.
    """

    def __init__(
        self,
        plan: Plan,
        calls: Calls,
        run: Run,
        *,
        shard: bool = False,
        callbacks: Sequence[Any] = (),
        only: Collection[str] | None = None,
    ) -> None:
        self._callbacks = callbacks
        self._only = only
        self._plan = plan
        self._calls = calls
        self._folder = calls.folder
        self._run = run
        self._shard = shard
        self._done: dict[tuple[str, int], Trace] = {}
        self._latest = Latest()
        self._wall_s = run.summary.get("wall_s", 0.0)
        self._started = time.monotonic()

    def continues(self, before: Iterable[Trace], *, retry_failed: bool, taken: Sequence[Trace] = ()) -> None:
        """Take over what earlier sessions came to.

        Args:
            before: The finished walks.
            retry_failed: Walk again where replies came and could not be read, too, and ask for them anew;
                walks whose last call never arrived are always walked again.
            taken: Walks that are done whatever they came to: those of a process that died in this session.
        """
        again = {(trace.sample, trace.repeat): _ended(trace) for trace in taken}
        for trace in before:
            if (trace.sample, trace.repeat) in again:
                continue
            if trace.outcome.endswith("_failed") and (retry_failed or not trace.arrived):
                for call in (
                    _unread(trace, game=self._plan.benchmark.graph == "game") if trace.arrived else ()
                ):
                    self._calls.caller.journal.retry(call)
            else:
                self._done[trace.sample, trace.repeat] = _ended(trace)
        self._done |= again
        if not self._shard:
            self._folder.order(list(self._done))

    async def play(self, *, check: bool, watch: Watch | None) -> Run:
        """Take every walk that is not done, and write the report, whatever ends the session.

        Raises:
            LotbenchError: What stopped the run; its `run` is the folder.
        """
        await self.walk(check=check, watch=watch)
        return self._run

    async def walk(self, *, check: bool, watch: Watch | None) -> None:
        """Do what `play` does; of a share, without the report, which is of the whole run.

        Raises:
            LotbenchError: What stopped the run; its `run` is the folder.
        """
        caller = self._calls.caller
        walks = self._loop(_noting(self._calls.caller, self._latest))
        try:
            async with watched(watch, self._status(walks)):
                if check:
                    await self._calls.check()
                lanes = self._plan.lanes()
                wanted = (
                    lanes if self._only is None else [one for one in lanes if one[0].sample in self._only]
                )
                await self._take(walks, wanted)
        except LotbenchError as error:
            error.run = self._folder.path
            if isinstance(error, LimitReached) and caller.budget.overspent:
                # The calls that were in flight have ended by now.
                error.args = (f"{error}; overspent by {caller.budget.overspent}",)
            raise
        except asyncio.CancelledError as error:
            # Whoever cancelled (Ctrl-C) is told where to go on.
            error.args = (str(self._folder.path),)
            raise
        finally:
            # What is in flight is given up before the report counts what was used.
            await caller.close()
            if not self._shard:
                self.finish()
        if walks.crashed:
            raise _crash(walks, self._folder.path)

    def _loop(self, ask: Call) -> Loop:
        plan = replace(self._plan, limits=self._calls.limits)
        return loop(plan, ask, self._done, callbacks=self._callbacks)

    async def _take(self, walks: Loop, lanes: Sequence[Sequence[Planned]]) -> None:
        with rarely_collected():
            async with aclosing(walks.traces(lanes)) as traces:
                async for trace in traces:
                    self._folder.append(trace)
                    self._done[trace.sample, trace.repeat] = _ended(trace)

    def _status(self, walks: Loop) -> Status:
        total, caller = sum(map(len, self._plan.lanes())), self._calls.caller
        return Status(
            plan=self._plan,
            path=self._folder.path,
            total=total,
            stats=caller.stats,
            loop=walks,
            models=self._calls.models,
            traces=self._done,
            damaged=caller.journal.damaged,
            latest=self._latest,
        )

    def finish(self) -> None:
        """Put the traces in data order and write the report, also of a run that was stopped."""
        order = [(p.sample, p.repeat) for lane in self._plan.lanes() for p in lane]
        # Games that were stepped from outside may have seeds that no plan knows.
        planned = set(order)
        order += [name for name in self._done if name not in planned]
        wall_s = self._wall_s + time.monotonic() - self._started
        run = replace(self._run, traces=self._folder.order(order))
        totals = self._calls.caller.journal.totals
        self._run = results.write(run, self._plan, self._folder, wall_s, totals, embed=True)[0]


def _noting(caller: Caller, latest: Latest) -> Call:
    """Asks through a caller, and notes what was asked last.

    No method of a session, so that an episode that somebody still holds does not keep the run's files open.
    """

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        latest.walk, latest.question = episode, question
        return await caller.ask(episode, question)

    return ask


_collecting: list[tuple[int, int, int]] = []
"""The thresholds that each open `rarely_collected` found."""
_collecting_lock = threading.Lock()


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Collect garbage seldom, and look at nothing that is there by now: modules, samples and clients stay.

    The last of several sessions of a process to end puts back what the first one found.
    """
    with _collecting_lock:
        _collecting.append(found := gc.get_threshold())
        if len(_collecting) == 1 and found[0]:
            gc.freeze()
            gc.set_threshold(max(found[0], YOUNG), OLDER, OLDER)
    try:
        yield
    finally:
        with _collecting_lock:
            first = _collecting[0]
            _collecting.pop()
            if not _collecting:
                gc.set_threshold(*first)
                gc.unfreeze()


def _ended(trace: Trace) -> Trace:
    """What a session remembers of a finished walk; its steps are on disk."""
    return replace(trace, steps=())


def loop(
    plan: Plan,
    ask: Call,
    done: Mapping[tuple[str, int], Trace] | None = None,
    *,
    callbacks: Sequence[Any] = (),
) -> Loop:
    """The loop of a plan's walks, those that are done left out."""
    lanes = plan.lanes()
    return Loop(
        course=course(plan, ask, callbacks),
        done=dict(done or {}),
        concurrency=min(len(lanes), plan.limits.concurrency),
        max_failed=int(plan.limits.max_failed * sum(map(len, lanes))),
    )


def course(plan: Plan, ask: Call, callbacks: Sequence[Any] = ()) -> Course:
    """How the episodes of a plan are played."""
    benchmark = plan.benchmark
    return Course(
        graph=graph(benchmark),
        episode=lambda sample, repeat: plan.episode(sample, repeat, ask),
        grade=benchmark.grade,
        supersteps=benchmark.supersteps(plan.settings),
        config={"metadata": {"benchmark": benchmark.name}, "callbacks": list(callbacks)},
    )


def graph(benchmark: Benchmark) -> Graph:
    """The compiled graph of a benchmark."""
    made: Graph = import_module(f"graphs.{benchmark.graph}").build(benchmark.nodes)
    return made


def _crash(walks: Loop, path: Path) -> LotbenchError:
    planned, error = next(iter(walks.crashed.items()))
    where = f"sample {planned.sample}, repeat {planned.repeat}"
    made = LotbenchError(
        f"{len(walks.crashed)} tasks crashed, first {where}: {type(error).__name__}: {error}"
    )
    made.run = path
    made.__cause__ = error
    return made


def _unread(trace: Trace, *, game: bool) -> list[str]:
    """The calls of whoever failed in a walk for what was not read in the end, asked again or not; of a game, in its last round.

    What could be read the second time stands, and so does what another judge was asked in its place in earlier rounds.
    """
    role, last = trace.outcome.removesuffix("_failed"), [step["round"] for step in trace.steps[-1:]]
    places: dict[object, list[str]] = {}
    for step in trace.steps:
        value: Any = step["value"]
        if step["call"] and step["role"] == role and (not game or step["round"] in last):
            place = step["step"], step["round"], step["draw"], value.get("judge")
            if value.get("status", "ok") == "ok":
                places.pop(place, None)
            else:
                places.setdefault(place, []).append(str(step["call"]))
    return [call for calls in places.values() for call in calls]


@asynccontextmanager
async def watched(watch: Callable[[T], Awaitable[None]] | None, status: T) -> AsyncIterator[None]:
    """Run a progress display beside the work, and let it say its last word."""
    watching = asyncio.ensure_future(watch(status)) if watch else None
    try:
        yield
    finally:
        if watching:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
