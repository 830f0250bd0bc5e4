"""One session of a run, from the first walk that is not done to the report: where graph, edge and loop meet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from lotbench.edge.calls import preflight
from lotbench.edge.calls.budget import Budget
from lotbench.edge.calls.caller import Caller, CallStats, RoleModel
from lotbench.edge.calls.journal import Journal
from lotbench.edge.calls.store import Store
from lotbench.edge.files import run_folder
from lotbench.edge.models.registry import Models
from lotbench.errors import LimitReached, LotbenchError
from lotbench.harness.benchmark import Context
from lotbench.harness.loop import Graph, Loop
from lotbench.harness.state import start
from lotbench.run import results
from lotbench.run.anchors import anchors
from lotbench.run.plan import Plan
from lotbench.run.results import Run, load_run
from lotbench.types import Trace


@dataclass(frozen=True, slots=True)
class Status:
    """A run while it goes on; what a progress display looks at."""

    plan: Plan
    path: Path
    total: int
    tally: CallStats
    loop: Loop
    models: Models
    traces: Mapping[tuple[str, int], Trace]
    """The finished walks, without their steps."""
    damaged: Sequence[int] = ()
    """Lines of the journal that could not be read: their calls are made again."""


Watch: TypeAlias = Callable[[Status], Awaitable[None]]


class Session:
    """One session of a run.

    Args:
        made: What the run does.
        place: Its folder, locked.
        models: Where calls that wait for a retry are counted.
        seats: The models of each role.
        store: Where replies to shared questions are kept.
        before: The run that this session takes a share of: its journal is read, its own folder is not written.
    """

    def __init__(
        self,
        made: Plan,
        place: run_folder.Folder,
        models: Models,
        seats: Mapping[str, tuple[RoleModel, ...]],
        store: Store,
        before: Path | None = None,
    ) -> None:
        self._before = before
        self._plan = made
        self._place = place
        self._models = models
        self._seats = seats
        self._store = store
        self._done: dict[tuple[str, int], Trace] = {}
        self._unread: list[Trace] = []
        self._wall_s = 0.0
        self._started = time.monotonic()

    def continues(self, before: Run, *, retry_failed: bool) -> None:
        """Take over what earlier sessions came to.

        Args:
            before: The run so far.
            retry_failed: Walk again where replies came and could not be read, too, and ask for them anew;
                walks whose last call never arrived are always walked again.
        """
        for trace in before.traces:
            if trace.outcome.endswith("_failed") and (retry_failed or not trace.arrived):
                self._unread += [trace] if trace.arrived else []
            else:
                self._done[trace.sample, trace.repeat] = _ended(trace)
        if self._before is None:
            self._place.order(list(self._done))
        self._wall_s = before.summary.get("wall_s", 0.0)

    async def play(self, *, check: bool, watch: Watch | None) -> Run:
        """Take every walk that is not done, and write the report, whatever ends the session.

        Raises:
            LotbenchError: What stopped the run; its `run` is the folder.
        """
        await self.walk(check=check, watch=watch)
        return load_run(self._place.path)

    async def walk(self, *, check: bool, watch: Watch | None) -> None:
        """Do what `play` does; of a share, without anchors and report, which are of the whole run.

        Raises:
            LotbenchError: What stopped the run; its `run` is the folder.
        """
        before = self._before / "calls.jsonl" if self._before else None
        with Journal(self._place.path / "calls.jsonl", before) as journal:
            _ask_anew(journal, self._unread)
            desk = self._desk(journal)
            loop = self._loop(desk)
            try:
                async with _watched(watch, self._status(desk, loop, journal)):
                    if check:
                        await self._check(desk)
                    async with aclosing(loop.traces(self._plan.lanes())) as traces:
                        async for trace in traces:
                            self._place.append(trace)
                            self._done[trace.sample, trace.repeat] = _ended(trace)
                    if self._before is None:
                        found = await anchors(self._plan, desk, self._place.path)
                        self._place.write_json("anchors.json", found)
            except LotbenchError as error:
                error.run = self._place.path
                if isinstance(error, LimitReached) and desk.budget.overspent:
                    # The calls that were in flight have ended by now.
                    error.args = (f"{error}; overspent by {desk.budget.overspent}",)
                raise
            except asyncio.CancelledError as error:
                # Whoever cancelled (Ctrl-C) is told where to go on.
                error.args = (str(self._place.path),)
                raise
            finally:
                await desk.close()
                if self._before is None:
                    self.finish()
        if loop.crashed:
            raise _crash(loop, self._place.path)

    def _loop(self, desk: Caller) -> Loop:
        made, lanes = self._plan, self._plan.lanes()
        return Loop(
            graph=graph(made.benchmark.graph),
            context=Context(made.benchmark, made.view, desk.ask),
            done=dict(self._done),
            supersteps=made.benchmark.supersteps(made.settings),
            concurrency=min(made.limits.concurrency, len(lanes)),
            max_failed=int(made.limits.max_failed * sum(map(len, lanes))),
        )

    def _status(self, desk: Caller, loop: Loop, journal: Journal) -> Status:
        total = sum(map(len, self._plan.lanes()))
        place = self._place.path
        return Status(self._plan, place, total, desk.tally, loop, self._models, self._done, journal.damaged)

    def _desk(self, journal: Journal) -> Caller:
        budget = Budget(self._plan.limits)
        for before in results.spent(self._place.path, self._plan.names)[0].values():
            budget.tokens += before.input_tokens + before.output_tokens
            budget.cost += before.cost_usd or 0.0
        seed = self._plan.experiment.seed
        return Caller(self._seats, self._plan.sampling(), journal, self._store, budget, seed=seed)

    async def _check(self, desk: Caller) -> None:
        first = self._plan.chosen[0]
        walk = self._plan.view(start(first.id, 0, "preflight"), "preflight")
        await preflight.check(desk, walk, self._plan.benchmark, self._plan.settings)

    def finish(self) -> None:
        """Put the traces in data order and write the report, also of a run that was stopped."""
        order = [(p.sample, p.repeat) for lane in self._plan.lanes() for p in lane]
        wall_s = self._wall_s + time.monotonic() - self._started
        results.write(self._plan, self._place, self._place.order(order), wall_s)


def _ended(trace: Trace) -> Trace:
    """What a session remembers of a finished walk; its steps are on disk."""
    return replace(trace, steps=())


def graph(name: str) -> Graph:
    """The compiled graph of that name; imported when it is wanted: LangGraph takes a second."""
    found: Graph = import_module(f"graphs.{name}").graph
    return found


def _crash(loop: Loop, path: Path) -> LotbenchError:
    planned, error = next(iter(loop.crashed.items()))
    where = f"sample {planned.sample}, repeat {planned.repeat}"
    made = LotbenchError(f"{len(loop.crashed)} walks crashed, first {where}: {type(error).__name__}: {error}")
    made.run = path
    made.__cause__ = error
    return made


def _ask_anew(journal: Journal, unread: Sequence[Trace]) -> None:
    """Forget the replies that ended these walks unread."""
    for trace in unread:
        for step in trace.steps[-2:]:
            value: Any = step["value"]
            if step["call"] and value.get("status", "ok") != "ok":
                journal.retry(str(step["call"]))


@asynccontextmanager
async def _watched(watch: Watch | None, status: Status) -> AsyncIterator[None]:
    """Run a progress display beside the run, and let it say its last word."""
    watching = asyncio.ensure_future(watch(status)) if watch else None
    try:
        yield
    finally:
        if watching:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
