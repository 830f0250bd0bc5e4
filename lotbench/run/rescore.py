"""Replay of a run from its journal, without calls: to score the run again, or to see what was sent.

The journal has the reply to each question by its key, so the replay gives the same traces. A later version that reads
replies better gives better traces.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lotbench.calls.caller import Caller, RoleModel, owner
from lotbench.calls.journal import Totals
from lotbench.calls.prices import price
from lotbench.calls.store import Store
from lotbench.config.experiment import Limits
from lotbench.errors import CallFailed, UsageError
from lotbench.harness.episode import AnyEpisode
from lotbench.harness.loop import Graph, Loop, Planned
from lotbench.run.calling import journaled
from lotbench.run.loading import Run, planned
from lotbench.run.plan import Plan
from lotbench.run.session import loop
from lotbench.types import Answer, Question, Reply, Request, Trace


async def absent(request: Request) -> Reply:
    """Raise CallFailed: the model of a replayed run, for a request whose reply is not in the journal."""
    raise CallFailed(f"not in the journal: {request.key}")


@dataclass(slots=True)
class ReplayedRun:
    """The result of replaying a run.

    Attributes:
        totals: The totals of calls, tokens and cost of the journal.
        traces: The new traces, and those in `kept`, in data order.
        not_replayed: The old traces of episodes for which the journal lacks a reply, because a question has changed.
        damaged: The numbers of the journal's unreadable lines.
    """

    plan: Plan
    totals: Totals
    traces: list[Trace] = field(default_factory=list)
    not_replayed: list[Trace] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lenient:
    """A graph in which a missing picture or sample ends only the episode that needs it, not the replay."""

    graph: Graph

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        """Run the graph and return its last state.

        Raises:
            LookupError: A picture, sample or other file that the episode needs is missing or not valid.
        """
        try:
            return await self.graph.ainvoke(input, config, context=context)
        except UsageError as error:
            raise LookupError(str(error)) from error


@asynccontextmanager
async def _replay(
    run: Run, heard: Callable[[Request], None] = lambda request: None
) -> AsyncIterator[tuple[Loop, Plan, Caller]]:
    """Open a replay of a run, in which requests are answered from the journal.

    Args:
        run: The run.
        heard: Called with each request before it is answered.

    Yields:
        The loop over the run's episodes, the plan, and the caller.
    """
    plan = planned(run, Limits(concurrency=1, max_failed=1.0))
    # An empty store: all replies must come from the run folder.
    nothing = Store(run.path, fresh=True)
    models = {
        role: tuple(RoleModel(name.text, absent, price(name)) for name in names)
        for role, names in plan.names.items()
    }
    async with journaled(plan, models, run.path, nothing, writes=False) as caller:

        async def ask(episode: AnyEpisode, question: Question) -> Answer:
            request = caller.request(question, *owner(episode, question))
            heard(request)
            return await caller.ask(episode, question)

        episodes = loop(plan, ask)
        episodes.course = replace(episodes.course, graph=Lenient(episodes.course.graph))
        yield episodes, plan, caller


async def replay_run(run: Run) -> ReplayedRun:
    """Play every finished episode of a run again from its journal."""
    old = {(trace.sample, trace.repeat): trace for trace in run.traces}
    async with _replay(run) as (episodes, plan, caller):
        sequences = [
            [episode for episode in sequence if (episode.sample, episode.repeat) in old]
            for sequence in _sequences(plan, run)
        ]
        new = {(trace.sample, trace.repeat): trace async for trace in episodes.traces(sequences)}
    result = ReplayedRun(plan, caller.journal.totals, damaged=caller.journal.damaged)
    for place, trace in old.items():
        again = new.get(place)
        if again is None or (trace.arrived and not again.arrived):
            result.not_replayed.append(trace)
            again = trace
        result.traces.append(again)
    return result


async def requests(run: Run, trace: Trace) -> dict[str, Request]:
    """Return the requests of the finished episode with this trace, by key.

    If the journal lacks a reply, the requests after it are missing.

    Raises:
        UsageError: The run can no longer be replayed, with the reason.
    """
    by_key: dict[str, Request] = {}

    def heard(request: Request) -> None:
        by_key[str(request.key)] = request

    async with _replay(run, heard) as (episodes, plan, _):
        sequences = _sequences(plan, run)
        sequence = next(sequence for sequence in sequences if sequence[0].sequence == trace.sequence)
        names = [(episode.sample, episode.repeat) for episode in sequence]
        place = names.index((trace.sample, trace.repeat))
        # Earlier episodes of the sequence are not replayed; only their memory is needed.
        if place:
            ended = {(other.sample, other.repeat): other for other in run.traces}
            episodes.done = {name: ended[name] for name in names[:place] if name in ended}
        with suppress(CallFailed):
            async for _ in episodes.traces([sequence[: place + 1]]):
                pass
    return by_key


def _sequences(plan: Plan, run: Run) -> list[list[Planned]]:
    """Return the sequences of a run's plan, then those of traces outside the plan: games played in `lotbench.environment`."""
    sequences = {sequence[0].sequence: sequence for sequence in plan.sequences()}
    in_plan = {(episode.sample, episode.repeat) for sequence in sequences.values() for episode in sequence}
    for trace in run.traces:
        if (trace.sample, trace.repeat) not in in_plan:
            episode = Planned(trace.sample, trace.repeat, trace.sequence)
            sequences.setdefault(trace.sequence, []).append(episode)
    return list(sequences.values())


async def find_request(run: Run, key: str) -> Request:
    """Return the request whose key in the journal is `key`.

    Raises:
        UsageError: The journal has no reply to a request with that key.
    """
    found: list[Request] = []

    def heard(request: Request) -> None:
        if str(request.key) == key:
            found.append(request)

    replaying = _replay(run, heard)
    async with replaying as (episodes, plan, _), aclosing(episodes.traces(_sequences(plan, run))) as traces:
        async for _trace in traces:
            if found:
                break
    if not found:
        raise UsageError(f"{run.path}: no task asks for {key!r} (keys stand in traces.jsonl, as `call`)")
    return found[0]
