"""The path of every model call: look in the journal, reserve budget, wait for the rate, call, journal, settle.

A question that is answered in the journal costs nothing. A shared question is asked once for all episodes (single
flight): it is read from the store if any run has asked it before, and is copied into the journal.
"""

import asyncio
import hashlib
import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import orjson

from lotbench.calls.budget import UNSENT, Bucket, Budget, discarded, spending
from lotbench.calls.journal import Entry, Journal
from lotbench.calls.prices import Price, cost, prompt_tokens, total_cost
from lotbench.calls.store import Store, by_content
from lotbench.config.experiment import RoleSampling
from lotbench.errors import CallFailed
from lotbench.harness.episode import AnyEpisode
from lotbench.prompting.reply import HALVES, fills
from lotbench.types import MAX_CHARACTERS, Answer, Key, Model, Question, Reply, Request, Sampling, Usage

ALONE = 3
"""The number of failed calls of a kind that go alone under a limit; then so many go at once until one has replied."""


@dataclass(slots=True)
class RoleModel:
    """One model of a role, with its price and the rate limits of its endpoint.

    Attributes:
        price: None if it is unknown.
        requests: The limit on requests a minute; none by default.
        tokens: The limit on tokens a minute; none by default.
    """

    name: str
    model: Model
    price: Price | None
    requests: Bucket = field(default_factory=lambda: Bucket(None))
    tokens: Bucket = field(default_factory=lambda: Bucket(None))
    model_id: str = ""
    """The id that the model returned last; empty before its first reply."""
    address: str = ""
    """The address that belongs to the model's identity, or ""; see `config.model_names.address`."""
    outside: bool = False
    """Whether a person or another program replies (a stepped game): then no budget is reserved and no rate applies."""
    billed: bool = False
    """Whether replies cost money: if one comes without token counts, its usage is then estimated."""


@dataclass(slots=True)
class CallStats:
    """Counts of this session's calls, for the progress display."""

    calls: int = 0
    open: dict[str, tuple[float, str]] = field(default_factory=dict)
    """The start (monotonic seconds) and the model name of each call in flight, by key."""
    replied: float = field(default_factory=time.monotonic)
    """Time of the last reply (monotonic seconds)."""
    cost: float | None = 0.0
    """US dollars spent; None after a call to a model without a known price."""


@dataclass(eq=False)
class Caller:
    """The path from an episode's questions to the models of a run.

    Attributes:
        role_models: The models of each role, by index.
        sampling: The sampling parameters of each role, and whether its calls get a seed.
        journal: Records every reply.
        store: Keeps replies to shared questions across runs.
        budget: Counts the use of the run against its limits.
        seed: The seed of the run, from which the seeds of calls are derived.
        stats: Counts for the progress display.
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
    _longest: dict[tuple[str, str], int] = field(default_factory=dict)
    """The output tokens of the longest reply of each kind: step and model."""
    _input_factor: dict[str, float] = field(default_factory=dict)
    """The largest ratio of counted to estimated input tokens of each model, at least 1: pictures may count many times as much."""
    _first: dict[tuple[str, str], asyncio.Lock] = field(default_factory=partial(defaultdict, asyncio.Lock))
    _few: dict[tuple[str, str], asyncio.Semaphore] = field(
        default_factory=partial(defaultdict, partial(asyncio.Semaphore, ALONE))
    )
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The calls of each kind that went alone and failed."""

    async def ask(self, episode: AnyEpisode, question: Question) -> Answer:
        """Put a question of an episode to the model that its role and index name, and return the answer.

        Raises:
            CallFailed: The call brought no reply.
            Unescapable: No call to this model can succeed.
            LimitReached: A limit of the run is reached.
        """
        request = self.request(question, *owner(episode, question))
        if not question.shared:
            return Answer(question, request.key, await self._ask_once(question, request))
        name = str(request.key)
        task = self._shared.get(name)
        if task is None or task.done():
            task = self._shared[name] = asyncio.create_task(self._ask_once(question, request))
            task.add_done_callback(partial(self._forget_shared, name))
        # Another episode may have asked first, at another round or index: the answer must name this question.
        return Answer(question, request.key, await asyncio.shield(task))

    def _forget_shared(self, name: str, task: asyncio.Task[Reply]) -> None:
        """Drop the finished task of a shared question, which would keep its episode in memory; the journal has the reply."""
        if self._shared.get(name) is task:
            del self._shared[name]

    def request(self, question: Question, sample: str, repeat: int) -> Request:
        """Return the request of a question: model, messages, sampling, and a key with this sample and repeat."""
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
        return Request(key, role_model.name, question.messages, question.schema, sampling, question.role)

    async def close(self) -> None:
        """Cancel all open calls before the journal is closed."""
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
                role_model.model_id = entry.reply.model or role_model.model_id
                if remember := getattr(role_model.model, "remember", None):
                    remember(entry.reply)
                return entry.reply
            return await self._fetch(question, request, role_model)
        finally:
            self._open.discard(task)

    async def _fetch(self, question: Question, request: Request, role_model: RoleModel) -> Reply:
        """Return a reply that is not in the journal: from the store, or from the model."""
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
        # An unreadable reply must not be reused by later runs.
        if question.shared and (question.schema is None or fills(reply, question.schema)):
            self.store.put(request, reply, role_model.address)
        return reply

    async def _call(self, request: Request, role_model: RoleModel, entry: Callable[..., Entry]) -> Reply:
        """Call the model. Under a limit the first call of a kind goes alone: its server may not keep to `max_tokens`.

        A Python object is not told `max_tokens`, so all its calls go one after the other then.
        """
        kind = request.key.step, role_model.name
        if self.budget.limited and not role_model.outside and role_model.name.startswith("python:"):
            async with self._first["", role_model.name]:
                return await self._pay(request, role_model, entry)
        if self.budget.limited and not role_model.outside and kind not in self._longest:
            async with self._first[kind]:
                if kind not in self._longest and self._failed[kind] < ALONE:
                    try:
                        return await self._pay(request, role_model, entry)
                    except CallFailed:
                        self._failed[kind] += 1
                        raise
            # If a server answers nothing, not all calls need to fail one after the other: a few go at once.
            async with self._few[kind]:
                if kind not in self._longest:
                    return await self._pay(request, role_model, entry)
        return await self._pay(request, role_model, entry)

    async def _pay(self, request: Request, role_model: RoleModel, entry: Callable[..., Entry]) -> Reply:
        kind, price, stats = (request.key.step, role_model.name), role_model.price, self.stats
        estimated = prompt_tokens(request.messages, request.model)
        most = self._most(kind, estimated, request.sampling.max_tokens or 0)
        calls = 0 if role_model.outside else 1
        tokens, held = calls * (most.input_tokens + most.output_tokens), price.cost(most) if price else 0.0
        await self.budget.reserve(tokens, held)
        used: Usage = Usage()
        spent: float | None = 0.0
        place = str(request.key)
        count = partial(self._count_apart, role_model, entry, most)
        counting = discarded.set(partial(self._count_discarded, count))
        limited = spending.set(self.budget)
        try:
            await role_model.requests.take(calls, self.budget.patience)
            await role_model.tokens.take(calls * most.input_tokens, self.budget.patience)
            self.budget.refuse_late()
            started = _now()
            stats.open[place] = time.monotonic(), role_model.name
            reply = storable(await role_model.model(request))
            if role_model.billed and _uncounted(reply):
                count(None)
            used, spent = reply.usage, cost(price, reply)
            role_model.model_id = reply.model or role_model.model_id
            self.journal.put(entry("call", started, reply))
            stats.replied = time.monotonic()
        finally:
            # The provider may still finish and bill a call that is cut off, by a limit or an interruption.
            error = sys.exception()
            cut_off = isinstance(error, asyncio.CancelledError) and UNSENT not in getattr(
                error, "__notes__", ()
            )
            if cut_off and role_model.billed and place in stats.open:
                count(None)
            discarded.reset(counting)
            spending.reset(limited)
            stats.open.pop(place, None)
            self.budget.settle(tokens, held, used, spent or 0.0)
        # A server may count what no reply of this length can have.
        role_model.tokens.debit(calls * min(used.output_tokens, most.output_tokens))
        self._learn(kind, estimated, reply)
        stats.calls += 1
        stats.cost = total_cost((stats.cost, spent))
        return reply

    def _most(self, kind: tuple[str, str], estimated: int, max_tokens: int) -> Usage:
        """Return the largest expected usage of a call with so many estimated input tokens."""
        factor = self._input_factor.get(kind[1], 1.0)
        return Usage(math.ceil(factor * estimated), 0, max(self._longest.get(kind, 0), max_tokens))

    def _learn(self, kind: tuple[str, str], estimated: int, reply: Reply) -> None:
        """Take note of what a reply used; an empty one without tokens, for a refused request, says nothing."""
        used, model = reply.usage, kind[1]
        if reply.text or used.output_tokens:
            self._longest[kind] = max(self._longest.get(kind, 0), used.output_tokens)
            self._input_factor[model] = max(self._input_factor.get(model, 1.0), used.input_tokens / estimated)

    def _count_discarded(self, count: Callable[[Usage | None], None], used: Usage | None) -> None:
        """Count the usage of a reply that was billed and cannot be used; `used` is None if unknown.

        Raises:
            LimitReached: A limit is now exceeded.
        """
        count(used)
        self.budget.refuse_late()
        self.budget.refuse_beyond()

    def _count_apart(
        self, role_model: RoleModel, entry: Callable[..., Entry], most: Usage, used: Usage | None
    ) -> None:
        """Count usage that the journal lacks, in the budget and in discarded.jsonl: `used`, or `most` if that is None.

        `entry` makes a line of the file from its source, time and reply.
        """
        usage, stats = used or most, self.stats
        reply = Reply("", role_model.model_id, usage=usage)
        self.journal.discard(entry("discarded" if used else "assumed", _now(), reply))
        spent = cost(role_model.price, reply)
        self.budget.count(usage, spent or 0.0)
        stats.cost = total_cost((stats.cost, spent))


def owner(episode: AnyEpisode, question: Question) -> tuple[str, int]:
    """Return the sample id and the repeat that go into the key of a question; the repeat of a shared question is 0."""
    return question.about or episode.sample.id, 0 if question.shared else episode.repeat


def sampling(default: Sampling, ours: RoleSampling | None, seeded: bool) -> tuple[Sampling, bool]:
    """Return the sampling parameters of a role, and whether its calls get a seed.

    Args:
        default: The benchmark's parameters.
        ours: The experiment's parameters, which override the others; None if it has none for the role.
        seeded: Whether calls get a seed if the experiment does not say.
    """
    if ours is None:
        return default, seeded
    overrides = ours.model_dump(exclude_none=True, exclude={"seed"})
    return replace(default, **overrides), seeded if ours.seed is None else ours.seed


def _uncounted(reply: Reply) -> bool:
    """Return whether a reply lacks token counts; False for one of 0 seconds, which was made here for a refused request."""
    usage = reply.usage
    written = reply.text or reply.reasoning
    return reply.seconds > 0 and not (usage.input_tokens and (usage.output_tokens or not written))


def _now() -> float:
    return round(time.time(), 3)


def storable(reply: Reply) -> Reply:
    """Return the reply as a journal can hold it: each text at most MAX_CHARACTERS long, and without lone surrogates.

    JSON can hold these, UTF-8 cannot; each becomes U+FFFD. A reply that is cut has the finish reason `length`.
    """
    texts = {name: getattr(reply, name) for name in ("text", "model", "reasoning", "refusal")}
    said = {name: text for name, text in texts.items() if isinstance(text, str)}
    whole: dict[str, Any] = {name: HALVES.sub("\ufffd", text[:MAX_CHARACTERS]) for name, text in said.items()}
    if (longest := max(map(len, said.values()), default=0)) > MAX_CHARACTERS:
        whole |= {"finish": "length", "sent": {**reply.sent, "cut_from": longest}}
    return replace(reply, **whole)
