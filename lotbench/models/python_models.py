"""Models that are Python objects: async callables and LangChain chat models (which may also be given by name).

They get OpenAI-style messages only. Their exceptions count as calls without a reply.
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
    """A model made from an async callable from OpenAI-style messages to text.

    Args:
        call: The callable; it returns text or a Reply.
        picture: Maps the sha256 of a picture to its data URL.
        model_id: The model id in its replies.
        timeout_s: The time limit of a call in seconds; None for no limit.
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
            CallFailed: The callable raised an exception, or took too long.
            Unescapable: It returned neither text nor a Reply.
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
    """A LangChain chat model, called by `ainvoke`.

    Args:
        chat: Returns the chat model for a sampling.
        picture: Maps the sha256 of a picture to its data URL.
        timeout_s: The time limit of a call in seconds; None for no limit.
        model_id: The model id of replies that name none; by default the object's own name.
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
            CallFailed: The chat model raised an exception, or took too long.
            Unescapable: The server refused the key, the model or the payment.
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
    """Return a function from a sampling to the LangChain chat model of a name; models are cached by sampling.

    Raises:
        UsageError: The provider's package is not installed, or it refuses the model.
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
            # LangChain's message names the missing package.
            raise UsageError(f"{name.text}: {chat_format.short(str(error), '')}") from None

    made(Sampling())
    return lambda sampling: made(replace(sampling, seed=None))


async def _await_reply(name: str, answering: Awaitable[Any], timeout_s: float | None) -> Any:
    """Wait for a call of foreign code and turn its exceptions into ours."""
    try:
        async with asyncio.timeout(timeout_s) as patience:
            return await answering
    except (Unescapable, CallFailed):
        raise
    except Exception as error:
        if patience.expired():
            # The provider may still finish and bill the call.
            discarded.get()(None)
            raise CallFailed(f"{name}: no answer within {timeout_s:g} s") from None
        message = f"{name}: {type(error).__name__}: {error}"
        if getattr(error, "status_code", None) in (401, 402, 403, 404):
            raise Unescapable(message) from error
        raise CallFailed(message) from error
