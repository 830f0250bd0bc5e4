"""Models behind an OpenAI-compatible API.

langchain-openai's ChatOpenAI knows base URL and headers of OpenAI; the hot path posts bytes by aiohttp, and reads
JSON: the clients above it would build typed objects on the way out and in, for more CPU than all else that happens
to a call. Calls are tried again here and nowhere else: the client
cannot time a whole attempt, wait longer than two minutes, ask again for a broken body, or say how many
calls are waiting.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any, cast
from urllib.request import getproxies, proxy_bypass

import orjson

from lotbench.config.experiment import Limits
from lotbench.config.model_names import ModelName, checked_url
from lotbench.edge.models import chat_format
from lotbench.edge.models.concurrency import Pace
from lotbench.edge.models.connections import Connections
from lotbench.errors import CallFailed, Unescapable, UnknownModel, Unreachable, UsageError
from lotbench.report.markdown import visible
from lotbench.types import JSON, Key, Reply, Request

MALFORMED_TRIES = 4
"""Times that a response which is no chat completion is asked for: it was paid for, and often it stays one."""
TEST, REFUSED_TRIES = "preflight", 3
"""Times that a connection test is tried where nothing listens: a server that is down is named in two seconds."""
MAX_BYTES = 16_000_000
"""Bytes of a response, unpacked, at most: 4,096 tokens with their likeliest alternatives take some 7 MB."""
REDIRECTS = 3
"""Redirections that are followed, each on the same host: a prompt goes nowhere that was not named."""
REDIRECTING = frozenset({301, 302, 303, 307, 308})
CROWDED = frozenset({429, 503, 529})
"""Statuses of an endpoint that has too much to do."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 8.0
"""Where the server names no time, each wait doubles from the first to the longest."""
PASSING = frozenset({408, 409, 425, 429})
"""Statuses that may be better at the next try; so may all from 500."""


@dataclass(slots=True)
class Waiting:
    """How many calls wait to be tried again; for the progress display."""

    retries: int = 0

    async def wait(self, seconds: float) -> None:
        """Wait before another try."""
        self.retries += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.retries -= 1


class PassingError(Exception):
    """A trouble that another try may not meet.

    Attributes:
        wait: The seconds that the server asks to wait, if it names any.
        tries: How often it is worth trying, whatever the limits say.
        refused: Whether nothing listens at the address.
    """

    def __init__(
        self, reason: str, wait: float | None = None, tries: float = float("inf"), *, refused: bool = False
    ) -> None:
        self.wait = wait
        self.tries = tries
        self.refused = refused
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Delivered:
    """What came back to a body.

    Attributes:
        sent: What of the body is worth recording; see `chat_format.sent`.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    seconds: float
    sent: Mapping[str, JSON]


def key(name: ModelName) -> str:
    """The API key of a model, from the environment.

    Raises:
        UsageError: The variable is not set; the message names it and a way to try without one.
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
        f"{name.text}: ${name.key} is not set; to try without a key: make evaluate, or lotbench evaluate --config try"
    )


class ChatModel:
    """A model behind an OpenAI-compatible API.

    Args:
        name: The model name, read.
        picture: The data URL of a picture.
        limits: Timeout, retries and the longest wait.
        waiting: Where calls that wait to be tried again are counted.
        pace: The places of its endpoint; of its own by default.
        connections: Shared with other models, and closed by whoever shares them; of its own by default.
        url: Replaces the base URL of the name (an embedded server).
        secret: Replaces the key of the name.
    """

    def __init__(
        self,
        name: ModelName,
        picture: chat_format.Picture,
        limits: Limits,
        waiting: Waiting,
        *,
        pace: Pace | None = None,
        connections: Connections | None = None,
        url: str = "",
        secret: str = "",
    ) -> None:
        self.name = name
        self._pace = pace or Pace(limits.concurrency)
        self.url = url or name.url
        if name.provider == "openai":
            given = os.environ.get("OPENAI_BASE_URL", "").strip()
            self.url = checked_url("$OPENAI_BASE_URL", given, "$OPENAI_API_KEY") if given else self.url
        self.secret = secret or key(name)
        self._picture = picture
        self._limits = limits
        self._waiting = waiting
        openai = self.url.startswith("https://api.openai.com")
        self._able = chat_format.Abilities(
            structured="json_schema_unbounded" if openai else "json_schema",
            bounds=("max_completion_tokens",) if openai else chat_format.BOUNDS,
            detail=openai,
            tier="flex" if name.provider == "openai" and limits.service_tier == "flex" else "",
        )
        self._sees = False
        """Whether it has answered to a picture: then a refused picture is that picture's fault."""
        self._shared = connections is not None
        self._connections = connections or Connections()
        self._session: Any = None
        self._ssl: Any = True
        self._base: Any = None
        self.bearer = {"Authorization": f"Bearer {self.secret}"}
        self._proxy: str | None = None

    async def __call__(self, request: Request) -> Reply:
        """Answer a request; what the endpoint refuses is left out from then on."""
        while True:
            able = self._able
            made = chat_format.body(request, self.name.model or request.model, able, self._picture)
            answer = await self._tried(made, able, request.key)
            if isinstance(answer, Reply):
                return answer
            # Another call may have learned meanwhile; only what refused this very body counts.
            if self._able == able:
                self._able = answer

    async def _tried(
        self, made: dict[str, Any], able: chat_format.Abilities, place: Key
    ) -> Reply | chat_format.Abilities:
        """Post a body until something comes of it."""
        for attempt in itertools.count():
            try:
                return self._understood(await self._delivered(made, able, place), made, able)
            except PassingError as trouble:
                if trouble.refused and place.step == TEST and attempt >= REFUSED_TRIES - 1:
                    raise Unreachable(f"{self.name.text}: {trouble}: is the server running?") from None
                met = trouble
            await self.before_next(attempt, met, str(place))
        raise AssertionError("itertools.count has an end")

    async def before_next(self, attempt: int, trouble: PassingError, place: str) -> None:
        """Wait before another try.

        Raises:
            CallFailed: There is to be none.
        """
        told = trouble.wait
        # A server that says 0 and still has too much to do has not said when that will end.
        wait = _backoff(attempt, place) if told is None or (attempt and not told) else told
        if attempt >= min(self._limits.retries, trouble.tries - 1):
            raise CallFailed(f"{self.name.text}: {trouble} (tries: {attempt + 1})")
        if wait > self._limits.max_wait_s:
            longest = f"max_wait_s is {self._limits.max_wait_s:g}"
            raise CallFailed(f"{self.name.text}: {trouble}; told to wait {wait:g} s, {longest}")
        await self._waiting.wait(wait)

    async def _delivered(self, made: dict[str, Any], able: chat_format.Abilities, place: Key) -> Delivered:
        """Post a body once, for the call of this key.

        Raises:
            PassingError: Nothing came back.
        """
        async with self._pace.place():
            started = time.monotonic()
            response, content = await self.send("POST", "chat/completions", data=orjson.dumps(made))
        seconds = time.monotonic() - started
        return Delivered(response.status, response.headers, content, seconds, chat_format.sent(made, able))

    def _understood(
        self, got: Delivered, made: dict[str, Any], able: chat_format.Abilities
    ) -> Reply | chat_format.Abilities:
        """What came back: a reply, less to ask for, or an error that says whether to try again."""
        if not 200 <= got.status < 300:
            return self._refused(got, made, able)
        try:
            answer = from_json(got.content)
        except (ValueError, RecursionError):
            raise PassingError("the server's answer is not JSON", tries=MALFORMED_TRIES) from None
        found = chat_format.reply(answer, got.seconds, got.sent)
        if found is not None and self.secret not in ("", "none"):
            # Some servers echo what they were sent, and the model's id goes into every report.
            found = replace(found, model=found.model.replace(self.secret, "***"))
        if found is None:
            told = chat_format.complaint(answer)
            about = f": {short(told, self.secret)}" if told else ""
            raise PassingError(f"the server's answer is no chat completion{about}", tries=MALFORMED_TRIES)
        self._sees = self._sees or chat_format.has_picture(made)
        self._pace.kept_up(found.seconds)
        return found

    async def send(
        self, method: str, path: str, seconds: float | None = None, **request: Any
    ) -> tuple[Any, bytes]:
        """Send one request to a path below the base URL, within the time of an attempt; see `_exchanged`."""
        import aiohttp

        http = self._http()
        try:
            async with asyncio.timeout(seconds or self._limits.timeout_s):
                return await self._exchanged(http, method, path, **request)
        except (aiohttp.ClientError, OSError) as error:
            # A broken connection comes under many names; what lies beneath tells a timeout.
            chain = _chain(error)
            if any(isinstance(link, TimeoutError) for link in chain):
                raise PassingError(f"no answer within {seconds or self._limits.timeout_s:g} s") from None
            refused = any(isinstance(link, ConnectionRefusedError) for link in chain)
            why = "refused" if refused else type(chain[-1]).__name__
            raise PassingError(f"no connection to {self.url} ({why})", refused=refused) from None

    async def _exchanged(
        self,
        http: Any,
        method: str,
        path: str,
        take: Callable[[Any], Awaitable[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> tuple[Any, bytes]:
        """A response with its body, unpacked.

        Args:
            http: The connections.
            method: Of the request.
            path: Below the base URL.
            take: Reads the body of a response; by default whole, up to `MAX_BYTES`.
            headers: In place of our key as a bearer.
            **request: What else aiohttp makes a request of.

        Raises:
            PassingError: The body is larger than any answer.
            Unescapable: The server sends elsewhere.
        """
        first = address = self._base.join(type(self._base)(path))
        for _ in range(REDIRECTS + 1):
            sending = http.request(
                method,
                address,
                headers=self.bearer if headers is None else headers,
                allow_redirects=False,
                proxy=self._proxy,
                ssl=self._ssl,
                **request,
            )
            async with sending as response:
                location = response.headers.get("location") if response.status in REDIRECTING else None
                if location is None:
                    return response, await (take or whole)(response)
            try:
                address = address.join(type(address)(location))
            except ValueError:
                raise PassingError(f"{self.url} redirects to no address", tries=MALFORMED_TRIES) from None
            if address.origin() != first.origin():
                raise Unescapable(f"{self.name.text}: {self.url} redirects to another host: name that one")
        raise PassingError(f"{self.url} redirects in a circle")

    def _refused(
        self, got: Delivered, made: dict[str, Any], able: chat_format.Abilities
    ) -> Reply | chat_format.Abilities:
        """What a status other than 200 means."""
        status, text = got.status, chat_format.error_message(got.content)
        said = f"{status}: {short(text, self.secret)}"
        told = f"{self.name.text}: {said}"
        if status in (400, 403) and chat_format.withheld(text):
            return Reply("", made["model"], "content_filter", sent=got.sent)
        self.stop_if_hopeless(status, text, told, made)
        if status in (400, 413, 422):
            if (less := chat_format.lessened(able, text, made)) is not None:
                return less
            if chat_format.too_long(text):
                return Reply("", made["model"], "length", sent=got.sent)
        if chat_format.no_pictures(text, made) and not self._sees:
            raise Unescapable(f"{told} (no picture input: to play without, --set arm=caption)")
        if status in CROWDED:
            self._pace.crowded()
        if (trouble := passing(status, got.headers, said)) is not None:
            raise trouble
        if status == 404:
            raise UnknownModel(f"{told} (no such model or address: {self.url})")
        raise CallFailed(told)

    def stop_if_hopeless(self, status: int, text: str, told: str, made: Mapping[str, Any]) -> None:
        """Stop the run on a refusal that every other call would meet too."""
        if status in (401, 403):
            variable = f"${self.name.key}" if self.name.key else "the server"
            raise Unescapable(f"{told} (the key in {variable} was refused)")
        if status == 402 or "insufficient_quota" in text:
            raise Unescapable(f"{told} (no credit left)")
        if "image_url" in text and chat_format.no_pictures(text, made) and not self._sees:
            raise Unescapable(f"{told} (no picture input: to play without, --set arm=caption)")

    def _http(self) -> Any:
        """The connections, made at the first call, inside the running loop."""
        if self._session is None:
            import aiohttp
            from yarl import URL

            headers, base = self._meant()
            self._base = URL(f"{base.rstrip('/')}/")
            if self._base.scheme == "https":
                self._ssl = self._connections.secure
            self._proxy = _proxy(self._base)
            self._session = aiohttp.ClientSession(
                connector=self._connections.connector,
                connector_owner=False,
                headers=headers,
                # A whole attempt is timed here: see `send`.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            )
        return self._session

    def _meant(self) -> tuple[dict[str, str], str]:
        """The headers, but for the key, and the base URL that ChatOpenAI has for this model.

        It knows what the environment says of OpenAI. All that it could add to an address that the name of a model
        states is not for others to see (the organization, the project, headers out of the environment), and it takes
        a second to import: a test holds the rest equal.
        """
        if self.name.provider != "openai":
            agent = f"AsyncOpenAI/Python {version('openai')}"
            said = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": agent}
            return said, self.url
        from langchain_openai import ChatOpenAI

        chat = ChatOpenAI(
            model=self.name.model or "local",
            api_key=cast(Any, self.secret),
            base_url=self.url,
            timeout=self._limits.timeout_s,
            max_retries=0,
            openai_proxy=None,
        ).root_async_client
        said = {name: value for name, value in chat.default_headers.items() if isinstance(value, str)}
        said = {name: value for name, value in said.items() if name.lower() != "authorization"}
        return said, str(chat.base_url)

    def without_secret(self, content: bytes) -> bytes:
        """What a server sent, without our key, which some repeat."""
        return content if self.secret in ("", "none") else content.replace(self.secret.encode(), b"***")

    async def close(self) -> None:
        """Close the connections, unless they are shared."""
        if self._session is not None:
            await self._session.close()
        if not self._shared:
            await self._connections.close()


def passing(status: int, headers: Mapping[str, str], said: str) -> PassingError | None:
    """The trouble that a status is, if another try may not meet it."""
    if status in PASSING or status >= 500:
        return PassingError(said, chat_format.retry_after(headers, time.time()))
    return None


async def whole(response: Any) -> bytes:
    """The body of a response, unpacked piece by piece: a small one may unpack to more than the memory holds."""
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise PassingError(f"the server's answer is larger than {MAX_BYTES:,} bytes", tries=2)
    return b"".join(pieces)


def from_json(content: bytes) -> Any:
    """The JSON of a body; by the slower decoder where a server writes what the faster one refuses (NaN).

    Raises:
        ValueError, RecursionError: It is none.
    """
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        return json.loads(content)


def _proxy(base: Any) -> str | None:
    """The proxy that the environment names for an address, if it does; read once, not at every call.

    This machine itself is not beyond any proxy: who is asked there would be that of the proxy's.

    Raises:
        UsageError: It is none that speaks HTTP; aiohttp would say to it what it says to such a one.
    """
    named = getproxies()
    found = named.get(base.scheme) or named.get("all")
    if not found or _is_here(base.host) or proxy_bypass(base.authority):
        return None
    kind, there, _ = found.partition("://")
    if there and kind.lower() not in ("http", "https"):
        raise UsageError(
            f"the environment names a proxy of the kind {kind}://, and only http:// can be gone through: "
            f"set ${base.scheme}_proxy, or no_proxy for {base.host}"
        )
    return found if there else f"http://{found}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _backoff(attempt: int, place: str) -> float:
    """The seconds before another try; calls that failed together come back apart."""
    longest = min(FIRST_WAIT_S * 2.0**attempt, LONGEST_WAIT_S)
    return longest * random.Random(f"{place}:{attempt}").uniform(0.75, 1.0)


def _chain(error: BaseException) -> list[BaseException]:
    """An error and what caused it, down to the first cause."""
    found = [error]
    while (beneath := found[-1].__cause__ or found[-1].__context__) is not None:
        found.append(beneath)
    return found


def short(text: str, secret: str) -> str:
    """An error message for one line, without the key that some servers repeat; JSON only if there is no more."""
    clean = text if secret in ("", "none") else text.replace(secret, "***")
    clean = clean.partition(' {"')[0] or clean
    return " ".join(visible(clean).split())[:300]
