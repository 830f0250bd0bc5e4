"""Models behind an OpenAI-compatible API. LangChain's ChatOpenAI makes the calls; retries are made here.

ChatOpenAI's own retries cannot bound the time of an attempt, wait longer than two minutes, retry a malformed body, or
count waiting calls.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from lotbench.calls.budget import spending
from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName
from lotbench.errors import CallFailed, Unescapable, UnknownModel, UsageError
from lotbench.models import chat_format
from lotbench.models.chat_format import Abilities
from lotbench.models.concurrency import Pace
from lotbench.models.retrying import PASSING, PassingError, Waiting, retried
from lotbench.types import Reply, Request

if TYPE_CHECKING:
    from lotbench.models.connections import Connections
    from lotbench.models.openai_chat import Chat, RefusedError

CROWDED = frozenset({429, 503, 529})
"""HTTP statuses of an overloaded endpoint."""
MOST_FORBIDDEN = 3
"""Refusals with status 403 in a row that stop a run; one alone may be of a firewall that dislikes one prompt."""


def key(name: ModelName) -> str:
    """Return the API key of a model from the environment; `none` if its server needs no key.

    Raises:
        UsageError: The variable is not set, or holds characters that no key has; the message names it.
    """
    if name.key is None:
        return "none"
    value = os.environ.get(name.key, "").strip()
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"{name.text}: ${name.key} holds characters that no key has")
    if value:
        return value
    if name.key == "LOTBENCH_API_KEY":
        return "none"
    raise UsageError(
        f"{name.text}: ${name.key} is not set; to try without a key: lotbench watch, lotbench play, or lotbench evaluate --config try"
    )


class ChatModel:
    """A model behind an OpenAI-compatible API.

    Args:
        name: The parsed model name.
        picture: Maps the sha256 of a picture to its data URL.
        limits: Timeout, retries, longest wait, calls in flight and service tier.
        waiting: Counts calls that wait for a retry.
        pace: Limits the calls in flight at the endpoint; None for a limit of this model alone.
        connections: Connections by base URL, which other models may share; their owner closes them.
        url: Replaces the base URL of the name (for an embedded server).
        secret: Replaces the API key (for an embedded server).
    """

    def __init__(
        self,
        name: ModelName,
        picture: chat_format.Picture,
        limits: Limits,
        waiting: Waiting,
        *,
        pace: Pace | None = None,
        connections: dict[str, Connections] | None = None,
        url: str = "",
        secret: str = "",
    ) -> None:
        self.name = name
        self._pace = pace or Pace(limits.concurrency)
        self.url = url or name.url
        self.secret = secret or key(name)
        self._picture = picture
        self._limits = limits
        self._waiting = waiting
        openai = self.url.startswith("https://api.openai.com")
        self._able = Abilities(
            structured="json_schema_unbounded" if openai else "json_schema",
            bounds=("max_completion_tokens",) if openai else chat_format.BOUNDS,
            detail=openai,
            tier="flex" if name.provider == "openai" and limits.service_tier == "flex" else "",
        )
        self._sees = False
        """Whether the model has answered a request with a picture; if it refuses one later, that picture is the reason."""
        self._forbidden = 0
        """How many refusals with status 403 came since the last reply; of the connection test, one is enough to stop."""
        self._proven: set[str] = set()
        """Parameters and forms with which a reply has come: a later refusal is of something else, such as a quoted prompt."""
        self._connections = {} if connections is None else connections
        self._chat: Chat | None = None

    async def __call__(self, request: Request) -> Reply:
        """Answer a request; leave out from then on every parameter that the endpoint refuses.

        Raises:
            CallFailed: All tries failed.
            Unescapable: No call to this model can succeed (wrong key, unknown model, no credit, no picture input).
        """
        while True:
            able = self._able
            body = chat_format.body(request, self.name.model or request.model, able, self._picture)
            once = partial(self._once, request, body, able)
            answer = await retried(once, self.name.text, request.key, self._limits, self._waiting)
            if isinstance(answer, Reply):
                return answer
            # A concurrent call may have replaced the abilities meanwhile.
            if self._able == able:
                self._able = answer

    def remember(self, reply: Reply) -> None:
        """Take note of what a reply of an earlier session came with; it is not left out later."""
        self._proven |= {*reply.sent} if reply.text else set()

    async def _once(self, request: Request, body: dict[str, Any], able: Abilities) -> Reply | Abilities:
        """Send a body once; return the reply or, if a parameter was refused, the abilities without that parameter."""
        from lotbench.models.openai_chat import RefusedError

        chat = self._chat or self._open_chat(body["model"])
        if request.key.step == "preflight":
            self._forbidden = MOST_FORBIDDEN - 1
        parameters = {name: value for name, value in body.items() if name not in ("model", "messages")}
        sent = chat_format.sent_parameters(body, able)
        try:
            async with self._pace.place():
                spending.get().refuse_late()
                started = time.monotonic()
                message = await chat.ainvoke(
                    body["messages"], chat_format.callback_config(request), **parameters
                )
        except RefusedError as refusal:
            return self._on_refusal(refusal, body, able)
        except Unescapable as error:
            raise Unescapable(f"{self.name.text}: {error}") from None
        reply = chat_format.reply(message, time.monotonic() - started, sent)
        self._sees = self._sees or chat_format.has_picture(body)
        self._forbidden = 0
        self._proven |= {*body, str(body.get("response_format"))}
        self._pace.kept_up()
        return reply

    def _on_refusal(self, refusal: RefusedError, body: dict[str, Any], able: Abilities) -> Reply | Abilities:
        """Turn a response with a status other than 200 into an empty reply, reduced abilities or an error.

        Returns:
            An empty reply without an id if a content filter refused the request or the prompt is too long; the abilities
            without the refused parameter if the response names one.

        Raises:
            PassingError: Another try may succeed.
            Unescapable: Every other call to the model would be refused too.
            CallFailed: The request was refused for another reason.
        """
        status, text, message = refusal.status, refusal.text, f"{self.name.text}: {refusal}"
        sent = chat_format.sent_parameters(body, able)
        if status in (400, 403) and chat_format.withheld(text):
            return Reply("", "", "content_filter", sent=sent)
        self._stop_if_hopeless(status, text, message, body)
        if status in (400, 413, 422):
            less = chat_format.lessened(able, text, body)
            if less is not None and not chat_format.lost(able, less, body) & self._proven:
                return less
            if chat_format.too_long(text):
                return Reply("", "", "length", sent=sent)
        if chat_format.no_pictures(text, body) and not self._sees:
            raise Unescapable(f"{message} (no picture input: to play without, --set arm=caption)")
        if status in CROWDED:
            self._pace.crowded()
        if status in PASSING or status >= 500:
            raise PassingError(str(refusal), chat_format.retry_after(refusal.headers, time.time()))
        if status == 404 and not self._proven:
            raise UnknownModel(f"{message} (no such model or address: {self.url})")
        raise CallFailed(message)

    def _stop_if_hopeless(self, status: int, text: str, message: str, body: Mapping[str, Any]) -> None:
        """Raise Unescapable for a refusal that every other call would get too."""
        self._forbidden += status == 403
        if status == 401 or self._forbidden >= MOST_FORBIDDEN:
            variable = f"${self.name.key}" if self.name.key else "the server"
            raise Unescapable(f"{message} (the key in {variable} was refused)")
        if status == 402 or chat_format.out_of_credit(text):
            raise Unescapable(f"{message} (no credit left)")
        if "image_url" in text and chat_format.no_pictures(text, body) and not self._sees:
            raise Unescapable(f"{message} (no picture input: to play without, --set arm=caption)")

    def _open_chat(self, model: str) -> Chat:
        """Make and return the client; called at the first request, since its import takes a second."""
        from lotbench.models.connections import Connections
        from lotbench.models.openai_chat import Chat

        openai = self.name.provider == "openai"
        if self.url not in self._connections:
            there = Connections(self.url, self._limits.timeout_s, openai_itself=openai)
            self._connections[self.url] = there
        self._chat = Chat.at(self.url, model, self.secret, self._connections[self.url])
        return self._chat
