"""Replay of a run from its journal, without calls: to score the run again, or to see what was sent.

The journal has the reply to each question by its key, so the replay gives the same traces. A later version that reads
replies better gives better traces.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lotbench.calls.caller import Caller, RoleModel, owner
from lotbench.calls.journal import Journal, Totals
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


class Absent:
    """The model of a replayed run, which makes no calls."""

    async def __call__(self, request: Request) -> Reply:
        """Raise CallFailed, since the reply is not in the journal."""
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


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an episode.

    Attributes:
        question: The question of the episode.
        request: The request as it was sent.
        started: The time of the call, in seconds since 1970; None if the reply came from the store.
    """

    question: Question
    request: Request
    reply: Reply
    started: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A finished episode with its calls.

    Attributes:
        trace: The trace in the run folder.
        calls: The calls, in order; a shared question belongs to the episode that asked it first.
        whole: Whether the journal has all calls of the episode.
    """

    trace: Trace
    calls: tuple[Call, ...]
    whole: bool


@asynccontextmanager
async def _replay(
    run: Run,
    before: Callable[[Request], None] = lambda request: None,
    after: Callable[[AnyEpisode, Question, Request, Journal], None] = lambda *call: None,
) -> AsyncIterator[tuple[Loop, Plan, Caller]]:
    """Open a replay of a run, in which requests are answered from the journal.

    Args:
        run: The run.
        before: Called with each request before it is answered.
        after: Called with the episode, question and request of each answer, and the journal.

    Yields:
        The loop over the run's episodes, the plan, and the caller.
    """
    plan = planned(run, Limits(concurrency=1, max_failed=1.0))
    # An empty store: all replies must come from the run folder.
    nothing = Store(run.path, fresh=True)
    async with journaled(plan, _absent_models(plan), run.path, nothing, writes=False) as caller:

        async def ask(episode: AnyEpisode, question: Question) -> Answer:
            request = caller.request(question, *owner(episode, question))
            before(request)
            answer = await caller.ask(episode, question)
            after(episode, question, request, caller.journal)
            return answer

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


async def transcripts(run: Run) -> AsyncGenerator[Transcript, None]:
    """Yield the finished episodes of a run with their calls, in data order, one at a time.

    If the journal lacks some calls of an episode, the transcript has the other calls.
    """
    calls: dict[tuple[str, int], list[Call]] = {}
    shared: set[str] = set()

    def answered(episode: AnyEpisode, question: Question, request: Request, journal: Journal) -> None:
        key, entry = str(request.key), journal.get(request.key)
        if entry is None or key in shared:
            return
        if question.shared:
            shared.add(key)
        call = Call(question, request, entry.reply, entry.started if entry.source == "call" else None)
        calls.setdefault((episode.sample.id, episode.repeat), []).append(call)

    async with _replay(run, after=answered) as (episodes, plan, _):
        order = {
            (episode.sample, episode.repeat): sequence
            for sequence in _sequences(plan, run)
            for episode in sequence
        }
        begun: set[str] = set()
        ended: dict[tuple[str, int], bool] = {}
        for trace in run.traces:
            place = (trace.sample, trace.repeat)
            sequence = order.get(place, [])
            if trace.sequence not in begun and sequence:
                begun.add(trace.sequence)
                async for again in episodes.traces([sequence]):
                    ended[again.sample, again.repeat] = again.arrived
            yield Transcript(trace, tuple(calls.pop(place, ())), ended.pop(place, False))


async def requests(run: Run, trace: Trace) -> dict[str, Request]:
    """Return the requests of the finished episode with this trace, by key.

    If the journal lacks a reply, the requests after it are missing.

    Raises:
        UsageError: The run can no longer be replayed, with the reason.
    """
    by_key: dict[str, Request] = {}

    def heard(request: Request) -> None:
        by_key[str(request.key)] = request

    async with _replay(run, before=heard) as (episodes, plan, _):
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
    async with aclosing(transcripts(run)) as episodes:
        async for episode in episodes:
            for call in episode.calls:
                if str(call.request.key) == key:
                    return call.request
    raise UsageError(f"{run.path}: no task asks for {key!r} (keys stand in traces.jsonl, as `call`)")


def _absent_models(plan: Plan) -> dict[str, tuple[RoleModel, ...]]:
    return {
        role: tuple(RoleModel(name.text, Absent(), price(name)) for name in names)
        for role, names in plan.names.items()
    }
