"""Models given as Python objects: any async callable, and any LangChain chat model.

Both see OpenAI-style messages and nothing else of the run; what they raise is a call without a reply.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from lotbench.edge.models import chat_format
from lotbench.errors import CallFailed, Unescapable
from lotbench.types import Reply, Request


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
        answer = await _heard(self._id, self._call(messages), self._timeout_s)
        if isinstance(answer, Reply):
            return answer
        if not isinstance(answer, str):
            raise Unescapable(f"{self._id}: returned {type(answer).__name__}, not text")
        return Reply(answer, self._id, seconds=round(time.monotonic() - started, 3))


class LangChainModel:
    """Any LangChain chat model, through its `ainvoke`; the sampling is its own.

    Args:
        chat: The chat model.
        picture: The data URL of a picture.
        timeout_s: Seconds that one call may take; None waits for ever.
    """

    def __init__(self, chat: Any, picture: chat_format.Picture, timeout_s: float | None = None) -> None:
        self._chat = chat
        self._picture = picture
        self._timeout_s = timeout_s
        named = getattr(chat, "model_name", None) or getattr(chat, "model", None)
        self._id = str(named or type(chat).__name__)

    async def __call__(self, request: Request) -> Reply:
        """Answer a request.

        Raises:
            CallFailed: The chat model raised something, or took too long.
            Unescapable: Its server refused the key, the model or the payment.
        """
        messages = chat_format.body(request, self._id, chat_format.Abilities(), self._picture)["messages"]
        started = time.monotonic()
        answer = await _heard(self._id, self._chat.ainvoke(messages), self._timeout_s)
        told: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
        details = told.get("input_token_details") or {}
        counts = {
            "prompt_tokens": told.get("input_tokens"),
            "completion_tokens": told.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": details.get("cache_read")},
        }
        meta: Mapping[str, Any] = getattr(answer, "response_metadata", None) or {}
        return Reply(
            text=chat_format.said(answer.content),
            model=str(meta.get("model_name") or self._id),
            finish=chat_format.finish(meta.get("finish_reason") or meta.get("stop_reason") or "stop"),
            usage=chat_format.usage(counts),
            seconds=round(time.monotonic() - started, 3),
        )


async def _heard(name: str, answering: Awaitable[Any], timeout_s: float | None) -> Any:
    """What comes of foreign code; its errors become ours."""
    try:
        async with asyncio.timeout(timeout_s) as patience:
            return await answering
    except (Unescapable, CallFailed):
        raise
    except Exception as error:
        if patience.expired():
            raise CallFailed(f"{name}: no answer within {timeout_s:g} s") from None
        told = f"{name}: {type(error).__name__}: {error}"
        if getattr(error, "status_code", None) in (401, 402, 403, 404):
            raise Unescapable(told) from error
        raise CallFailed(told) from error
