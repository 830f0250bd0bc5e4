"""A session of a run: it plays the unfinished episodes and writes the report."""

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
    """What a running session is doing.

    Attributes:
        question: The latest question, and `episode` the episode that asked it; both None before the first.
        playing: The round of each episode in flight, by sample and repeat.
    """

    episode: AnyEpisode | None = None
    question: Question | None = None
    playing: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a running session, for progress displays.

    Attributes:
        path: The run folder.
        total: The number of episodes in the plan.
        traces: The finished episodes by sample and repeat, without their steps.
        damaged: The numbers of the journal's unreadable lines; the calls in them are made again.
    """

    plan: Plan
    path: Path
    total: int
    stats: CallStats
    models: Models
    traces: Mapping[tuple[str, int], Trace]
    damaged: Sequence[int] = ()
    latest: Latest = field(default_factory=Latest)


Watch: TypeAlias = Callable[[Status], Awaitable[None]]


@dataclass(slots=True)
class Session:
    """One session of a run.

    Attributes:
        calls: The open resources, with the plan and the folder.
        run: The run so far.
        shard: Whether this session plays only a share of the run and writes no report.
        callbacks: LangChain callback handlers for every episode.
        only: The ids of the samples that this session plays; None for all.
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
        """Take over the finished episodes of earlier sessions.

        Args:
            before: The finished episodes.
            retry_failed: Whether to repeat episodes that failed because of unreadable replies of a judge or oracle; those that
                failed because a reply never arrived are always repeated.
            played: Episodes that are not repeated in any case: those of a process that died in this session.
        """
        again = {(trace.sample, trace.repeat): _drop_steps(trace) for trace in played}
        for trace in before:
            if (trace.sample, trace.repeat) in again:
                continue
            # What a candidate wrote, or refused to write, stays.
            retried = retry_failed and trace.outcome != "candidate_failed"
            if trace.outcome.endswith("_failed") and (retried or not trace.arrived):
                game = self.calls.plan.benchmark.graph == "game"
                for call in _unread_calls(trace, game=game) if trace.arrived else ():
                    self.calls.caller.journal.retry(call)
            else:
                self._done[trace.sample, trace.repeat] = _drop_steps(trace)
        self._done |= again
        if not self.shard:
            self.calls.folder.order(list(self._done))

    async def play(self, *, check: bool, watch: Watch | None) -> Run:
        """Play all unfinished episodes and write the report, even after an error; a shard writes no report.

        Args:
            check: Whether to call each model once first.
            watch: A coroutine that runs during the session, called with its status; None for none.

        Raises:
            LotbenchError: The error that stopped the run; its `run` is the folder.
        """
        caller = self.calls.caller
        plan = replace(self.calls.plan, limits=self.calls.limits)
        episodes = loop(plan, _note_questions(caller, self._latest), self._done, callbacks=self.callbacks)
        try:
            async with watched(watch, self._status()), caller.budget.ending():
                if check:
                    await self.calls.check()
                sequences = plan.sequences()
                if self.only is not None:
                    sequences = [sequence for sequence in sequences if sequence[0].sample in self.only]
                await self._take_traces(episodes, sequences)
        except LotbenchError as error:
            error.run = self.calls.folder.path
            if isinstance(error, LimitReached) and caller.budget.overspent:
                # All calls in flight have ended, so the excess is final.
                error.args = (f"{error}; overspent by {caller.budget.overspent}",)
            raise
        except asyncio.CancelledError as error:
            # The message after Ctrl-C names the folder to resume.
            error.args = (str(self.calls.folder.path),)
            raise
        finally:
            # Calls in flight are cancelled before the report counts the usage.
            await caller.close()
            if not self.shard:
                # In a thread, so that pages on which people play are served meanwhile.
                # It is no task, as all tasks are cancelled at the second Ctrl-C.
                writing = asyncio.get_running_loop().run_in_executor(None, self.finish)
                try:
                    await asyncio.shield(writing)
                except asyncio.CancelledError:
                    # The folder stays locked until the thread has ended.
                    await asyncio.wait({writing})
                    raise
        if episodes.crashed:
            raise _crash(episodes, self.calls.folder.path)
        return self.run

    async def _take_traces(self, episodes: Loop, sequences: Sequence[Sequence[Planned]]) -> None:
        async with aclosing(episodes.traces(sequences)) as traces:
            async for trace in traces:
                self.calls.folder.append(trace)
                self._done[trace.sample, trace.repeat] = _drop_steps(trace)
                self._latest.playing.pop((trace.sample, trace.repeat), None)

    def _status(self) -> Status:
        calls, caller = self.calls, self.calls.caller
        total = sum(map(len, calls.plan.sequences()))
        begun = calls.plan, calls.folder.path, total, caller.stats, calls.models, self._done
        return Status(*begun, damaged=caller.journal.damaged, latest=self._latest)

    def finish(self) -> None:
        """Put the traces in data order and write the report; the run may be incomplete."""
        order = [(p.sample, p.repeat) for sequence in self.calls.plan.sequences() for p in sequence]
        # Games played by the environment may have repeats that are not in the plan.
        planned = set(order)
        order += [name for name in self._done if name not in planned]
        wall_s = self.run.summary.get("wall_s", 0.0) + time.monotonic() - self._started
        run = replace(self.run, traces=self.calls.folder.order(order))
        totals = self.calls.caller.journal.totals
        self.run = results.write(run, self.calls.plan, self.calls.folder, wall_s, totals, embed=True)[0]


def _note_questions(caller: Caller, latest: Latest) -> Call:
    """Return a function that asks through a caller and records the latest question and the rounds of episodes in flight.

    It is not a method of the session, so that a reference to an episode does not keep the run's files open.
    """

    async def ask(episode: AnyEpisode, question: Question) -> Answer:
        latest.episode, latest.question = episode, question
        # The test of the models before the first episode is of no repeat.
        if episode.repeat:
            latest.playing[episode.sample.id, episode.repeat] = max(question.round, 1)
        return await caller.ask(episode, question)

    return ask


def collect_rarely() -> None:
    """Make garbage collection rare in this process, and exempt all existing objects from it.

    For processes that only play a run: with Python's defaults, collection took a fifth of a call's CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _drop_steps(trace: Trace) -> Trace:
    """Return a trace without its steps, to save memory; the run folder has them."""
    return replace(trace, steps=())


def loop(
    plan: Plan,
    ask: Call,
    done: Mapping[tuple[str, int], Trace] | None = None,
    *,
    callbacks: Sequence[Any] = (),
) -> Loop:
    """Return the loop over a plan's episodes; those in `done`, by sample and repeat, are not played again."""
    sequences = plan.sequences()
    return Loop(
        course=course(plan, ask, callbacks),
        done=dict(done or {}),
        concurrency=min(len(sequences), plan.limits.concurrency),
        max_failed=int(plan.limits.max_failed * sum(map(len, sequences))),
    )


def course(plan: Plan, ask: Call, callbacks: Sequence[Any] = ()) -> Course:
    """Return the course of a plan's episodes: their graph, contexts and grading."""
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
    """Return the keys of the calls to the failed role of an episode whose replies could not be read.

    A call is left out if the reply to its repetition could be read. With `game`, only calls of the last round are returned:
    in earlier rounds another judge replied instead.
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
    """Return the result of a coroutine, run in another thread if this one has a running loop, as in a notebook.

    Without a running loop it runs in this thread, so that Ctrl-C ends it in order.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@asynccontextmanager
async def watched(watch: Callable[[T], Awaitable[None]] | None, status: T) -> AsyncIterator[None]:
    """Run the progress display `watch`, which reads `status`, during a block; wait after it until the display has ended."""
    watching = asyncio.ensure_future(watch(status)) if watch else None
    try:
        yield
    finally:
        if watching:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
