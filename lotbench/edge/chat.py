"""Models behind an OpenAI-compatible API, any LangChain chat model, and any async callable.

langchain-openai's ChatOpenAI holds key, base URL and options; the hot path posts through its client
without building typed objects, which halves the CPU of a call. Retries are made in one place, that client:
its response hook only tells it what cannot get better (no credit) and counts what waits.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from lotbench.config import Limits
from lotbench.edge import wire
from lotbench.errors import CallFailed, Unescapable, UsageError
from lotbench.names import ModelName
from lotbench.types import Reply, Request

MALFORMED_TRIES = 3
"""Times that a response which is no chat completion is asked for."""


@dataclass(slots=True)
class Waiting:
    """How many calls wait to be tried again; for the progress display."""

    retries: int = 0


def key(name: ModelName) -> str:
    """The API key of a model, from the environment.

    Raises:
        UsageError: The variable is not set; the message names it and a way to try without one.
    """
    if name.key is None:
        return "none"
    value = os.environ.get(name.key)
    if value:
        return value
    if name.key == "LOTBENCH_API_KEY":
        return "none"
    raise UsageError(
        f"{name.text}: ${name.key} is not set; to try without a key: make evaluate, or --model local"
    )


class ChatModel:
    """A model behind an OpenAI-compatible API.

    Args:
        name: The model name, read.
        picture: The data URL of a picture.
        limits: Timeout, retries and the longest wait.
        waiting: Where calls that wait to be tried again are counted.
        url: Replaces the base URL of the name (an embedded server).
        secret: Replaces the key of the name.
    """

    def __init__(
        self,
        name: ModelName,
        picture: wire.Picture,
        limits: Limits,
        waiting: Waiting,
        *,
        url: str = "",
        secret: str = "",
    ) -> None:
        self.name = name
        self.url = url or name.url
        if name.provider == "openai":
            self.url = os.environ.get("OPENAI_BASE_URL") or self.url
        self._secret = secret or key(name)
        self._picture = picture
        self._limits = limits
        self._waiting = waiting
        openai = self.url.startswith("https://api.openai.com")
        self._able = wire.Abilities(
            structured="json_schema_unbounded" if openai else "json_schema",
            max_tokens="max_completion_tokens" if openai else "max_tokens",
            detail=openai,
        )
        self._client: Any = None

    async def __call__(self, request: Request) -> Reply:
        """Answer a request; what the endpoint refuses is left out from then on."""
        while True:
            able = self._able
            made = wire.body(request, self.name.model or request.model, able, self._picture)
            answer = await self._post(made, able)
            if isinstance(answer, Reply):
                return answer
            # Another call may have learned meanwhile; only what refused this very body counts.
            if self._able == able:
                self._able = answer

    async def _post(self, made: dict[str, Any], able: wire.Abilities) -> Reply | wire.Abilities:
        for attempt in range(MALFORMED_TRIES):
            started = time.monotonic()
            try:
                answer = await self._send(made)
            except Exception as error:  # noqa: BLE001 - every error of the client is told apart here
                return await self._explained(error, made, able)
            seconds = time.monotonic() - started
            found = wire.reply(answer, seconds, wire.sent(made, able))
            if found is not None:
                return found
            await asyncio.sleep(min(0.5 * 2**attempt, 4.0))
        raise CallFailed(f"{self.name.text}: the server's answer is no chat completion")

    async def _send(self, made: dict[str, Any]) -> object:
        """Post a body; a server that asks for a wait longer than the client takes is waited for here."""
        import openai

        for _ in range(self._limits.retries + 1):
            try:
                async with asyncio.timeout((self._limits.timeout_s + 10) * (self._limits.retries + 1)):
                    return await self._http().post("/chat/completions", body=made, cast_to=object)
            except openai.RateLimitError as error:
                wait = _retry_after(error.response.headers)
                if wait is None or wait <= 120 or wait > self._limits.max_wait_s:
                    raise
                self._waiting.retries += 1
                await asyncio.sleep(wait)
                self._waiting.retries -= 1
        raise CallFailed(f"{self.name.text}: still told to wait after {self._limits.retries} retries")

    async def _explained(
        self, error: Exception, made: dict[str, Any], able: wire.Abilities
    ) -> Reply | wire.Abilities:
        """What an error of the client means: less to ask for, a reply of its own kind, or a failure."""
        import openai

        if isinstance(error, openai.APIStatusError):
            text = f"{error.message} {json.dumps(error.body, default=str)}"
            return self._refusal(error.status_code, text, made, able)
        if isinstance(error, CallFailed):
            raise error
        if isinstance(error, openai.APIResponseValidationError | json.JSONDecodeError | UnicodeDecodeError):
            raise CallFailed(f"{self.name.text}: the server's answer is not JSON") from None
        if isinstance(error, openai.APITimeoutError | TimeoutError):
            raise CallFailed(f"{self.name.text}: no answer within {self._limits.timeout_s:g} s") from None
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            raise CallFailed(
                f"{self.name.text}: no connection to {self.url} ({type(cause).__name__})"
            ) from None
        raise error

    def _refusal(
        self, status: int, text: str, made: dict[str, Any], able: wire.Abilities
    ) -> Reply | wire.Abilities:
        told = f"{self.name.text}: {status}: {_short(text, self._secret)}"
        if status in (401, 403):
            variable = f"${self.name.key}" if self.name.key else "the server"
            raise Unescapable(f"{told} (the key in {variable} was refused)")
        if status in (402,) or "insufficient_quota" in text:
            raise Unescapable(f"{told} (no credit left)")
        if status == 404:
            raise Unescapable(f"{told} (no such model or address: {self.url})")
        if status not in (400, 413, 422):
            raise CallFailed(told)
        if wire.too_long(text.lower()):
            return Reply("", made["model"], "length", sent=wire.sent(made, able))
        if "content_filter" in text or "content_policy" in text:
            return Reply("", made["model"], "content_filter", sent=wire.sent(made, able))
        if (less := wire.lessened(able, text, made)) is not None:
            return less
        if wire.no_pictures(text) and _has_picture(made):
            raise Unescapable(f"{told} (no picture input: to play without, --set arm=caption)")
        raise CallFailed(told)

    def _http(self) -> Any:
        """The client, built at the first call, inside the running loop."""
        if self._client is None:
            from langchain_openai import ChatOpenAI
            from openai import DefaultAioHttpClient

            http = DefaultAioHttpClient(
                timeout=self._limits.timeout_s, event_hooks={"response": [self._heard]}
            )
            chat = ChatOpenAI(
                model=self.name.model or "local",
                api_key=cast(Any, self._secret),
                base_url=self.url,
                timeout=self._limits.timeout_s,
                max_retries=self._limits.retries,
                http_async_client=http,
            )
            self._client = chat.root_async_client
        return self._client

    async def _heard(self, response: Any) -> None:
        """Tell the client not to try again when there is no credit: waiting does not bring any."""
        if response.status_code == 429:
            text = (await response.aread()).decode(errors="replace")
            if "insufficient_quota" in text:
                response.headers["x-should-retry"] = "false"

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()


class CallableModel:
    """A model that is one async callable from OpenAI-style messages to text."""

    def __init__(
        self,
        call: Callable[[list[dict[str, Any]]], Awaitable[str | Reply]],
        picture: wire.Picture,
        model_id: str,
    ) -> None:
        self._call = call
        self._picture = picture
        self._id = model_id

    async def __call__(self, request: Request) -> Reply:
        """Answer a request; whatever the callable raises is a call without a reply."""
        messages = wire.body(request, self._id, wire.Abilities(), self._picture)["messages"]
        started = time.monotonic()
        try:
            answer = await self._call(messages)
        except (Unescapable, CallFailed):
            raise
        except Exception as error:
            raise CallFailed(f"{self._id}: {type(error).__name__}: {error}") from error
        if isinstance(answer, Reply):
            return answer
        return Reply(str(answer), self._id, seconds=round(time.monotonic() - started, 3))


class LangChainModel:
    """Any LangChain chat model, through its `ainvoke`."""

    def __init__(self, chat: Any, picture: wire.Picture) -> None:
        self._chat = chat
        self._picture = picture
        self._id = str(
            getattr(chat, "model_name", None) or getattr(chat, "model", None) or type(chat).__name__
        )

    async def __call__(self, request: Request) -> Reply:
        """Answer a request; the sampling is the chat model's own."""
        messages = wire.body(request, self._id, wire.Abilities(), self._picture)["messages"]
        started = time.monotonic()
        try:
            answer = await self._chat.ainvoke(messages)
        except Exception as error:
            raise CallFailed(f"{self._id}: {type(error).__name__}: {error}") from error
        told: Mapping[str, Any] = getattr(answer, "usage_metadata", None) or {}
        details = told.get("input_token_details") or {}
        counts = {
            "prompt_tokens": told.get("input_tokens"),
            "completion_tokens": told.get("output_tokens"),
            "prompt_tokens_details": {"cached_tokens": details.get("cache_read")},
        }
        meta: Mapping[str, Any] = getattr(answer, "response_metadata", None) or {}
        found = Reply(
            text=wire._text(answer.content),
            model=str(meta.get("model_name") or self._id),
            finish=wire.FINISHES.get(str(meta.get("finish_reason", "stop")), "other"),
            usage=wire.usage(counts),
        )
        return replace(found, seconds=round(time.monotonic() - started, 3))


def _has_picture(made: Mapping[str, Any]) -> bool:
    return any(isinstance(message["content"], list) for message in made["messages"])


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return float(headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _short(text: str, secret: str) -> str:
    """An error message for one line, without the key that some servers repeat."""
    clean = (
        " ".join(text.replace(secret, "***").split())
        if secret not in ("", "none")
        else " ".join(text.split())
    )
    return clean[:300]
