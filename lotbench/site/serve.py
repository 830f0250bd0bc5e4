"""Local web pages: under a secret address, on the loopback unless a host is named, with a strict content policy.

Other pages in the same browser may send requests to any local port, so the address holds a random token,
the host must be this machine (no other name may be bound to it), and a message must be JSON from this very
page. No path of a request is ever a path on the disk: a site looks up what it knows by name.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from aiohttp.http import HttpProcessingError

from lotbench.errors import UsageError
from lotbench.types import JSON

HOST = "127.0.0.1"
NAMES = frozenset({"127.0.0.1", "::1", "localhost"})
MAX_MESSAGE = 100_000
"""Bytes of a message, at most."""
MAX_OPEN = 128
"""Connections at once, at most: a further one takes the place of that which has been idle longest."""
IDLE_S = 15.0
"""Seconds that a connection may go without a whole request."""
MESSAGE_S = 10.0
"""Seconds that a message may take to arrive."""
NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""The policy of what is no page."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": NOTHING,
}
LASTING = "private, max-age=31536000, immutable"
"""How long a browser may keep what has its own digest for a name."""


_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Served:
    """What is sent for an address.

    Attributes:
        policy: The content policy of a page.
        lasting: Whether its address names its content, so that it never changes.
    """

    body: bytes
    kind: str = "text/html"
    policy: str = NOTHING
    lasting: bool = False


class Pages(Protocol):
    """A site of many pages, each found by its path below the token."""

    def get(self, path: str) -> Served:
        """Return what is at a path; called in a thread of its own.

        Raises:
            LookupError: Nothing is there.
            UsageError: It is there and cannot be shown, with the reason.
        """
        ...

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Take the message that a page has sent, and return the answer to the page.

        Raises:
            LookupError: Nothing at this path takes messages.
            UsageError: The message is refused, with the reason.
        """
        ...


class _Handlers:
    """What a browser may do under the token: look, and send a message."""

    def __init__(self, pages: Pages, token: str, host: str, busy: set[object]) -> None:
        self._pages = pages
        self._token = token
        self._host = host
        self._busy = busy

    @web.middleware
    async def counted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Note which connections are at work on a request: these are never closed to make room."""
        self._busy.add(request.protocol)
        try:
            return await handler(request)
        finally:
            self._busy.discard(request.protocol)

    @web.middleware
    async def guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let through what knows the token, and came to this machine by its own name."""
        if not self._ours(_place(f"//{request.host}").hostname or ""):
            raise web.HTTPForbidden(text="not this host")
        token = request.match_info.get("token", "")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise web.HTTPNotFound
        response = await handler(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _ours(self, name: str) -> bool:
        """Return whether a host's name cannot be bound to this machine by somebody else: ours, or an address."""
        if name in NAMES or name == self._host:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._host not in NAMES

    async def get(self, request: web.Request) -> web.Response:
        """Return whatever is at the path."""
        try:
            page = await asyncio.to_thread(self._pages.get, request.match_info["path"])
        except LookupError:
            raise web.HTTPNotFound from None
        except UsageError as error:
            return web.Response(text=str(error), status=409)
        headers = {"Content-Security-Policy": page.policy}
        if page.lasting:
            headers["Cache-Control"] = LASTING
        charset = "utf-8" if page.kind.startswith("text/") else None
        return web.Response(body=page.body, content_type=page.kind, charset=charset, headers=headers)

    async def post(self, request: web.Request) -> web.Response:
        """Take a message and return the page's answer to it; a bad message is refused with its reason."""
        origin = request.headers.get("Origin")
        if origin is not None and _place(origin).netloc != request.host:
            raise web.HTTPForbidden(text="not from this page")
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            async with asyncio.timeout(MESSAGE_S):
                raw = await request.read()
            sent = json.loads(raw.decode())
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        except (ValueError, RecursionError):
            return web.json_response({"error": "not JSON"}, status=400)
        try:
            return web.json_response(dict(await self._pages.post(request.match_info["path"], sent)))
        except LookupError:
            raise web.HTTPNotFound from None
        except UsageError as error:
            return web.json_response({"error": str(error)}, status=400)


def _place(address: str) -> SplitResult:
    """Return the parts of an address; of one that cannot be read, none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def application(
    pages: Pages, token: str, host: str = HOST, busy: set[object] | None = None
) -> web.Application:
    """Return the web application of a site, everything below the token; `busy` holds the connections at work."""
    handlers = _Handlers(pages, token, host, set() if busy is None else busy)
    app = web.Application(middlewares=[handlers.counted, handlers.guarded], client_max_size=MAX_MESSAGE)
    app.router.add_get("/{token}/{path:.*}", handlers.get)
    app.router.add_post("/{token}/{path:.+}", handlers.post)
    return app


async def serve(pages: Pages, port: int, ready: Callable[[str], None], host: str = HOST) -> None:
    """Serve a site until it is cancelled.

    Args:
        pages: What is served.
        port: The port; 0 takes a free one.
        ready: Is told the address once the page can be opened.
        host: The address to listen on; others than this machine can open the pages if it is not the loopback.

    Raises:
        UsageError: The port is taken, or the host is none of this machine's.
    """
    token, busy = secrets.token_urlsafe(24), set[object]()
    log = logging.getLogger(__name__)
    log.addFilter(_is_ours)
    runner = web.AppRunner(
        application(pages, token, host, busy),
        access_log=None,
        shutdown_timeout=0.5,
        keepalive_timeout=IDLE_S,
        logger=log,
    )
    await runner.setup()
    loop, doors = asyncio.get_running_loop(), partial(_admitted, runner, busy)
    listening: asyncio.Server | None = None
    try:
        try:
            listening = await loop.create_server(doors, host, port)
        except (OSError, OverflowError) as error:
            raise UsageError(f"{host}, port {port}: {getattr(error, 'strerror', '') or error}") from None
        address = f"[{host}]" if ":" in host else host
        ready(f"http://{address}:{listening.sockets[0].getsockname()[1]}/{token}/")
        await asyncio.Event().wait()
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()


def _is_ours(record: logging.LogRecord) -> bool:
    """Return whether a fault is of this program: not a request that is none, nor somebody who hung up."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


def _admitted(runner: web.AppRunner, busy: set[object]) -> asyncio.Protocol:
    """Return what serves a new connection; where too many are open, those that have been idle longest are closed.

    A new one is never turned away for idle ones: whoever sends half a request and waits would else shut the
    pages for everybody. Of a burst, a hundred are let in before the first of them counts as open, and one that is
    closed counts for a moment yet: so all that are too many are closed here, and none twice.
    """
    assert runner.server is not None
    here = [wire for wire in runner.server.connections if wire.transport and not wire.transport.is_closing()]
    idle = [wire for wire in here if wire not in busy]
    for wire in idle[: max(0, len(here) - MAX_OPEN + 1)]:
        wire.force_close()
    return runner.server()
