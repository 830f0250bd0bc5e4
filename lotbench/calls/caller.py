"""The caller, which every call passes: journal, budget, rate, model, journal, budget.

A question that the journal has a reply to costs nothing. A shared question is asked once for all episodes at
the same time (single flight), taken from the store if any run ever asked it, and copied into the journal.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from lotbench.calls.budget import Bucket, Budget, discarded
from lotbench.calls.journal import Entry, Journal
from lotbench.calls.prices import Price, cost
from lotbench.calls.store import Store, by_content
from lotbench.config.experiment import RoleSampling
from lotbench.harness.episode import AnyEpisode
from lotbench.prompting.reply import HALVES, fills
from lotbench.types import Answer, Key, Model, Question, Reply, Request, Sampling, Usage

PICTURE_TOKENS = 1_000
CHARACTERS_A_TOKEN = 3
REPLY_TOKENS = 300
"""What a reply is thought to cost before any has come."""


@dataclass(slots=True)
class RoleModel:
    """A model at its place in a role, with its price and the rate of its endpoint."""

    name: str
    model: Model
    price: Price | None
    requests: Bucket
    tokens: Bucket
    model_id: str = ""
    """The id that the model returned last; empty before its first reply."""
    address: str = ""
    """See `config.model_names.address`."""
    outside: bool = False
    """Whether somebody outside replies, whenever it suits: nothing is set aside for that, and no rate holds it up."""


@dataclass(slots=True)
class CallStats:
    """What this session has asked, for the progress display."""

    in_flight: int = 0
    calls: int = 0
    open: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The calls in flight by key: since when (monotonic seconds), and of which model."""
    replied: float = field(default_factory=time.monotonic)
    """When the last reply came."""
    cost: float | None = 0.0
    """US dollars; None once a model is asked that has no price."""


@dataclass(eq=False)
class Caller:
    """Asks questions of the models of a run.

    Attributes:
        role_models: The models of each role, by index.
        sampling: How each role's replies are drawn, and whether a seed is sent.
        journal: Where every reply goes.
        store: Where replies to shared questions are kept.
        budget: What the run may still use.
        seed: The seed of the run.
    """

    role_models: Mapping[str, tuple[RoleModel, ...]]
    sampling: Mapping[str, tuple[Sampling, bool]]
    journal: Journal
    store: Store
    budget: Budget
    seed: int
    stats: CallStats = field(default_factory=CallStats)
    _shared: dict[str, asyncio.Task[Reply]] = field(default_factory=dict)
    _open: set[asyncio.Task[Any]] = field(default_factory=set)
    """The tasks that wait for a reply."""
    _mean_reply: dict[str, float] = field(default_factory=dict)

    async def ask(self, episode: AnyEpisode, question: Question) -> Answer:
        """Put a question to the model of its role and index.

        Raises:
            CallFailed: No reply came.
            Unescapable: None can come.
            LimitReached: A budget is used up.
        """
        request = self.request(question, *owner(episode, question))
        if not question.shared:
            return Answer(question, request.key, await self._ask_once(question, request))
        name = str(request.key)
        task = self._shared.get(name)
        if task is None or task.done():
            task = self._shared[name] = asyncio.create_task(self._ask_once(question, request))
            task.add_done_callback(partial(self._forget_shared, name))
        # Whoever asked first, the answer is one to this question (of another round, another index).
        return Answer(question, request.key, await asyncio.shield(task))

    def _forget_shared(self, name: str, task: asyncio.Task[Reply]) -> None:
        """Let go of a shared question: the journal has the reply, and the task would keep the episode that asked."""
        if self._shared.get(name) is task:
            del self._shared[name]

    def request(self, question: Question, sample: str, repeat: int) -> Request:
        """Return a question as it is addressed to its model, with its key."""
        role_model = self.role_models[question.role][question.index]
        sampling, seeded = self.sampling[question.role]
        if question.temperature is not None:
            sampling = replace(sampling, temperature=question.temperature)
        place = (sample, repeat, question.round, question.step, question.draw, question.attempt)
        if seeded:
            # A shared question outlives the run, so the run's seed must not be part of it.
            first = "shared" if question.shared else str(self.seed)
            text = ":".join(map(str, (first, *place)))
            sampling = replace(sampling, seed=int(hashlib.sha256(text.encode()).hexdigest()[:7], 16))
        meant: dict[str, Any] = {
            "model": role_model.name,
            "messages": [[m.speaker, [by_content(part) for part in m.parts]] for m in question.messages],
            "schema": question.schema,
            "sampling": [sampling.temperature, sampling.top_p, sampling.seed, sampling.max_tokens],
        }
        canonical = orjson.dumps(meant, option=orjson.OPT_SORT_KEYS)
        key = Key(*place, digest=hashlib.sha256(canonical).hexdigest()[:16])
        return Request(
            key,
            role_model.name,
            question.messages,
            question.schema,
            sampling,
            question.role,
        )

    async def close(self) -> None:
        """Give up the questions that no episode waits for any more: the journal is about to be closed."""
        tasks = {*self._open, *self._shared.values()} - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask_once(self, question: Question, request: Request) -> Reply:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if not question.shared:
                self.journal.ask(request.key)
            role_model = self.role_models[question.role][question.index]
            if (entry := self.journal.get(request.key)) is not None:
                role_model.model_id = entry.reply.model
                return entry.reply
            return await self._fetch(question, request, role_model)
        finally:
            self._open.discard(task)

    async def _fetch(self, question: Question, request: Request, role_model: RoleModel) -> Reply:
        """Return a reply that this run does not have: of the store, or of the model."""
        entry = partial(Entry, request.key, question.role, question.index, role_model.name)
        if question.shared and role_model.model_id:
            stored_reply = self.store.get(request, role_model.model_id, role_model.address)
            if stored_reply is not None:
                self.journal.put(entry("store", _now(), stored_reply))
                return stored_reply
        try:
            reply = await self._call(request, role_model, entry)
        except BaseException:
            self.journal.forget(request.key)
            raise
        # A reply that nobody can read must not come back in every run from now on.
        if question.shared and (question.schema is None or fills(reply, question.schema)):
            self.store.put(request, reply, role_model.address)
        return reply

    async def _call(self, request: Request, role_model: RoleModel, entry: Callable[..., Entry]) -> Reply:
        step, price, stats = request.key.step, role_model.price, self.stats
        input_tokens, output_tokens = _estimate(request), round(self._mean_reply.get(step, REPLY_TOKENS))
        calls = 0 if role_model.outside else 1
        tokens = calls * (input_tokens + output_tokens)
        held = price.of(Usage(input_tokens, 0, output_tokens)) if price else 0.0
        self.budget.reserve(tokens, held)
        used, spent = Usage(), 0.0
        stats.in_flight += 1
        place = str(request.key)
        most = Usage(input_tokens, 0, max(output_tokens, request.sampling.max_tokens or 0))
        counting = discarded.set(partial(self._count_discarded, role_model, entry, most))
        try:
            await role_model.requests.take(calls)
            await role_model.tokens.take(tokens)
            self.budget.refuse_late()
            started = _now()
            stats.open[place] = time.monotonic(), role_model.name
            reply = storable(await role_model.model(request))
            used, spent = reply.usage, cost(price, reply) if price else 0.0
            role_model.model_id = reply.model
            self.journal.put(entry("call", started, reply))
            stats.replied = time.monotonic()
        finally:
            discarded.reset(counting)
            stats.in_flight -= 1
            stats.open.pop(place, None)
            self.budget.settle(tokens, held, used, spent)
        before = self._mean_reply.get(step, used.output_tokens)
        self._mean_reply[step] = 0.9 * before + 0.1 * used.output_tokens
        stats.calls += 1
        stats.cost = None if stats.cost is None or price is None else stats.cost + spent
        return reply

    def _count_discarded(
        self, role_model: RoleModel, entry: Callable[..., Entry], most: Usage, used: Usage | None
    ) -> None:
        """Count a reply that is paid for and cannot be used; what it used, if that is not told, as it was reserved.

        Raises:
            LimitReached: Another try could exceed a limit.
        """
        usage, stats, price = used or most, self.stats, role_model.price
        reply = Reply("", role_model.model_id, usage=usage)
        self.journal.discard(entry("discarded" if used else "assumed", _now(), reply))
        spent = price.of(usage) if price else 0.0
        self.budget.count(usage, spent)
        stats.cost = None if stats.cost is None or price is None else stats.cost + spent
        self.budget.reserve(0, 0.0)


def owner(episode: AnyEpisode, question: Question) -> tuple[str, int]:
    """Return the sample and the repeat under which an episode's question is asked."""
    return question.about or episode.sample.id, 0 if question.shared else episode.repeat


def sampling(default: Sampling, ours: RoleSampling | None, seeded: bool) -> tuple[Sampling, bool]:
    """Return a role's sampling: the benchmark's, with what the experiment says instead; and whether it is seeded."""
    if ours is None:
        return default, seeded
    overrides = ours.model_dump(exclude_none=True, exclude={"seed"})
    return replace(default, **overrides), seeded if ours.seed is None else ours.seed


def _now() -> float:
    return round(time.time(), 3)


def _estimate(request: Request) -> int:
    """Return the input tokens of a request, roughly and rather too many."""
    return sum(
        len(part) // CHARACTERS_A_TOKEN + 1 if isinstance(part, str) else PICTURE_TOKENS
        for message in request.messages
        for part in message.parts
    )


def storable(reply: Reply) -> Reply:
    """Return a reply that can be written down: half a character pair, which JSON can hold and UTF-8 cannot, is replaced."""
    texts = {name: getattr(reply, name) for name in ("text", "model", "reasoning", "refusal")}
    whole: dict[str, Any] = {name: HALVES.sub("\ufffd", text) for name, text in texts.items() if text}
    return replace(reply, **whole)
