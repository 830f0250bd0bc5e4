"""A local web page for one person: loopback only, under a secret address, with a strict content policy.

Other pages in the same browser may send requests to any local port, so the address holds a random token,
the host must be this machine (no other name may be bound to it), and a message must be JSON from this very
page. The page may load nothing but itself.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from aiohttp import web

from lotbench.errors import UsageError
from lotbench.types import JSON

HOST = "127.0.0.1"
NAMES = frozenset({"127.0.0.1", "localhost"})
MAX_MESSAGE = 100_000
"""Bytes of a message, at most."""
POLICY = (
    "default-src 'none'; img-src 'self'; connect-src 'self'; style-src 'nonce-{0}'; script-src 'nonce-{0}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Site:
    """What is served.

    Attributes:
        page: The page's HTML, given the nonce that its scripts and styles must carry.
        picture: The PNG bytes of the picture of that number; raises LookupError if there is none.
        decide: Takes what the page has sent and returns what it is told; raises UsageError to refuse.
    """

    page: Callable[[str], str]
    picture: Callable[[int], bytes]
    decide: Callable[[object], Mapping[str, JSON]]


class _Handlers:
    """The three things that the page asks for, each under the token."""

    def __init__(self, site: Site, token: str) -> None:
        self._site = site
        self._token = token

    @web.middleware
    async def guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Let through what knows the token, and came to this machine by its own name."""
        if urlsplit(f"//{request.host}").hostname not in NAMES:
            raise web.HTTPForbidden(text="not this host")
        given = request.match_info.get("token", "")
        if not hmac.compare_digest(given.encode(), self._token.encode()):
            raise web.HTTPNotFound
        response = await handler(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    async def page(self, request: web.Request) -> web.Response:
        """The page, with a nonce of its own."""
        nonce = secrets.token_urlsafe(16)
        headers = {"Content-Security-Policy": POLICY.format(nonce)}
        return web.Response(text=self._site.page(nonce), content_type="text/html", headers=headers)

    async def picture(self, request: web.Request) -> web.Response:
        """A picture by number."""
        try:
            body = self._site.picture(int(request.match_info["number"]))
        except LookupError:
            raise web.HTTPNotFound from None
        return web.Response(body=body, content_type="image/png")

    async def decide(self, request: web.Request) -> web.Response:
        """A decision, refused with its reason if it is none."""
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="not from this page")
        if request.content_type != "application/json":
            raise web.HTTPUnsupportedMediaType
        try:
            told = dict(self._site.decide(json.loads(await request.text())))
        except UsageError as error:
            return web.json_response({"error": str(error)}, status=400)
        except (ValueError, RecursionError):
            return web.json_response({"error": "not JSON"}, status=400)
        return web.json_response(told)


def application(site: Site, token: str) -> web.Application:
    """The web application of a site, everything below the token."""
    handlers = _Handlers(site, token)
    app = web.Application(middlewares=[handlers.guarded], client_max_size=MAX_MESSAGE)
    app.router.add_get("/{token}/", handlers.page)
    app.router.add_get(r"/{token}/picture/{number:\d{1,6}}", handlers.picture)
    app.router.add_post("/{token}/decision", handlers.decide)
    return app


async def serve(site: Site, port: int, ready: Callable[[str], None]) -> None:
    """Serve a site on the loopback until it is cancelled.

    Args:
        site: What is served.
        port: The port; 0 takes a free one.
        ready: Is told the address once the page can be opened.

    Raises:
        UsageError: The port is taken.
    """
    token = secrets.token_urlsafe(24)
    runner = web.AppRunner(application(site, token), access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, HOST, port).start()
        except OSError as error:
            raise UsageError(f"port {port}: {error.strerror}") from None
        ready(f"http://{HOST}:{runner.addresses[0][1]}/{token}/")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
