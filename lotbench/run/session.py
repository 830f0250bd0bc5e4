"""One session of a run, from the first task that is not done to the report: where graph, models and loop meet."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from lotbench.calls.caller import Caller, CallStats
from lotbench.errors import LimitReached, LotbenchError
from lotbench.harness.benchmark import Benchmark
from lotbench.harness.episode import AnyEpisode, Call
from lotbench.harness.loop import Course, Graph, Loop, Planned
from lotbench.models.registry import Models
from lotbench.run import results
from lotbench.run.calling import Calls
from lotbench.run.loading import Run
from lotbench.run.plan import Plan
from lotbench.types import Answer, Question, Trace

T = TypeVar("T")


@dataclass(slots=True)
class Latest:
    """The question that was put last, and the episode that put it; None before the first."""

    episode: AnyEpisode | None = None
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
    """The finished episodes, without their steps."""
    damaged: Sequence[int] = ()
    """Lines of the journal that could not be read: their calls are made again."""
    latest: Latest = field(default_factory=Latest)


Watch: TypeAlias = Callable[[Status], Awaitable[None]]


@dataclass(slots=True)
class Session:
    """One session of a run.

    Attributes:
        calls: What it asks with, its plan and its folder.
        run: The run so far.
        shard: Whether this session takes a share of the run: the report is of the whole.
        callbacks: LangChain's callback handlers of every episode.
        only: The samples that this session takes; None for all. A later session takes the others.
    """

    calls: Calls
    run: Run
    shard: bool = False
    callbacks: Sequence[Any] = ()
    only: Collection[str] | None = None
    _done: dict[tuple[str, int], Trace] = field(default_factory=dict, init=False)
    _latest: Latest = field(default_factory=Latest, init=False)
    _started: float = field(default_factory=time.monotonic, init=False)

    def continues(self, before: Iterable[Trace], *, retry_failed: bool, played: Sequence[Trace] = ()) -> None:
        """Take over what earlier sessions came to.

        Args:
            before: The finished episodes.
            retry_failed: Episode again where replies came and could not be read, too, and ask for them anew;
                episodes whose last call never arrived are always played again.
            played: Episodes that are done whatever they came to: those of a process that died in this session.
        """
        again = {(trace.sample, trace.repeat): _drop_steps(trace) for trace in played}
        for trace in before:
            if (trace.sample, trace.repeat) in again:
                continue
            if trace.outcome.endswith("_failed") and (retry_failed or not trace.arrived):
                game = self.calls.plan.benchmark.graph == "game"
                for call in _unread_calls(trace, game=game) if trace.arrived else ():
                    self.calls.caller.journal.retry(call)
            else:
                self._done[trace.sample, trace.repeat] = _drop_steps(trace)
        self._done |= again
        if not self.shard:
            self.calls.folder.order(list(self._done))

    async def play(self, *, check: bool, watch: Watch | None) -> Run:
        """Take every episode that is not done, and write the report, whatever ends the session; of a share without the report.

        Raises:
            LotbenchError: What stopped the run; its `run` is the folder.
        """
        caller = self.calls.caller
        plan = replace(self.calls.plan, limits=self.calls.limits)
        episodes = loop(plan, _note_questions(caller, self._latest), self._done, callbacks=self.callbacks)
        try:
            async with watched(watch, self._status(episodes)):
                if check:
                    await self.calls.check()
                sequences = plan.sequences()
                if self.only is not None:
                    sequences = [sequence for sequence in sequences if sequence[0].sample in self.only]
                await self._take_traces(episodes, sequences)
        except LotbenchError as error:
            error.run = self.calls.folder.path
            if isinstance(error, LimitReached) and caller.budget.overspent:
                # The calls that were in flight have ended by now.
                error.args = (f"{error}; overspent by {caller.budget.overspent}",)
            raise
        except asyncio.CancelledError as error:
            # Whoever cancelled (Ctrl-C) is told where to go on.
            error.args = (str(self.calls.folder.path),)
            raise
        finally:
            # What is in flight is given up before the report counts what was used.
            await caller.close()
            if not self.shard:
                self.finish()
        if episodes.crashed:
            raise _crash(episodes, self.calls.folder.path)
        return self.run

    async def _take_traces(self, episodes: Loop, sequences: Sequence[Sequence[Planned]]) -> None:
        async with aclosing(episodes.traces(sequences)) as traces:
            async for trace in traces:
                self.calls.folder.append(trace)
                self._done[trace.sample, trace.repeat] = _drop_steps(trace)

    def _status(self, episodes: Loop) -> Status:
        calls, caller = self.calls, self.calls.caller
        total = sum(map(len, calls.plan.sequences()))
        begun = calls.plan, calls.folder.path, total, caller.stats, episodes, calls.models, self._done
        return Status(*begun, damaged=caller.journal.damaged, latest=self._latest)

    def finish(self) -> None:
        """Put the traces in data order and write the report, also of a run that was stopped."""
        order = [(p.sample, p.repeat) for sequence in self.calls.plan.sequences() for p in sequence]
        # Games that were stepped from outside may have seeds that no plan knows.
        planned = set(order)
        order += [name for name in self._done if name not in planned]
        wall_s = self.run.summary.get("wall_s", 0.0) + time.monotonic() - self._started
        run = replace(self.run, traces=self.calls.folder.order(order))
        totals = self.calls.caller.journal.totals
        self.run = results.write(run, self.calls.plan, self.calls.folder, wall_s, totals, embed=True)[0]


def _note_questions(caller: Caller, latest: Latest) -> Call:
    """Ask through a caller, and note what was asked last.

    No method of a session, so that an episode that somebody still holds does not keep the run's files open.
    """

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        latest.episode, latest.question = episode, question
        return await caller.ask(episode, question)

    return ask


def collect_rarely() -> None:
    """Collect garbage seldom in this process from now on, and look at nothing that is there: modules, samples, clients.

    For processes that only play a run: at Python's own thresholds it took a fifth of a call's CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _drop_steps(trace: Trace) -> Trace:
    """Return what a session remembers of a finished episode; its steps are on disk."""
    return replace(trace, steps=())


def loop(
    plan: Plan,
    ask: Call,
    done: Mapping[tuple[str, int], Trace] | None = None,
    *,
    callbacks: Sequence[Any] = (),
) -> Loop:
    """Return the loop of a plan's episodes, those that are done left out."""
    sequences = plan.sequences()
    return Loop(
        course=course(plan, ask, callbacks),
        done=dict(done or {}),
        concurrency=min(len(sequences), plan.limits.concurrency),
        max_failed=int(plan.limits.max_failed * sum(map(len, sequences))),
    )


def course(plan: Plan, ask: Call, callbacks: Sequence[Any] = ()) -> Course:
    """Return how the episodes of a plan are played."""
    benchmark = plan.benchmark
    return Course(
        graph=graph(benchmark),
        episode=lambda sample, repeat: plan.episode(sample, repeat, ask),
        grade=benchmark.grade,
        supersteps=benchmark.supersteps(plan.settings),
        config={"metadata": {"benchmark": benchmark.name}, "callbacks": list(callbacks)},
    )


def graph(benchmark: Benchmark) -> Graph:
    """Return the compiled graph of a benchmark."""
    compiled: Graph = import_module(f"graphs.{benchmark.graph}").build(benchmark.nodes)
    return compiled


def _crash(episodes: Loop, path: Path) -> LotbenchError:
    planned, error = next(iter(episodes.crashed.items()))
    where = f"sample {planned.sample}, repeat {planned.repeat}"
    crash = LotbenchError(
        f"{len(episodes.crashed)} tasks crashed, first {where}: {type(error).__name__}: {error}"
    )
    crash.run = path
    crash.__cause__ = error
    return crash


def _unread_calls(trace: Trace, *, game: bool) -> list[str]:
    """Return the calls of whoever failed in an episode for what was not read in the end, asked again or not; of a game, in its last round.

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


def synchronously(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of async work; in a thread of its own if this one has a running loop, as in a notebook.

    Without one the work runs here: Ctrl-C ends it in order, and a thread would go on.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


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
