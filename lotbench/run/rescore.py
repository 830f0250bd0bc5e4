"""Take a finished run again over its journal, without a call: to score it anew, or to see what was sent.

The journal answers every question at its key, so the same graph comes to the same traces; a later version
that reads a reply better comes to better ones.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from lotbench.calls.budget import Bucket
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
    """The model of a run that makes no calls: whatever the journal lacks stays unanswered."""

    async def __call__(self, request: Request) -> Reply:
        """Raise CallFailed: there is nobody to ask."""
        raise CallFailed(f"not in the journal: {request.key}")


@dataclass(slots=True)
class ReplayedRun:
    """What playing a run again came to.

    Attributes:
        traces: The traces, in data order.
        kept: Episodes whose calls are not all in the journal (a question has changed): their old trace stands.
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
    """A graph in which an episode that wants what is gone (a picture, a sample) does not end those beside it."""

    graph: Graph

    async def ainvoke(self, input: Any, config: Any = None, *, context: Any = None) -> Any:
        """Run from the first node to the last; returns the last state.

        Raises:
            LookupError: Something that the episode wants is gone, with what.
        """
        try:
            return await self.graph.ainvoke(input, config, context=context)
        except UsageError as error:
            raise LookupError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an episode: the question, the request as it was sent, the reply, and when it began.

    `started` is in seconds since 1970; None if the reply is that of an earlier run, out of the store.
    """

    question: Question
    request: Request
    reply: Reply
    started: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """A finished episode with what was asked and answered in it.

    Attributes:
        trace: As the run folder has it.
        calls: In order; a shared question stands in the episode that asked it first.
        whole: Whether every call of the episode is in the journal.
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
    """Answer requests from a run's journal; report each request before its answer, and the answer if there is one."""
    plan = planned(run, Limits(concurrency=1, max_failed=1.0))
    # A store of its own, empty: nothing may come from outside the folder.
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


async def replay_run(run: Run, heard: Callable[[Request], None] = lambda request: None) -> ReplayedRun:
    """Play every finished episode of a run again over its journal.

    Args:
        run: The run.
        heard: Is told every request, as it would be sent.
    """
    old = {(trace.sample, trace.repeat): trace for trace in run.traces}
    async with _replay(run, before=heard) as (episodes, plan, caller):
        sequences = [
            [episode for episode in sequence if (episode.sample, episode.repeat) in old]
            for sequence in _sequences(plan, run)
        ]
        new = {(trace.sample, trace.repeat): trace async for trace in episodes.traces(sequences)}
    why = [str(error) for error in episodes.crashed.values()]
    result = ReplayedRun(plan, caller.journal.totals, damaged=caller.journal.damaged, why=why)
    for place, trace in old.items():
        again = new.get(place)
        if again is None or (trace.arrived and not again.arrived):
            result.kept.append(trace)
            again = trace
        result.traces.append(again)
    return result


async def transcripts(run: Run) -> AsyncGenerator[Transcript, None]:
    """Yield every finished episode of a run with its calls, in data order; one is held at a time.

    An episode whose calls are not all in the journal has those that are.
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
    """Return what was sent in one finished episode, by key.

    A question whose answer is not in the journal ends the episode, and what it would have sent after that is left out.

    Raises:
        UsageError: The run can no longer be played again, with what has changed.
    """
    by_key: dict[str, Request] = {}

    def heard(request: Request) -> None:
        by_key[str(request.key)] = request

    async with _replay(run, before=heard) as (episodes, plan, _):
        sequence = next(
            sequence for sequence in _sequences(plan, run) if sequence[0].sequence == trace.sequence
        )
        place = next(
            at for at, planned_episode in enumerate(sequence) if _is_episode_of(planned_episode, trace)
        )
        # Episodes before it in its sequence are taken as they ended: only their memory is wanted.
        before = {(episode.sample, episode.repeat) for episode in sequence[:place]}
        if before:
            ended = {(ended_trace.sample, ended_trace.repeat): ended_trace for ended_trace in run.traces}
            episodes.done = {name: ended_trace for name, ended_trace in ended.items() if name in before}
        with suppress(CallFailed):
            async for _ in episodes.traces([sequence[: place + 1]]):
                pass
    return by_key


def _sequences(plan: Plan, run: Run) -> list[list[Planned]]:
    """Return the sequences of a run: those of its plan, and games that were stepped from outside, whose seeds no plan knows."""
    sequences = {sequence[0].sequence: sequence for sequence in plan.sequences()}
    in_plan = {(episode.sample, episode.repeat) for sequence in sequences.values() for episode in sequence}
    for trace in run.traces:
        if (trace.sample, trace.repeat) not in in_plan:
            episode = Planned(trace.sample, trace.repeat, trace.sequence)
            sequences.setdefault(trace.sequence, []).append(episode)
    return list(sequences.values())


def _is_episode_of(episode: Planned, trace: Trace) -> bool:
    return (episode.sample, episode.repeat) == (trace.sample, trace.repeat)


async def sent(run: Run, key: str) -> Request:
    """Return the request that a key of the journal stands for, as it was meant.

    Raises:
        UsageError: No episode of the run asks for that key.
    """
    matches: list[Request] = []

    def heard(request: Request) -> None:
        if str(request.key) == key:
            matches.append(request)

    why: list[str] = []
    with suppress(CallFailed):
        why = (await replay_run(run, heard)).why
    if not matches:
        raise UsageError(
            "\n".join(
                [f"{run.path}: no task asks for {key!r} (keys stand in traces.jsonl, as `call`)", *why[:1]]
            )
        )
    return matches[0]


def _absent_models(plan: Plan) -> dict[str, tuple[RoleModel, ...]]:
    return {
        role: tuple(RoleModel(name.text, Absent(), price(name), Bucket(None), Bucket(None)) for name in names)
        for role, names in plan.names.items()
    }
