"""An episode: one sample played once. It is the runtime context of every node, and the one way to ask a model.

A node is an async function of the state and LangGraph's runtime. It asks through `runtime.context.ask(...)`, which
renders the prompt, calls, reads the form, asks once more with the reason where a reply cannot be read, and records
the steps of the trace.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, Unpack

from lotbench.errors import CallFailed, EpisodeFailed, LotbenchError, Unread
from lotbench.harness.state import EpisodeState, State, Update, plus
from lotbench.prompting.prompt import Pack, Prompt, Value
from lotbench.prompting.reply import Form, schema, shape
from lotbench.types import JSON, Answer, Message, Question, Sample

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

Item = TypeVar("Item", bound=Sample, covariant=True)
Settings = TypeVar("Settings", covariant=True)
T = TypeVar("T")
U = TypeVar("U")

AnyEpisode: TypeAlias = "Episode[Any, Any]"
Call: TypeAlias = Callable[[AnyEpisode, Question], Awaitable[Answer]]
"""What puts a question of an episode to its model: the caller of a run, or what stands in its place."""
Render: TypeAlias = Callable[[str | None], Sequence[Message]]
"""Writes a request, given what was wrong with the last reply, None the first time."""


class Place(TypedDict, total=False):
    """Where among the calls of an episode a question stands, and how it is put; see `types.Question`."""

    round: int
    index: int
    draw: int
    shared: bool
    about: str
    temperature: float | None


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What came of asking: the value that was read, or None, with the status and the reason of the last reply."""

    value: T | None
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Episode(Generic[Item, Settings]):
    """What a node knows of the episode beside its state.

    Attributes:
        data: Every sample of the data set, in its order, with its id, its language and the fields that the
            benchmark names in `beside`; without `beside`, the samples that are played.
        models: The number of models in each role.
        pictures: The picture of each sample that has one.
        call: Puts a question to its model.
        state: The state as the present node found it.
        steps: The steps of the trace that the present node has added.
        usage: Calls and tokens of the present node's own questions.
    """

    sample: Item
    repeat: int
    settings: Settings
    prompts: Pack
    data: Sequence[Any]
    models: Mapping[str, int]
    seed: int
    pictures: Mapping[str, Any]
    call: Call
    state: State = field(default_factory=dict)
    steps: list[dict[str, JSON]] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def round(self) -> int:
        """The present round of a game, from 1."""
        return int(self.state["round"])

    @property
    def recorded(self) -> list[dict[str, JSON]]:
        """Every step of the trace so far."""
        return [*self.state["steps"], *self.steps]

    def at(self, state: State) -> Episode[Item, Settings]:
        """Return the episode as a node finds it that begins in this state."""
        return replace(self, state=state, steps=[], usage={})

    def prompt(self, name: str) -> Prompt:
        """Return a prompt in the language of the sample."""
        return self.prompts.get(self.sample.language, name)

    def line(self, section: str, **values: str) -> str:
        """Return a line of the pack's `lines` in the language of the sample."""
        return self.prompt("lines").line(section, **values)

    async def ask(
        self,
        role: str,
        step: str,
        prompt: Prompt | Render,
        form: type[Form] | None,
        values: Mapping[str, Value] | None = None,
        *,
        read: Callable[[Answer], T],
        value: Callable[[T], Mapping[str, JSON]],
        missing: Callable[[Unread], Mapping[str, JSON]],
        common: Callable[[Answer], Mapping[str, JSON]] = lambda answer: {},
        once: bool = False,
        unread: str | None = None,
        refusal_stands: bool = False,
        **place: Unpack[Place],
    ) -> Reading[T]:
        """Ask a model, and once more with the reason if its reply cannot be read; every reply is a step of the trace.

        Args:
            role: Whose model is asked.
            step: What the question is for.
            prompt: The prompt, or a function that writes the whole request.
            form: The form of the reply; None for free text.
            values: Values of the prompt's fields, beside `shape` and `again`.
            read: Reads a reply; raises Unread.
            value: What the trace keeps of what was read.
            missing: What the trace keeps of a reply that could not be read.
            common: What the trace keeps first of every reply.
            once: Whether a reply that cannot be read stands.
            unread: Why an earlier reply could not be read; this is the second asking then.
            refusal_stands: Whether a refusal is not asked for again.
            **place: See `Place`.

        Raises:
            EpisodeFailed: No reply came.
            LotbenchError: No other call can succeed either, or a limit is reached.
        """
        render = prompt if callable(prompt) else self._guess(prompt, form, values or {})
        for attempt in (0, 1) if unread is None else (1,):
            messages = tuple(render(None if unread is None else self.again(unread)))
            question = Question(
                role, step, messages, schema(form) if form else None, attempt=attempt, **place
            )
            answer = await self.reply(question)
            try:
                read_value = read(answer)
            except Unread as error:
                self.steps.append(record(answer, {**common(answer), **missing(error)}))
                reading: Reading[T] = Reading(None, error.kind, error.reason)
                unread = error.reason
                if once or (refusal_stands and error.kind == "refused"):
                    break
            else:
                self.steps.append(record(answer, {**common(answer), **value(read_value)}))
                return Reading(read_value)
        return reading

    async def require(
        self,
        role: str,
        step: str,
        prompt: Prompt,
        form: type[Form],
        values: Mapping[str, Value],
        *,
        read: Callable[[Answer], Mapping[str, Any]],
        **place: Unpack[Place],
    ) -> dict[str, Any]:
        """Ask for something without which the episode cannot go on; see `ask`.

        Raises:
            EpisodeFailed: It could not be read twice, or no reply came.
        """
        reading = await self.ask(
            role,
            step,
            prompt,
            form,
            values,
            read=read,
            value=lambda fields: {"status": "ok", **fields},
            missing=lambda error: {"status": error.kind, "reason": error.reason},
            **place,
        )
        if reading.value is None:
            raise EpisodeFailed(role, f"{step}: {reading.reason}")
        return dict(reading.value)

    async def reply(self, question: Question) -> Answer:
        """Put a question to its model, unread and unrecorded; its tokens are counted.

        Raises:
            EpisodeFailed: No reply came.
        """
        try:
            answer = await self.call(self, question)
        except CallFailed as error:
            raise EpisodeFailed(question.role, str(error), arrived=False) from error
        if not question.shared:
            # What is shared by all episodes is counted by the run alone.
            self.usage.update(plus(self.usage, used(answer)))
        return answer

    async def each(
        self, ask: Callable[[Episode[Item, Settings], U], Awaitable[T]], items: Iterable[U]
    ) -> list[T]:
        """Ask for all items at once; the trace has the steps in the order of the items.

        All replies are waited for, also where one fails: they are paid for.

        Raises:
            LotbenchError: Of several failures, one that ends the run before one that ends the episode.
        """
        branches = [(replace(self, steps=[], usage={}), item) for item in items]
        results = await asyncio.gather(*(ask(*branch) for branch in branches), return_exceptions=True)
        failures = [result for result in results if isinstance(result, BaseException)]
        lost = [result for result in failures if not (isinstance(result, EpisodeFailed) and result.arrived)]
        if not lost:
            for branch, _ in branches:
                self.steps.extend(branch.steps)
                self.usage.update(plus(self.usage, branch.usage))
        if failures:
            raise min(lost, key=lambda failure: isinstance(failure, EpisodeFailed)) if lost else failures[-1]
        return [result for result in results if not isinstance(result, BaseException)]

    def remark(self, step: str, value: Mapping[str, JSON], round: int | None = None) -> None:
        """Add a step to the trace for which no model was asked."""
        self.steps.append(remark(step, self.round if round is None else round, value))

    def again(self, reason: str) -> str:
        """Return the line that says what was wrong with a reply, in the language of the sample; the reason itself without `lines`.

        The pack's `reasons` are looked up by the words of the reason; numbers in it fill the fields `first` and `second`.
        """
        pack = self.prompts.prompts.get(self.sample.language, {})
        reasons = pack.get("reasons")
        if reasons is not None:
            name = re.sub(r"[^a-z]+", "_", reason.lower()).strip("_")
            section = name if name in reasons.sections else "other"
            numbers = dict(zip(("first", "second"), re.findall(r"\d+", reason), strict=False))
            reason = reasons.line(section, **(numbers if section == name else {}))
        return self.line("again", reason=reason) if "lines" in pack else reason

    def _guess(self, prompt: Prompt, form: type[Form] | None, values: Mapping[str, Value]) -> Render:
        """Return a function that fills the prompt; `shape` and `again` are filled in where it has these fields."""

        def render(again: str | None) -> Sequence[Message]:
            ours: dict[str, Value] = {"shape": shape(form) if form else None, "again": again}
            return prompt.messages(
                **values, **{name: text for name, text in ours.items() if name in prompt.fields}
            )

        return render


class Node(Protocol):
    """A node of a graph: asks through `runtime.context`, and returns what it changes of the state."""

    async def __call__(self, state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
        """Visit the node."""
        ...


def recorded(node: Node) -> Node:
    """Return a node whose steps and usage join the state, and whose failure ends the episode as ROLE_failed.

    A failure is an outcome and not a score. LangGraph drops a key that no state declares, so that is an error here.
    """

    async def visited(state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
        episode = runtime.context.at(state)
        try:
            update = await node(state, replace(runtime, context=episode))
        except EpisodeFailed as failed:
            update = {"outcome": f"{failed.role}_failed", "why": failed.why, "arrived": failed.arrived}
        if unknown := update.keys() - EpisodeState.__annotations__.keys():
            raise LotbenchError(f"a node changed {sorted(unknown)}, which no state declares")
        return {**update, "steps": episode.steps, "usage": episode.usage}

    return visited


async def visit(node: Node, state: State, episode: AnyEpisode) -> Update:
    """Return what one node changes, visited without a graph."""
    from langgraph.runtime import Runtime  # noqa: PLC0415 - its import takes long, and most of what imports this plays nothing

    return await recorded(node)(EpisodeState(**state), Runtime(context=episode))  # type: ignore[typeddict-item]


def record(answer: Answer, value: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return one step of a trace: who was asked what for, and what the reply was read as."""
    question = answer.question
    return {
        "step": question.step,
        "round": question.round,
        "role": question.role,
        "draw": question.draw,
        "call": str(answer.key),
        "value": dict(value),
        "seconds": answer.reply.seconds,
    }


def remark(step: str, round: int, value: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return one step of a trace for which no model was asked."""
    place: dict[str, JSON] = {"step": step, "round": round, "role": None, "draw": 0}
    return place | {"call": None, "value": dict(value), "seconds": 0.0}


def used(answer: Answer) -> dict[str, int]:
    """Return what one call used."""
    usage = answer.reply.usage
    return {
        "calls": 1,
        "input_tokens": usage.input_tokens,
        "cached_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
    }


async def scored(state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
    """Return the last node of a panel that asks nothing there: the episode is over."""
    return {"outcome": "scored"}


async def nobody(episode: AnyEpisode, question: Question) -> Answer:
    """Return the call of an episode in which nobody is asked.

    Raises:
        LotbenchError: Somebody is.
    """
    raise LotbenchError(f"nobody is here to be asked: {question.role}, {question.step}")
