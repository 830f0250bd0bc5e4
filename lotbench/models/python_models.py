"""Models given as Python objects: any async callable, and any LangChain chat model, which may be named instead.

They see OpenAI-style messages and nothing else of the run; what they raise is a call without a reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from typing import Any

from lotbench.calls.budget import discarded
from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName
from lotbench.errors import CallFailed, Unescapable, UsageError
from lotbench.models import chat_format
from lotbench.types import Reply, Request, Sampling


class CallableModel:
    """A model that is one async callable from OpenAI-style messages to text.

    Args:
        call: The callable; it may return a whole Reply instead of text.
        picture: The data URL of a picture.
        model_id: The name under which its replies are recorded.
        timeout_s: Seconds that one call may take; None waits for ever.
    """

    def __init__(
        self,
        call: Callable[[list[dict[str, Any]]], Awaitable[str | Reply]],
        picture: chat_format.Picture,
        model_id: str,
        timeout_s: float | None = None,
    ) -> None:
        self._call = call
        self._picture = picture
        self._id = model_id
        self._timeout_s = timeout_s

    async def __call__(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            CallFailed: The callable raised something, or took too long.
            Unescapable: It returned something that is no text.
        """
        messages = chat_format.body(request, self._id, chat_format.Abilities(), self._picture)["messages"]
        started = time.monotonic()
        answer = await _await_reply(self._id, self._call(messages), self._timeout_s)
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise Unescapable(f"{self._id}: returned {type(answer).__name__}, not text")
        return Reply(answer, self._id, seconds=round(time.monotonic() - started, 3))


class LangChainModel:
    """Any LangChain chat model, through its `ainvoke`.

    Args:
        chat: The chat model for a sampling; an object that was given keeps its own sampling.
        picture: The data URL of a picture.
        timeout_s: Seconds that one call may take; None waits for ever.
        model_id: The name under which replies are recorded that name no model; by default what the object is called.
    """

    def __init__(
        self,
        chat: Callable[[Sampling], Any],
        picture: chat_format.Picture,
        timeout_s: float | None = None,
        model_id: str = "",
    ) -> None:
        self._chat = chat
        self._picture = picture
        self._timeout_s = timeout_s
        self._id = model_id

    async def __call__(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            CallFailed: The chat model raised something, or took too long.
            Unescapable: Its server refused the key, the model or the payment.
        """
        chat = self._chat(request.sampling)
        named = getattr(chat, "model_name", None) or getattr(chat, "model", None) or type(chat).__name__
        name = self._id or str(named)
        messages = chat_format.body(request, name, chat_format.Abilities(), self._picture)["messages"]
        started = time.monotonic()
        message = await _await_reply(name, chat.ainvoke(messages, chat_format.told(request)), self._timeout_s)
        reply = chat_format.reply(message, time.monotonic() - started, {})
        return reply if reply.model else replace(reply, model=name)


def chat_maker(name: ModelName, limits: Limits) -> Callable[[Sampling], Any]:
    """Make the LangChain chat model of a name for a sampling, one for each sampling.

    Raises:
        UsageError: The package of its provider is not installed, or it has no such model.
    """

    @cache
    def made(sampling: Sampling) -> Any:
        try:
            from langchain.chat_models import init_chat_model
        except ImportError:
            raise UsageError(f"{name.text} needs langchain: pip install 'lotbench[langchain]'") from None
        settings = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
        chosen: dict[str, Any] = {what: value for what, value in settings.items() if value is not None}
        try:
            return init_chat_model(
                name.model, model_provider=name.provider, max_retries=limits.retries, **chosen
            )
        except Exception as error:  # noqa: BLE001 - every provider has its own for a key that is not set
            # LangChain says which package is wanted.
            raise UsageError(f"{name.text}: {chat_format.short(str(error), '')}") from None

    made(Sampling())
    return lambda sampling: made(replace(sampling, seed=None))


async def _await_reply(name: str, answering: Awaitable[Any], timeout_s: float | None) -> Any:
    """Return what comes of foreign code; its errors become ours."""
    try:
        async with asyncio.timeout(timeout_s) as patience:
            return await answering
    except (Unescapable, CallFailed):
        raise
    except Exception as error:
        if patience.expired():
            # Whoever is asked may go on and be paid for it.
            discarded.get()(None)
            raise CallFailed(f"{name}: no answer within {timeout_s:g} s") from None
        message = f"{name}: {type(error).__name__}: {error}"
        if getattr(error, "status_code", None) in (401, 402, 403, 404):
            raise Unescapable(message) from error
        raise CallFailed(message) from error
