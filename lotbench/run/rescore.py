"""Take a finished run again over its journal, without a call: to score it anew, or to see what was sent.

The journal answers every question at its key, so the same graph comes to the same traces; a later version
that reads a reply better comes to better ones.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lotbench.config.experiment import Limits
from lotbench.edge.calls.budget import Bucket
from lotbench.edge.calls.caller import Caller, RoleModel, owner
from lotbench.edge.calls.journal import Journal, Totals
from lotbench.edge.calls.prices import price
from lotbench.edge.calls.store import Store
from lotbench.errors import CallFailed, UsageError
from lotbench.harness.episode import AnyEpisode
from lotbench.harness.loop import Graph, Loop, Planned
from lotbench.run.calling import journaled
from lotbench.run.loading import Run, planned
from lotbench.run.plan import Plan
from lotbench.run.session import loop
from lotbench.types import Answer, Question, Reply, Request, Trace


class Absent:
    """The model of a run that makes no calls: whatever the journal lacks stays unanswered."""

    async def __call__(self, request: Request) -> Reply:
        """Raise CallFailed: there is nobody to ask."""
        raise CallFailed(f"not in the journal: {request.key}")


@dataclass(slots=True)
class Rewalked:
    """What walking a run again came to.

    Attributes:
        traces: The traces, in data order.
        kept: Walks whose calls are not all in the journal (a question has changed): their old trace stands.
        why: What was wanting where a question could not be put together at all.
    """

    plan: Plan
    totals: Totals
    """What the journal adds up to."""
    traces: list[Trace] = field(default_factory=list)
    kept: list[Trace] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    """Lines of the journal that could not be read."""
    why: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lenient:
    """A graph in which a walk that wants what is gone (a picture, a sample) does not end those beside it."""

    graph: Graph

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        """Run from the first node to the last; returns the last state.

        Raises:
            LookupError: Something that the walk wants is gone, with what.
        """
        try:
            return await self.graph.ainvoke(input, config, context=context)
        except UsageError as error:
            raise LookupError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a walk: the question, the request as it was sent, the reply, and when it began.

    `started` is in seconds since 1970; None if the reply is that of an earlier run, out of the store.
    """

    question: Question
    request: Request
    reply: Reply
    started: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A finished walk with what was asked and answered in it.

    Attributes:
        trace: As the run folder has it.
        calls: In order; a shared question stands in the walk that asked it first.
        whole: Whether every call of the walk is in the journal.
    """

    trace: Trace
    calls: tuple[Call, ...]
    whole: bool


@asynccontextmanager
async def _again(
    run: Run,
    before: Callable[[Request], None] = lambda request: None,
    after: Callable[[AnyEpisode, Question, Request, Journal], None] = lambda *call: None,
) -> AsyncIterator[tuple[Loop, Plan, Caller]]:
    """A loop over a run's journal; every request is told before it is answered, and after if there is an answer."""
    made = planned(run, Limits(concurrency=1, max_failed=1.0))
    # A store of its own, empty: nothing may come from outside the folder.
    nothing = Store(run.path, fresh=True)
    async with journaled(made, _absent(made), run.path, nothing, writes=False) as caller:

        async def ask(walk: AnyEpisode, question: Question) -> Answer:
            request = caller.request(question, *owner(walk, question))
            before(request)
            answer = await caller.ask(walk, question)
            after(walk, question, request, caller.journal)
            return answer

        walks = loop(made, ask)
        walks.course = replace(walks.course, graph=Lenient(walks.course.graph))
        yield walks, made, caller


async def rewalk(run: Run, heard: Callable[[Request], None] = lambda request: None) -> Rewalked:
    """Walk every finished walk of a run again over its journal.

    Args:
        run: The run.
        heard: Is told every request, as it would be sent.
    """
    old = {(trace.sample, trace.repeat): trace for trace in run.traces}
    async with _again(run, before=heard) as (walks, made, caller):
        lanes = [[walk for walk in lane if (walk.sample, walk.repeat) in old] for lane in _lanes(made, run)]
        new = {(trace.sample, trace.repeat): trace async for trace in walks.traces(lanes)}
    why = [str(error) for error in walks.crashed.values()]
    result = Rewalked(made, caller.journal.totals, damaged=caller.journal.damaged, why=why)
    for place, trace in old.items():
        again = new.get(place)
        if again is None or (trace.arrived and not again.arrived):
            result.kept.append(trace)
            again = trace
        result.traces.append(again)
    return result


async def transcripts(run: Run) -> AsyncGenerator[Transcript, None]:
    """Every finished walk of a run with its calls, in data order; one is held at a time.

    A walk whose calls are not all in the journal has those that are.
    """
    calls: dict[tuple[str, int], list[Call]] = {}
    shared: set[str] = set()

    def answered(walk: AnyEpisode, question: Question, request: Request, journal: Journal) -> None:
        key, entry = str(request.key), journal.get(request.key)
        if entry is None or key in shared:
            return
        if question.shared:
            shared.add(key)
        call = Call(question, request, entry.reply, entry.started if entry.source == "call" else None)
        calls.setdefault((walk.sample.id, walk.repeat), []).append(call)

    async with _again(run, after=answered) as (walks, made, _):
        order = {(walk.sample, walk.repeat): lane for lane in _lanes(made, run) for walk in lane}
        taken: set[str] = set()
        ended: dict[tuple[str, int], bool] = {}
        for trace in run.traces:
            place = (trace.sample, trace.repeat)
            lane = order.get(place, [])
            if trace.lane not in taken and lane:
                taken.add(trace.lane)
                async for again in walks.traces([lane]):
                    ended[again.sample, again.repeat] = again.arrived
            yield Transcript(trace, tuple(calls.pop(place, ())), ended.pop(place, False))


async def requests(run: Run, trace: Trace) -> dict[str, Request]:
    """What was sent in one finished walk, by key.

    A question whose answer is not in the journal ends the walk, and what it would have sent after that is left out.

    Raises:
        UsageError: The run can no longer be walked again, with what has changed.
    """
    found: dict[str, Request] = {}

    def heard(request: Request) -> None:
        found[str(request.key)] = request

    async with _again(run, before=heard) as (walks, made, _):
        lane = next(lane for lane in _lanes(made, run) if lane[0].lane == trace.lane)
        place = next(at for at, one in enumerate(lane) if _is(one, trace))
        # Walks before it in its lane are taken as they ended: only their memory is wanted.
        before = {(one.sample, one.repeat) for one in lane[:place]}
        if before:
            ended = {(one.sample, one.repeat): one for one in run.traces}
            walks.done = {name: one for name, one in ended.items() if name in before}
        with suppress(CallFailed):
            async for _ in walks.traces([lane[: place + 1]]):
                pass
    return found


def _lanes(made: Plan, run: Run) -> list[list[Planned]]:
    """The lanes of a run: those of its plan, and games that were stepped from outside, whose seeds no plan knows."""
    lanes = {lane[0].lane: lane for lane in made.lanes()}
    known = {(walk.sample, walk.repeat) for lane in lanes.values() for walk in lane}
    for trace in run.traces:
        if (trace.sample, trace.repeat) not in known:
            walk = Planned(trace.sample, trace.repeat, trace.lane)
            lanes.setdefault(trace.lane, []).append(walk)
    return list(lanes.values())


def _is(one: Planned, trace: Trace) -> bool:
    return (one.sample, one.repeat) == (trace.sample, trace.repeat)


async def sent(run: Run, key: str) -> Request:
    """The request that a key of the journal stands for, as it was meant.

    Raises:
        UsageError: No walk of the run asks for that key.
    """
    found: list[Request] = []

    def heard(request: Request) -> None:
        if str(request.key) == key:
            found.append(request)

    why: list[str] = []
    with suppress(CallFailed):
        why = (await rewalk(run, heard)).why
    if not found:
        raise UsageError(
            "\n".join(
                [f"{run.path}: no task asks for {key!r} (keys stand in traces.jsonl, as `call`)", *why[:1]]
            )
        )
    return found[0]


def _absent(made: Plan) -> dict[str, tuple[RoleModel, ...]]:
    return {
        role: tuple(RoleModel(name.text, Absent(), price(name), Bucket(None), Bucket(None)) for name in names)
        for role, names in made.names.items()
    }
