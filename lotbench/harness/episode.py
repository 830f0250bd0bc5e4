"""An episode: one sample played once. It is the runtime context of every node, and nodes ask models only through it.

A node is an async function of the state and LangGraph's runtime. `runtime.context.ask(...)` renders the prompt, calls the
model and reads the reply. If the reply cannot be read, it asks a second time and states the fault. It records each reply as
a step of the trace.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeAlias, TypedDict, TypeVar, Unpack

from lotbench.errors import CallFailed, EpisodeFailed, LotbenchError, Unread
from lotbench.harness.blocks import enclosed
from lotbench.harness.state import EpisodeState, Runtime, State, Update, plus
from lotbench.prompting.prompt import Pack, Prompt, Value
from lotbench.prompting.reply import Form, read_form, schema, shape
from lotbench.types import JSON, Answer, Message, Question, Sample

Item = TypeVar("Item", bound=Sample, covariant=True)
Settings = TypeVar("Settings", covariant=True)
T = TypeVar("T")
U = TypeVar("U")

AnyEpisode: TypeAlias = "Episode[Any, Any]"
Call: TypeAlias = Callable[[AnyEpisode, Question], Awaitable[Answer]]
"""Puts a question of an episode to its model: the caller of a run, or a replacement."""
Render: TypeAlias = Callable[[str | None], Sequence[Message]]
"""Writes the messages of a request, given the fault of the previous reply (None at first)."""


class Place(TypedDict, total=False):
    """Optional fields of a question; see `types.Question`."""

    round: int
    index: int
    draw: int
    shared: bool
    about: str
    temperature: float | None


@dataclass(frozen=True, slots=True)
class AskResult(Generic[T]):
    """The result of asking: the value, or None with the status and reason of the last reply."""

    value: T | None
    status: str = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Episode(Generic[Item, Settings]):
    """The context of an episode that nodes receive beside the state.

    Attributes:
        data: Every sample of the data set, in its order, with id, language and the fields in the benchmark's `beside`;
            without `beside`, the samples that are played.
        models: The number of models in each role.
        pictures: The pictures, by sample id.
        call: Calls the model of a question.
        state: The state at the start of the current node.
        steps: The steps that the current node has added to the trace.
        usage: Calls and tokens of the current node.
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
        """The current round of a game, from 1."""
        return int(self.state["round"])

    @property
    def recorded(self) -> list[dict[str, JSON]]:
        """All steps of the trace so far."""
        return [*self.state["steps"], *self.steps]

    def at(self, state: State) -> Self:
        """Return the episode as the context of a node that starts in this state."""
        return replace(self, state=state, steps=[], usage={})

    def prompt(self, name: str) -> Prompt:
        """Return a prompt in the language of the sample."""
        return self.prompts.get(self.sample.language, name)

    def line(self, section: str, **values: str) -> str:
        """Return a section of the prompt file `lines` in the language of the sample, with its fields filled in."""
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
        missing: Callable[[Unread], Mapping[str, JSON]] = lambda error: {"status": error.kind},
        common: Callable[[Answer], Mapping[str, JSON]] = lambda answer: {},
        once: bool = False,
        unread: str | None = None,
        refusal_stands: bool = False,
        **place: Unpack[Place],
    ) -> AskResult[T]:
        """Ask a model, and ask again with the reason if the reply cannot be read; record each reply as a step.

        Args:
            role: The role to ask.
            step: The name of the step in the trace.
            prompt: The prompt, or a function that writes the messages.
            form: The class with the fields of the reply; None for free text.
            values: Values of the prompt's fields, except `shape` and `again`, which are filled in here.
            read: Returns the value of a reply; raises Unread.
            value: Makes the `value` of the step, given what `read` returned.
            missing: Makes the `value` of the step, given the error of `read`.
            common: Makes the fields that come first in the `value` of every step, given the answer.
            once: Do not ask again after an unreadable reply.
            unread: Why an earlier reply could not be read; this call is then the second attempt.
            refusal_stands: Do not ask again after a refusal.
            **place: Further fields of the question; see `Place`.

        Raises:
            EpisodeFailed: The call brought no reply.
            LotbenchError: No other call can succeed, or a limit is reached.
        """
        render = prompt if callable(prompt) else self._renderer(prompt, form, values or {})
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
                reading: AskResult[T] = AskResult(None, error.kind, error.reason)
                unread = error.reason
                if once or (refusal_stands and error.kind == "refused"):
                    break
            else:
                self.steps.append(record(answer, {**common(answer), **value(read_value)}))
                return AskResult(read_value)
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
        """Ask as `ask` does, and fail the episode if no reply can be read.

        Raises:
            EpisodeFailed: Two replies could not be read, or the call brought none.
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

    async def notes(
        self, prompt: Prompt | Render, form: type[Form], values: Mapping[str, Value], **place: Unpack[Place]
    ) -> str:
        """Ask the candidate for notes before its answer (framework `ddcot`); return "" if they cannot be read.

        Args:
            prompt: The prompt, or a function that writes the messages.
            form: The class of the reply, with the field `notes`.
            values: Values of the prompt's fields; see `ask`.
            **place: Further fields of the question; see `Place`.
        """
        reading = await self.ask(
            "candidate",
            "decompose",
            prompt,
            form,
            values,
            read=lambda answer: str(read_form(answer.reply, form).model_dump()["notes"]),
            value=lambda notes: {"notes": notes, "status": "ok"},
            missing=lambda error: {"notes": "", "status": error.kind},
            once=True,
            **place,
        )
        return reading.value or ""

    async def reply(self, question: Question) -> Answer:
        """Call the model of a question and count its tokens; the reply is neither read nor recorded.

        Raises:
            EpisodeFailed: The call brought no reply.
        """
        try:
            answer = await self.call(self, question)
        except CallFailed as error:
            raise EpisodeFailed(question.role, str(error), arrived=False) from error
        if not question.shared:
            # Shared questions count for the run, not for an episode.
            self.usage.update(plus(self.usage, used(answer)))
        return answer

    async def each(self, ask: Callable[[Self, U], Awaitable[T]], items: Iterable[U]) -> list[T]:
        """Call `ask` for all items concurrently, and return the results; steps are recorded in the order of the items.

        After a failure the other replies are still awaited, since they are billed.

        Raises:
            LotbenchError: A failure that ends the run, else one that ends the episode.
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
        """Add a step without a model call to the trace; `round` None is the current round."""
        self.steps.append(remark(step, self.round if round is None else round, value))

    def again(self, reason: str) -> str:
        """Return a line that tells a model, in the sample's language, why its reply could not be read.

        If the prompts have a file `reasons`, its section for this reason (else `other`) replaces the English reason; numbers
        in the reason fill the fields `first` and `second`. If they have no file `lines`, the reason alone is returned.
        """
        pack = self.prompts.prompts.get(self.sample.language, {})
        reasons = pack.get("reasons")
        if reasons is not None:
            name = re.sub(r"[^a-z]+", "_", reason.lower()).strip("_")
            section = name if name in reasons.sections else "other"
            numbers = dict(zip(("first", "second"), re.findall(r"\d+", reason), strict=False))
            reason = reasons.line(section, **(numbers if section == name else {}))
        return self.line("again", reason=reason) if "lines" in pack else reason

    def _renderer(self, prompt: Prompt, form: type[Form] | None, values: Mapping[str, Value]) -> Render:
        """Return a function that fills the prompt with `values`, the example of a reply (`shape`) and the last fault (`again`).

        `shape` and `again` are left out if the prompt has no such field. No value can end its block (see `blocks`).
        """
        values = enclosed(prompt, values)

        def render(again: str | None) -> Sequence[Message]:
            ours: dict[str, Value] = {"shape": shape(form) if form else None, "again": again}
            return prompt.messages(
                **values, **{name: text for name, text in ours.items() if name in prompt.fields}
            )

        return render


class Node(Protocol):
    """A node of a graph, which asks models through `runtime.context` and returns its changes of the state."""

    async def __call__(self, state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
        """Run the node."""
        ...


def recorded(node: Node) -> Node:
    """Return a node that also adds its steps and usage to the state; if a role fails, it sets the outcome to ROLE_failed.

    The returned node raises LotbenchError if it changes an undeclared key of the state, which LangGraph would silently drop.
    """

    async def visited(state: EpisodeState, runtime: Any) -> Update:
        episode: AnyEpisode = runtime.context.at(state)
        try:
            update = await node(state, replace(runtime, context=episode))
        except EpisodeFailed as failed:
            update = {"outcome": f"{failed.role}_failed", "why": failed.why, "arrived": failed.arrived}
        if unknown := update.keys() - EpisodeState.__annotations__.keys():
            raise LotbenchError(f"a node changed {sorted(unknown)}, which no state declares")
        return {**update, "steps": episode.steps, "usage": episode.usage}

    return visited


async def visit(node: Node, state: State, episode: AnyEpisode) -> Update:
    """Run one node without a graph and return its changes of the state."""
    from langgraph import runtime  # noqa: PLC0415 - its import takes long, and most of what imports this plays nothing

    return await recorded(node)(EpisodeState(**state), runtime.Runtime(context=episode))  # type: ignore[typeddict-item]


def record(answer: Answer, value: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return the step of a trace for an answer and the value that was read."""
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
    """Return a step of a trace without a model call."""
    place: dict[str, JSON] = {"step": step, "round": round, "role": None, "draw": 0}
    return place | {"call": None, "value": dict(value), "seconds": 0.0}


def used(answer: Answer) -> dict[str, int]:
    """Return the calls (1) and tokens of one answer."""
    return {"calls": 1, **asdict(answer.reply.usage)}


async def nothing(state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
    """Return no update, as a node that has nothing to do: `judge` in a panel graph without judges."""
    return {}


async def scored(state: EpisodeState, runtime: Runtime[AnyEpisode]) -> Update:
    """Set the outcome `scored`, as the last node of a panel graph that needs no call there."""
    return {"outcome": "scored"}


async def nobody(episode: AnyEpisode, question: Question) -> Answer:
    """Refuse every question: the `call` of episodes that are graded without models.

    Raises:
        LotbenchError: Always.
    """
    raise LotbenchError(f"nobody is here to be asked: {question.role}, {question.step}")
