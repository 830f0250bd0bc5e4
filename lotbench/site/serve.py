"""A web server for local pages: under a secret address, on the loopback unless a host is named, with a strict policy.

Other pages in the same browser can send requests to any local port. So the address contains a random token, a
request must name this machine as its host (another domain may point to it), and a message must be JSON from
a page of this site. The path of a request is never a path on the disk: a site looks up what it knows by name.
"""

import asyncio
import hmac
import ipaddress
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Protocol, TypeAlias
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from aiohttp.http import HttpProcessingError

from lotbench.errors import UsageError
from lotbench.site.page import NOTHING, Served, screen
from lotbench.types import JSON

HOST = "127.0.0.1"
NAMES = frozenset({"127.0.0.1", "::1", "localhost"})
MAX_MESSAGE = 100_000
"""The maximum size of a message in bytes."""
MAX_OPEN = 128
"""The maximum number of open connections; a further one replaces the one that has been idle longest."""
IDLE_S = 15.0
"""The seconds after which an idle connection is closed (keep-alive)."""
MESSAGE_S = 10.0
"""The maximum number of seconds in which a message must arrive."""
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
"""The Cache-Control header of responses whose address contains their digest."""


_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Pages(Protocol):
    """A site of many pages, each found by its path below the token."""

    def get(self, path: str) -> Served:
        """Return the page or file at a path; called in a thread of its own.

        Raises:
            LookupError: There is nothing at this path.
            UsageError: The page cannot be shown, with the reason.
        """
        ...

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        """Take the message of a page, and return the answer to the page.

        Raises:
            LookupError: Nothing at this path takes messages.
            UsageError: The message is refused, with the reason.
        """
        ...


class _Handlers:
    """The handlers of a site's requests: GET for pages and POST for messages, guarded by host name and token."""

    def __init__(self, pages: Pages, token: str, host: str, busy: set[object]) -> None:
        self._pages = pages
        self._token = token
        self._host = host
        self._busy = busy

    @web.middleware
    async def counted(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Mark the connection as busy while it handles a request: busy connections are never closed to make room."""
        self._busy.add(request.protocol)
        try:
            return await handler(request)
        finally:
            self._busy.discard(request.protocol)

    @web.middleware
    async def guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let through requests that name this machine as host (else status 403) and have the token (else 404)."""
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
        """Return whether a host name is surely this machine's, and not another domain that points to it.

        Such names are those of the loopback, the host that is served and, if it is not the loopback, any IP address.
        """
        if name in NAMES or name == self._host:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._host not in NAMES

    async def get(self, request: web.Request) -> web.Response:
        """Return the page or file at the path; status 404 if there is none, 409 with the reason if it cannot be shown."""
        path, status = request.match_info["path"], 200
        try:
            page = await asyncio.to_thread(self._pages.get, path)
        except (LookupError, UsageError) as error:
            status, why = (409, str(error)) if isinstance(error, UsageError) else (404, "")
            page = screen("fault", "../" * path.count("/"), why=why)
        headers = {"Content-Security-Policy": page.policy}
        if page.lasting:
            headers["Cache-Control"] = LASTING
        charset = "utf-8" if page.kind.startswith("text/") else None
        return web.Response(
            body=page.body, status=status, content_type=page.kind, charset=charset, headers=headers
        )

    async def post(self, request: web.Request) -> web.Response:
        """Take a message and return the site's answer as JSON; refuse a bad message with status 400 and the reason.

        Other statuses: 403 for another site's page, 404 for an unknown path, 408 for a slow message, 415 if it is no JSON type.
        """
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
    """Return the parts of a URL; empty parts if it cannot be parsed."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def application(
    pages: Pages, token: str, host: str = HOST, busy: set[object] | None = None
) -> web.Application:
    """Return the web application of a site.

    Args:
        pages: The site.
        token: The first part of each path.
        host: The address on which the site is served.
        busy: The set in which connections stand while they handle a request; None makes a new one.
    """
    handlers = _Handlers(pages, token, host, set() if busy is None else busy)
    app = web.Application(middlewares=[handlers.counted, handlers.guarded], client_max_size=MAX_MESSAGE)
    app.router.add_get("/{token}/{path:.*}", handlers.get)
    app.router.add_post("/{token}/{path:.+}", handlers.post)
    return app


async def serve(pages: Pages, port: int, ready: Callable[[str], None], host: str = HOST) -> None:
    """Serve a site until the task is cancelled.

    Args:
        pages: The site.
        port: The port; 0 takes a free one.
        ready: Called with the address once the pages can be opened.
        host: The address to listen on; if it is not the loopback, other machines can open the pages.

    Raises:
        UsageError: The port is taken, or the host is no address of this machine.
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
        # A message of a few bytes may unpack to gigabytes.
        auto_decompress=False,
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
    """Return whether a log record is about a fault of this program, not about a malformed request or a lost connection."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError | ConnectionError)


def _admitted(runner: web.AppRunner, busy: set[object]) -> asyncio.Protocol:
    """Return the protocol of a new connection; if too many are open, close those that have been idle longest.

    A new connection is never refused because of idle ones: else a client that sends half requests and waits could
    block the pages for everybody. In a burst, a hundred connections are accepted before the first counts as open,
    and a closed connection still counts for a moment. So all surplus connections are closed here, and none twice.
    """
    assert runner.server is not None
    here = [wire for wire in runner.server.connections if wire.transport and not wire.transport.is_closing()]
    idle = [wire for wire in here if wire not in busy]
    for wire in idle[: max(0, len(here) - MAX_OPEN + 1)]:
        wire.force_close()
    return runner.server()
