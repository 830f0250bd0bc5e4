"""Protection of a game server: the key of its clients, limits of requests and connections, and messages that are no JSON objects."""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

import orjson
from uvicorn.protocols.http.h11_impl import H11Protocol

LARGEST = 4_000_000
"""The largest message in bytes; an action below it may still be too long for the game, which refuses it with a reason."""
MAX_OPEN = 128
"""The maximum number of open connections; one more closes the connection that has been idle longest."""
PATIENCE_S = 10.0
"""Seconds in which the head of a request must come, and then its body; half a request would otherwise hold a connection."""


class Limited(H11Protocol):
    """A connection that closes itself if no request comes within PATIENCE_S.

    If too many are open (MAX_OPEN), a new one closes those that have been idle longest.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Open the connection; close those that have been idle longest until at most MAX_OPEN are open."""
        here = [each for each in self.connections if not each.transport.is_closing()]
        # WebSockets and connections with a request under way are not idle.
        idle = [
            each
            for each in here
            if isinstance(each, Limited)
            and (each.scope is None or (each.cycle and each.cycle.response_complete))
        ]
        for connection in sorted(idle, key=lambda each: each._since)[: max(0, len(here) - MAX_OPEN + 1)]:
            connection.transport.close()
        super().connection_made(transport)
        self._wait()

    def on_response_complete(self) -> None:
        """Set the time limit of the next request, which may have come already."""
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._since = self.loop.time()
        self.loop.call_later(PATIENCE_S, self._end_if_silent, self.scope)

    def _end_if_silent(self, before: object) -> None:
        if self.scope is before:
            self.transport.close()


def guarded(app: Any, key: str) -> Callable[..., Awaitable[None]]:
    """Return an ASGI application that passes requests with the key to `app`.

    A request must come within PATIENCE_S and have at most LARGEST bytes. Its body, and each message of a WebSocket, must be a
    JSON object. The path `/health` needs no key. Refused requests get status 400 (no JSON object), 401 (no key) or 413;
    a refused WebSocket is closed, and a refused message of one gets an error message.
    """
    key_header = f"Bearer {key}".encode()

    async def guard(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        sent_header = dict(scope.get("headers", ())).get(b"authorization", b"")
        known = scope["path"] == "/health" or hmac.compare_digest(sent_header, key_header)
        if scope["type"] == "http":
            if not known:
                return await _refuse(send, 401, "the key is wanting or wrong")
            if (body := await _body(receive)) is None:
                return await _refuse(send, 413, "the message is too long, or does not come")
            if body and (why := _fault(body)):
                return await _refuse(send, 400, why)
            read = [{"type": "http.request", "body": body}]

            async def receive_again() -> Any:
                return read.pop() if read else await receive()

            return await app(scope, receive_again, send)  # type: ignore[no-any-return]
        if known:
            return await app(scope, partial(_receive_object, receive, send), send)  # type: ignore[no-any-return]
        # Closing a WebSocket before it is accepted answers 403.
        return await send({"type": "websocket.close", "code": 1008})  # type: ignore[no-any-return]

    return guard


async def _refuse(send: Any, status: int, why: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})


async def _receive_object(receive: Any, send: Any) -> Any:
    """Return the next message of a WebSocket that is a JSON object; answer others with OpenEnv's error message."""
    while (message := await receive())["type"] == "websocket.receive" and (
        why := _fault(message.get("text") or "")
    ):
        error = {"type": "error", "data": {"message": why, "code": "INVALID_JSON"}}
        await send({"type": "websocket.send", "text": json.dumps(error)})
    return message


def _fault(text: str | bytes) -> str | None:
    """Return why a text is no JSON object (as defined, without NaN and halves of surrogate pairs); None if it is one."""
    try:
        return None if isinstance(orjson.loads(text), dict) else "the message is no JSON object"
    except ValueError as error:
        return f"the message is no JSON: {error}"


async def _body(receive: Callable[[], Awaitable[Any]]) -> bytes | None:
    """Return the body of a request; None if it is longer than LARGEST, or does not come whole in PATIENCE_S."""
    body, more = b"", True
    try:
        async with asyncio.timeout(PATIENCE_S):
            while more and len(body) <= LARGEST:
                message = await receive()
                if message["type"] != "http.request":
                    return None
                body, more = body + message.get("body", b""), message.get("more_body", False)
    except TimeoutError:
        return None
    return body if len(body) <= LARGEST else None
