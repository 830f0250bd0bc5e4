"""The HTTP transport of openai's client over aiohttp: no prompt goes to another host, and responses are bounded in size."""

import asyncio
from functools import cache
from ipaddress import ip_address
from ssl import SSLContext
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2

from lotbench.errors import Unescapable, UsageError
from lotbench.models.retrying import MALFORMED_TRIES, PassingError

MAX_BYTES = 16_000_000
"""The largest decompressed response; 4,096 tokens with alternatives take about 7 MB."""
REDIRECTS = 3
"""The maximum number of redirects, each on the same host."""
MOVED = frozenset({301, 302, 303, 307, 308})
PACKED = ("gzip", "deflate")
"""Accepted encodings of a response; they expand at most a thousandfold."""
IDLE_S = 5.0
"""Seconds for which an idle connection is kept."""
PUBLIC = frozenset({
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent"
})  # fmt: skip
"""Headers that are sent to any address; openai's client has more, some from the environment."""

READ = ("retry-after", "retry-after-ms", "date")
"""Headers of a response that are read; of all others nothing is kept."""


class Connections(httpx2.AsyncBaseTransport):
    """An HTTP transport for openai's client that keeps connections to one address.

    Args:
        url: The address.
        timeout_s: The time limit of a whole exchange in seconds.
        openai_itself: Whether the address is OpenAI's; only OpenAI gets all headers of the client `openai`.

    Raises:
        UsageError: The environment names a proxy that is not HTTP.
    """

    def __init__(self, url: str, timeout_s: float, *, openai_itself: bool = False) -> None:
        self._url, self._timeout_s, self._openai_itself = url, timeout_s, openai_itself
        self._proxy = _proxy(httpx2.URL(url))
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the decompressed response within the time limit.

        Raises:
            PassingError: No readable response came.
            Unescapable: The server redirects to another host.
        """
        begun: list[bool | None] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchanged(request, begun)
        except (aiohttp.ClientError, OSError) as error:
            # Broken connections raise many types; the chain of causes reveals a timeout.
            chain = _chain(error)
        # Raised out here: the context of an error would be aiohttp's, which has the headers with the key.
        if any(isinstance(link, TimeoutError) for link in chain):
            # The server may still answer the request, and bill it.
            may_be_billed = begun[-1:] in ([True], [None])
            raise PassingError(f"no answer within {self._timeout_s:g} s", billed=may_be_billed)
        refused = any(isinstance(link, ConnectionRefusedError) for link in chain)
        why = "refused" if refused else type(chain[-1]).__name__
        message = f"no connection to {self._url} ({why})"
        raise PassingError(message, refused=refused, billed=begun[-1:] == [True])

    async def aclose(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _exchanged(self, request: httpx2.Request, begun: list[bool | None]) -> httpx2.Response:
        """Send a request and return the response after redirects on the same host.

        Each request that was sent appends None to `begun`. Its response replaces that by whether its status is 2xx, so that
        it is billed.
        """
        if self._session is None:
            # Made here, in the event loop of the calls.
            self._session = aiohttp.ClientSession(
                connector=Pool(
                    limit=0,
                    keepalive_timeout=IDLE_S,
                    ssl=_secure() if request.url.scheme == "https" else True,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[_sending()],
                proxy=self._proxy,
            )
        headers = {
            name: value
            for name, value in request.headers.items()
            if self._openai_itself or name.lower() in PUBLIC
        } | {"accept-encoding": ", ".join(PACKED)}
        address = request.url
        for _ in range(REDIRECTS + 1):
            sending = self._session.request(
                request.method, str(address), headers=headers, data=request.content, allow_redirects=False,
                timeout=aiohttp.ClientTimeout(), trace_request_ctx=begun,
            )  # fmt: skip
            async with sending as response:
                begun[-1:] = [response.status // 100 == 2]
                if response.status not in MOVED or "location" not in response.headers:
                    return httpx2.Response(
                        response.status, headers=_headers(response.headers), content=await _whole(response)
                    )
            address = self._moved(address, response.headers["location"])
        raise PassingError(f"{self._url} redirects in a circle")

    def _moved(self, address: httpx2.URL, location: str) -> httpx2.URL:
        """Return the target of a redirect on the same host.

        Raises:
            PassingError: The location is no valid URL.
            Unescapable: The location is on another host, or has a user name.
        """
        try:
            target = address.join(location)
        except (httpx2.InvalidURL, ValueError):
            raise PassingError(f"{self._url} redirects to no address", tries=MALFORMED_TRIES) from None
        if target.userinfo or (target.scheme, target.netloc) != (address.scheme, address.netloc):
            raise Unescapable(f"{self._url} redirects to another host: name that one")
        return target


def _sending() -> aiohttp.TraceConfig:
    """Return a trace that appends None to the list that a request gives as its context, once its head is sent."""

    async def sent(session: aiohttp.ClientSession, context: Any, head: object) -> None:
        context.trace_request_ctx.append(None)

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(sent)
    return trace


class Pool(aiohttp.TCPConnector):
    """A connector of aiohttp that never reuses a connection with unread data.

    aiohttp would take such data for the answer to the next request. Clients on httpcore check this too.
    """

    async def connect(self, *args: Any, **how: Any) -> Any:
        """Return an idle connection without unread data, or a new one."""
        connection = await super().connect(*args, **how)
        while connection.protocol is not None and connection.protocol.should_close:
            connection.close()
            connection = await super().connect(*args, **how)
        return connection


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    """Return the decompressed body of a response.

    Raises:
        PassingError: The body has more than MAX_BYTES, or an encoding that was not requested.
    """
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in (*PACKED, "identity", ""):
        raise PassingError("the server's answer is packed as was not asked for", tries=2, billed=True)
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            over = f"the server's answer is larger than {MAX_BYTES:,} bytes"
            raise PassingError(over, tries=2, billed=response.status // 100 == 2)
    return b"".join(pieces)


def _headers(headers: Any) -> dict[str, str]:
    """Return the headers of a response that are read here, with the content type of a chat completion.

    openai's client would decode an error by the character set that the server names; some sets take quadratic time.
    """
    ours = {name: headers[name] for name in READ if name in headers and headers[name].isascii()}
    return ours | {"content-type": "application/json"}


def _proxy(address: httpx2.URL) -> str | None:
    """Return the URL of the proxy that the environment names for an address; None without one, or for this machine.

    Raises:
        UsageError: The proxy is not HTTP, which aiohttp does not support, or is no address.
    """
    named = getproxies()
    proxy = named.get(address.scheme) or named.get("all") or ""
    if not proxy or _is_here(address.host) or proxy_bypass(address.netloc.decode()):
        return None
    kind, there, _ = proxy.partition("://")
    if there and kind.lower() not in ("http", "https"):
        raise UsageError(
            f"the environment names a proxy of the kind {kind}://, and only http:// can be gone through: "
            f"set ${address.scheme}_proxy, or no_proxy for {address.host}"
        )
    proxy = proxy if there else f"http://{proxy}"
    try:
        httpx2.URL(proxy)
    except httpx2.InvalidURL:
        # The error quotes a part of the address, and that may be the password.
        raise UsageError(f"${address.scheme}_proxy (or $all_proxy) is no address") from None
    return proxy


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _secure() -> SSLContext:
    """Return the SSL context with the certificate authorities of OpenAI's client."""
    return httpx2.create_ssl_context()


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes, down to the first one."""
    errors = [error]
    while (beneath := errors[-1].__cause__ or errors[-1].__context__) is not None:
        errors.append(beneath)
    return errors
