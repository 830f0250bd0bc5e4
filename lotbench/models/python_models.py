"""Models that are Python objects: functions and LangChain chat models (which may also be given by name).

They get messages in OpenAI's format and no schema. Their exceptions become CallFailed, or Unescapable if no call can
succeed.
"""

import asyncio
import json
import math
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from secrets import token_hex
from traceback import extract_tb
from types import FunctionType, MethodType
from typing import Any

import orjson
from pydantic import SecretStr, TypeAdapter, ValidationError

from lotbench.calls.budget import discarded
from lotbench.calls.caller import storable
from lotbench.config.model_names import ModelName
from lotbench.errors import CallFailed, Unescapable, UsageError, faults_of, install_hint
from lotbench.models import chat_format
from lotbench.models.person import in_daemon_thread
from lotbench.models.retrying import MALFORMED_TRIES, PASSING, PassingError
from lotbench.types import Reply, Request, Sampling, Usage

_KEY_NAME = re.compile(r"(?i)(?:key|token|secret|password)$")
"""Matches the names of environment variables that hold a key."""
SHORTEST_KEY = 8
"""The least number of characters of a key; masking shorter values would mask words."""

TRANSPORT = frozenset(
    {"httpx", "httpx2", "httpcore", "httpcore2", "h11", "h2", "aiohttp", "urllib3", "requests", "json"}
)
"""The modules of errors of connections and unreadable responses."""
UNCONNECTED = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"})
"""The names of errors before anything is sent, of httpx and Python; after others a provider may bill the call."""
_MARKS: dict[tuple[int, ...], tuple[str, object]] = {}
"""The marks of objects in this process; it keeps the objects too, so that no other has the same number."""
NAMED = set[type]()
"""The classes of lotbench itself whose objects need no mark: the ids of their replies name them; a subclass is none."""
_REPLY = TypeAdapter(Reply)
_RETURNS = "text, a dictionary or a lotbench.types.Reply"


@dataclass(frozen=True, slots=True, eq=False)
class CallableModel:
    """A model made from a callable from OpenAI-style messages to text.

    Attributes:
        call: The callable, async or not; it returns text, a mapping (which is sent on as JSON) or a Reply.
        picture: Maps the sha256 of a picture to its data URL.
        model_id: The model id of replies that name none.
        timeout_s: The time limit of a call in seconds; None for no limit.
        takes_requests: Whether it gets the request itself instead of messages.
        mark: What is put after the model ids of its replies; see `own_mark`.
    """

    call: Callable[[Any], Any]
    picture: chat_format.Picture
    model_id: str
    timeout_s: float | None = None
    takes_requests: bool = False
    mark: str = ""

    async def __call__(self, request: Request) -> Reply:
        """Call the callable with a request or its messages and return its reply.

        Raises:
            CallFailed: The callable raised an exception, or took too long.
            Unescapable: It returned something else, or raised an error with status 401, 402, 403 or 404.
        """
        heard = request if self.takes_requests else chat_format.messages(request, self.picture)
        started = time.monotonic()
        answer = await _await_reply(self.model_id, _called(self.call, heard), self.timeout_s, self.call)
        return self._reply(answer, round(time.monotonic() - started, 3))

    def _reply(self, answer: object, seconds: float) -> Reply:
        """Return what the callable returned as a reply that a journal can hold and give back."""
        try:
            if isinstance(answer, Mapping):
                answer = json.dumps(dict(answer), ensure_ascii=False)
            if isinstance(answer, str):
                answer = Reply(answer, "", seconds=seconds)
            if isinstance(answer, Reply):
                read = _REPLY.validate_json(orjson.dumps(storable(answer)), strict=True)
                reply = _keyless(read, _secrets(self.call))
                return replace(reply, model=(reply.model or self.model_id) + self.mark)
            why = f"returned {type(answer).__name__}"
        except ValidationError as error:
            why = f"returned a Reply with a fault: {faults_of(error)[0]}"
        except (TypeError, ValueError, RecursionError) as error:
            why = f"returned what JSON cannot hold: {error}"
        raise Unescapable(f"{self.model_id}: {why}; it has to return {_RETURNS}")


@dataclass(frozen=True, slots=True, eq=False)
class LangChainModel:
    """A LangChain chat model, called by `ainvoke`.

    Attributes:
        chat: Returns the chat model for the sampling parameters of a request.
        picture: Maps the sha256 of a picture to its data URL.
        timeout_s: The time limit of a call in seconds; None for no limit.
        model_id: The model id of replies that name none; if empty, the name of the chat model object.
        mark: What is put after the model ids of its replies; see `own_mark`.
        again: Calls a function again after passing errors (`retrying.retried`, with all arguments but `once` and `place`); None
            if the chat model retries itself.
    """

    chat: Callable[[Sampling], Any]
    picture: chat_format.Picture
    timeout_s: float | None = None
    model_id: str = ""
    mark: str = ""
    again: Callable[..., Awaitable[Reply]] | None = None

    async def __call__(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            CallFailed: The chat model raised an exception, or took too long.
            Unescapable: The server refused the key, the model or the payment; or it returned no message.
        """
        if self.again is None:
            return await self._once(request)
        return await self.again(partial(self._passing, request), place=request.key)

    async def _passing(self, request: Request) -> Reply:
        """Make one attempt; raise PassingError if another may succeed."""
        try:
            return await self._once(request)
        except _ForeignError as failed:
            causes = list(_causes(failed.error))
            statuses = [getattr(error, name, None) for error in causes for name in ("status_code", "code")]
            status = next((status for status in statuses if isinstance(status, int)), None)
            if status is not None:
                if status in PASSING or status >= 500:
                    raise PassingError(str(failed)) from None
                raise
            # Before a connection is open nothing is billed.
            sent = not UNCONNECTED & {type(error).__name__ for error in causes}
            if TRANSPORT & {type(error).__module__.partition(".")[0] for error in causes}:
                tries = MALFORMED_TRIES if sent else math.inf
                raise PassingError(str(failed), tries=tries, billed=sent) from None
            discarded.get()(None)
            raise

    async def _once(self, request: Request) -> Reply:
        chat = self.chat(request.sampling)
        named = getattr(chat, "model_name", None) or getattr(chat, "model", None) or type(chat).__name__
        name = self.model_id or str(named)
        started = time.monotonic()
        messages = chat_format.messages(request, self.picture)
        answering = chat.ainvoke(messages, chat_format.callback_config(request))
        message = await _await_reply(name, answering, self.timeout_s, chat)
        if not hasattr(message, "usage_metadata"):
            raise Unescapable(
                f"{name}: ainvoke returned {type(message).__name__}, not the message of a chat model"
            )
        reply = chat_format.reply(message, time.monotonic() - started, {})
        if chat_format.broken(message):
            discarded.get()(reply.usage if reply.usage != Usage() else None)
            raise CallFailed(f"{name}: the server failed while it wrote")
        reply = _keyless(reply, _secrets(chat))
        return replace(reply, model=(reply.model or name) + self.mark)


def chat_maker(name: ModelName) -> Callable[[Sampling], Any]:
    """Return a function that makes the LangChain chat model of a name for given sampling parameters.

    Only temperature and max_tokens are passed on. A chat model is made once for the same parameters. It retries nothing, since
    its own tries would be counted nowhere.

    Raises:
        UsageError: The provider's package is not installed, or it refuses the model.
    """

    @cache
    def make_chat(sampling: Sampling) -> Any:
        try:
            from langchain.chat_models import init_chat_model
        except ImportError:
            raise UsageError(f"{name.text} needs langchain: {install_hint('langchain')}") from None
        settings = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
        chosen: dict[str, Any] = {what: value for what, value in settings.items() if value is not None}
        try:
            return init_chat_model(name.model, model_provider=name.provider, max_retries=0, **chosen)
        except Exception as error:  # noqa: BLE001 - every provider has its own for a key that is not set
            # LangChain's message names the missing package.
            raise UsageError(f"{name.text}: {chat_format.short(str(error), *_secrets())}") from None

    make_chat(Sampling())
    return lambda sampling: make_chat(replace(sampling, seed=None))


def own_mark(model: object) -> str:
    """Return a mark for the ids of a Python object that judges or answers; no other object and no other process has it.

    Nothing shows all that the replies of an object depend on: its helpers, clients and prompts may be anywhere. So a check
    of it counts for this object in this process alone, whatever id its replies name. A method counts as its object and its
    function. Only models of lotbench itself have no mark (`NAMED`).
    """
    if type(model) in NAMED:
        return ""
    parts = (model.__self__, model.__func__) if isinstance(model, MethodType) else (model,)
    return "#" + _MARKS.setdefault(tuple(map(id, parts)), (token_hex(4), model))[0]


async def _called(call: Callable[[Any], Any], heard: object) -> Any:
    """Call a callable and return its result; one that is not async runs in a daemon thread, which no process waits for."""
    if iscoroutinefunction(call) or iscoroutinefunction(type(call).__call__):
        return await call(heard)
    answer = await in_daemon_thread(partial(call, heard))
    return await answer if isawaitable(answer) else answer


def _secrets(chat: object = None) -> list[str]:
    """Return the API keys that an error of foreign code may repeat: those in the environment and in a chat model."""
    fields = getattr(chat, "__dict__", {}).values()
    held = [field.get_secret_value() for field in fields if isinstance(field, SecretStr)]
    named = [value.strip() for name, value in os.environ.items() if _KEY_NAME.search(name)]
    return [key for key in named + held if len(key) >= SHORTEST_KEY]


def _keyless(reply: Reply, secrets: Sequence[str]) -> Reply:
    """Return a reply with `***` in place of API keys, since some servers repeat them; its model id is cut to MAX_ID characters."""
    said = {what: text for what in ("text", "reasoning", "refusal") if (text := getattr(reply, what))}
    clean: dict[str, Any] = {what: chat_format.keyless(text, *secrets) for what, text in said.items()}
    model_id = chat_format.masked(reply.model, *secrets)[: chat_format.MAX_ID]
    return replace(reply, model=model_id, **clean)


async def _await_reply(name: str, answering: Awaitable[Any], timeout_s: float | None, model: object) -> Any:
    """Wait for a call of foreign code and return its result; turn its exceptions into ours, with keys masked.

    Raises:
        CallFailed: The call raised an exception, or took longer than `timeout_s`.
        Unescapable: It raised an error with status 401, 402, 403 or 404.
    """
    call = asyncio.ensure_future(_outcome(answering))
    try:
        await asyncio.wait([call], timeout=timeout_s)
    finally:
        # A function may go on nevertheless; nobody waits for it.
        call.cancel()
    if not call.done():
        # The provider may still finish and bill the call.
        discarded.get()(None)
        raise CallFailed(f"{name}: no answer within {timeout_s:g} s")
    answer, error = call.result()
    if error is None:
        return answer
    if isinstance(error, (Unescapable, CallFailed, KeyboardInterrupt)):
        raise error
    said = f"{name}: {type(error).__name__}: {error}{_place(error, model)}"
    hopeless = getattr(error, "status_code", None) in (401, 402, 403, 404)
    said = chat_format.masked(said, *_secrets(model))
    raise Unescapable(said) if hopeless else _ForeignError(said, error)


class _ForeignError(CallFailed):
    """Foreign code raised an error, which is kept."""

    def __init__(self, said: str, error: BaseException) -> None:
        super().__init__(said)
        self.error = error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


async def _outcome(answering: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """Return the result of a call, or the error that it raised: SystemExit from a task would end the event loop."""
    try:
        return await answering, None
    except BaseException as error:  # noqa: BLE001 - foreign code raises anything
        return None, error


def _place(error: BaseException, model: object) -> str:
    """Return the file and the line at which the code of a function raised an error; "" for another callable."""
    if not isinstance(model, FunctionType):
        return ""
    file = model.__code__.co_filename
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}, line {lines[-1]})" if lines else ""
