"""Walk a finished run again over its journal, without a call: to score it anew, or to see what was sent.

The journal answers every question at its key, so the same graph comes to the same traces; a later version
that reads a reply better comes to better ones.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lotbench.config.experiment import Limits
from lotbench.edge.calls.budget import Bucket, Budget
from lotbench.edge.calls.caller import Caller, RoleModel, owner
from lotbench.edge.calls.journal import Journal
from lotbench.edge.calls.prices import Price
from lotbench.edge.calls.store import Store
from lotbench.errors import CallFailed, UsageError
from lotbench.harness.benchmark import Context
from lotbench.harness.loop import Loop
from lotbench.harness.state import AnyWalk
from lotbench.run.plan import Plan
from lotbench.run.results import Run, planned
from lotbench.run.session import graph
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
    """

    plan: Plan
    traces: list[Trace] = field(default_factory=list)
    kept: list[Trace] = field(default_factory=list)


async def rewalk(run: Run, heard: Callable[[Request], None] | None = None) -> Rewalked:
    """Walk every finished walk of a run again over its journal.

    Args:
        run: The run.
        heard: Is told every request, as it would be sent.
    """
    made = planned(run, Limits())
    with Journal(run.path / "calls.jsonl") as journal:
        desk = _desk(made, journal, run.path)

        async def ask(walk: AnyWalk, question: Question) -> Answer:
            if heard:
                heard(desk.request(question, *owner(walk, question)))
            return await desk.ask(walk, question)

        old = {(trace.sample, trace.repeat): trace for trace in run.traces}
        lanes = [[walk for walk in lane if (walk.sample, walk.repeat) in old] for lane in made.lanes()]
        context = Context(made.benchmark, made.view, ask)
        loop = Loop(
            graph(made.benchmark.graph), context, {}, made.benchmark.supersteps(made.settings), 1, len(old)
        )
        new = {(trace.sample, trace.repeat): trace async for trace in loop.traces(lanes)}
    result = Rewalked(made)
    for place, trace in old.items():
        again = new.get(place)
        if again is None or (trace.arrived and not again.arrived):
            result.kept.append(trace)
            again = trace
        result.traces.append(again)
    return result


async def sent(run: Run, key: str) -> Request:
    """The request that a key of the journal stands for, as it was meant.

    Raises:
        UsageError: No walk of the run asks for that key.
    """
    found: list[Request] = []

    def heard(request: Request) -> None:
        if str(request.key) == key:
            found.append(request)

    with suppress(CallFailed):
        await rewalk(run, heard)
    if not found:
        raise UsageError(f"{run.path}: no walk asks for {key!r} (keys stand in traces.jsonl, as `call`)")
    return found[0]


def _desk(made: Plan, journal: Journal, path: Path) -> Caller:
    free = Price(0.0, 0.0, 0.0)
    seats = {
        role: tuple(RoleModel(name.text, Absent(), free, Bucket(None), Bucket(None)) for name in names)
        for role, names in made.names.items()
    }
    # A store of its own, empty: nothing may come from outside the folder.
    store = Store(path, fresh=True)
    seed = made.experiment.seed
    return Caller(seats, made.sampling(), journal, store, Budget(made.limits), seed=seed)
