"""openai's HTTP client over aiohttp, guarded: a prompt goes to no other host, and no answer fills the memory."""

from __future__ import annotations

import asyncio
from functools import cache, partial
from ipaddress import ip_address
from ssl import SSLContext
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
import openai
from aiohttp.client_proto import ResponseHandler

from lotbench.edge.models.retrying import MALFORMED_TRIES, PassingError
from lotbench.errors import Unescapable, UsageError

MAX_BYTES = 16_000_000
"""Bytes of a response, unpacked, at most: 4,096 tokens with their likeliest alternatives take some 7 MB."""
REDIRECTS = 3
"""Redirections that are followed, each on the same host: a prompt goes nowhere that was not named."""
PACKED = ("gzip", "deflate")
"""How a response may be packed: these unpack to a thousand times their size at most."""
SPENT = (b"content-encoding", b"content-length", b"transfer-encoding")
"""The headers that say nothing any more of a body that is unpacked."""
INTERIM = 20
"""Interim responses (1xx) before a response, at most."""
IDLE_S = 5.0
"""How long a connection is kept for the next call."""
PUBLIC = frozenset(
    b"accept accept-encoding authorization connection content-length content-type host user-agent".split()
)
"""The headers that any address may see; openai's client has more, some of them out of the environment."""


class Connections(openai.DefaultAioHttpClient):
    """The connections to one address.

    Args:
        url: The address.
        timeout_s: The seconds that a whole exchange may take.
        openai_itself: Whether all that openai's client says of its user is meant for this address.

    Raises:
        UsageError: The environment names a proxy that speaks no HTTP.
    """

    def __init__(self, url: str, timeout_s: float, *, openai_itself: bool = False) -> None:
        address = httpx2.URL(url)
        here = _is_here(address.host)
        if not here:
            _refuse_other_proxies(address)
        super().__init__(
            timeout=None,
            # This machine itself is not beyond any proxy: who is asked there would be that of the proxy's.
            trust_env=not here,
            verify=_secure() if address.scheme == "https" else False,
            limits=httpx2.Limits(max_connections=0, keepalive_expiry=IDLE_S),
            headers={"Accept-Encoding": ", ".join(PACKED)},
        )
        transports: list[Any] = [self._transport, *self._mounts.values()]
        for transport in filter(None, transports):
            transport.client = partial(_session, transport)
        self._url, self._timeout_s = url, timeout_s
        self._openai_itself = openai_itself

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        """Send a request and read the response, unpacked, within the time of an attempt.

        Raises:
            PassingError: There is none, or none that can be read.
            Unescapable: The server sends elsewhere.
        """
        if not self._openai_itself:
            seen = [(name, value) for name, value in request.headers.raw if name.lower() in PUBLIC]
            request.headers = httpx2.Headers(seen)
        arrived: list[httpx2.Response] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchanged(request, arrived)
        except (httpx2.HTTPError, aiohttp.ClientError, OSError) as error:
            # A broken connection comes under many names; what lies beneath tells a timeout.
            chain = _chain(error)
            billed = bool(arrived) and arrived[-1].is_success
            if any(isinstance(link, TimeoutError) for link in chain):
                raise PassingError(f"no answer within {self._timeout_s:g} s", billed=billed) from None
            refused = any(isinstance(link, ConnectionRefusedError) for link in chain)
            why = "refused" if refused else type(chain[-1]).__name__
            told = f"no connection to {self._url} ({why})"
            raise PassingError(told, refused=refused, billed=billed) from None

    async def _exchanged(self, request: httpx2.Request, arrived: list[httpx2.Response]) -> httpx2.Response:
        """The response, from wherever on its host the request is sent to; `arrived` is told of each that begins."""
        address = request.url
        for _ in range(REDIRECTS + 1):
            response = await super().send(request, stream=True, follow_redirects=False)
            arrived.append(response)
            try:
                if not response.has_redirect_location:
                    return await _whole(response)
            finally:
                await response.aclose()
            try:
                target = address.join(response.headers["location"])
            except httpx2.InvalidURL:
                raise PassingError(f"{self._url} redirects to no address", tries=MALFORMED_TRIES) from None
            if _origin(target) != _origin(address):
                raise Unescapable(f"{self._url} redirects to another host: name that one")
            request = httpx2.Request(request.method, target, headers=request.headers, content=request.content)
        raise PassingError(f"{self._url} redirects in a circle")


async def _whole(response: httpx2.Response) -> httpx2.Response:
    """A response with its body, unpacked piece by piece: a small one may unpack to more than the memory holds."""
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in (*PACKED, "identity", ""):
        raise PassingError("the server's answer is packed as was not asked for", tries=2, billed=True)
    pieces, size = [], 0
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            over = f"the server's answer is larger than {MAX_BYTES:,} bytes"
            raise PassingError(over, tries=2, billed=response.is_success)
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in SPENT]
    return httpx2.Response(
        response.status_code, headers=headers, content=b"".join(pieces), request=response.request
    )


def _session(transport: Any) -> aiohttp.ClientSession:
    """Connections for as many calls as there are: the places of an endpoint are all the limit there is."""
    connector: Any = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_S, ssl=transport.ssl_context)
    connector._factory = partial(Patient, loop=asyncio.get_running_loop())
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


class Patient(ResponseHandler):
    """One connection: hears so many interim responses out, and is not used again after words that nobody asked for.

    aiohttp would take those for the answer to the next question. The clients on httpcore look for that too.
    """

    interim = 0

    def is_connected(self) -> bool:
        """Whether it can be used again; aiohttp asks no one else."""
        return super().is_connected() and not self.should_close

    async def read(self) -> Any:
        """The next response, interim or not.

        Raises:
            aiohttp.ClientPayloadError: There were too many interim ones.
        """
        message: Any = await super().read()
        self.interim = self.interim + 1 if 100 <= message[0].code < 200 else 0
        if self.interim > INTERIM:
            raise aiohttp.ClientPayloadError("too many interim responses")
        return message


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode()}"


def _refuse_other_proxies(address: httpx2.URL) -> None:
    """Refuse a proxy that speaks no HTTP: aiohttp would say to it what it says to one that does.

    Raises:
        UsageError: The environment names one for this address.
    """
    named = getproxies()
    found = named.get(address.scheme) or named.get("all") or ""
    kind, there, _ = found.partition("://")
    if there and kind.lower() not in ("http", "https") and not proxy_bypass(address.netloc.decode()):
        raise UsageError(
            f"the environment names a proxy of the kind {kind}://, and only http:// can be gone through: "
            f"set ${address.scheme}_proxy, or no_proxy for {address.host}"
        )


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _secure() -> SSLContext:
    """How the certificate of a server is looked at: by the authorities that OpenAI's client trusts."""
    return httpx2.create_ssl_context()


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what caused it, down to the first cause."""
    found = [error]
    while (beneath := found[-1].__cause__ or found[-1].__context__) is not None:
        found.append(beneath)
    return found
