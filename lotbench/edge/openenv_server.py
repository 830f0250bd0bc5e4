"""The wire of OpenEnv: reset, step and state, over a WebSocket or as single requests, on the loopback, with a key.

As the released client (openenv 0.10) speaks: at `/ws` each connection is a session, with messages `{"type": "reset" |
"step" | "state" | "close", "data": {...}}` and answers of the types `observation`, `state` and `error`. `POST /reset`,
`POST /step` and `GET /state` do the same for who has no WebSocket, a session an `episode_id`; `/health`, `/metadata` and
`/schema` say what is here. Everything but `/health` wants `Authorization: Bearer KEY`.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol, TypeAlias

from aiohttp import WSMsgType, web

from lotbench.edge.serve import HOST
from lotbench.errors import LotbenchError, UsageError
from lotbench.types import JSON

Data: TypeAlias = Mapping[str, Any]
LARGEST = 4_000_000
"""Bytes of a message; an action that is too long for a game is refused by the game, which says so."""
WAITING = 8
"""Messages of a connection that may wait for their turn."""
_log = logging.getLogger(__name__)


class Session(Protocol):
    """One client, and the episode that it is in."""

    @property
    def over(self) -> bool:
        """Whether its episode has ended."""
        ...

    async def reset(self, data: Data) -> Mapping[str, JSON]:
        """Begin an episode; raises UsageError if what is asked for does not fit."""
        ...

    async def step(self, action: Data) -> Mapping[str, JSON]:
        """Take a step; raises UsageError for a wrong action, which changes nothing."""
        ...

    def state(self) -> Mapping[str, JSON]:
        """Where the episode stands."""
        ...

    async def close(self) -> None:
        """Leave."""
        ...


class Environment(Protocol):
    """What is served."""

    def session(self) -> Session:
        """A place for one more client."""
        ...

    def about(self) -> Mapping[str, JSON]:
        """Its `name`, `description` and `version`."""
        ...

    def schema(self) -> Mapping[str, JSON]:
        """The JSON schemas of `action`, `observation` and `state`."""
        ...


class Server:
    """The web application of an environment.

    Args:
        environment: What is served.
        key: What a client must show.
        most: Sessions at once.
    """

    def __init__(self, environment: Environment, key: str, most: int) -> None:
        self._environment = environment
        self._key = key.encode()
        self._most = most
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        """Those of single requests, by episode, the one longest unused first."""
        self._connected = 0

    def application(self) -> web.Application:
        """The application."""
        app = web.Application(middlewares=[self._guarded], client_max_size=LARGEST)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metadata", self._told(self._environment.about))
        app.router.add_get("/schema", self._told(self._environment.schema))
        app.router.add_post("/reset", self._reset)
        app.router.add_post("/step", self._step)
        app.router.add_get("/state", self._state)
        app.router.add_get("/ws", self._socket)
        return app

    @web.middleware
    async def _guarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        shown = given.strip().encode(errors="surrogateescape")
        known = scheme.lower() == "bearer" and hmac.compare_digest(shown, self._key)
        if not known and request.path != "/health":
            return _refused(401, "UNAUTHORIZED", "show the key: Authorization: Bearer KEY")
        try:
            return await handler(request)
        except UsageError as error:
            return _refused(422, "VALIDATION_ERROR", str(error))
        except LotbenchError as error:
            return _refused(500, "EXECUTION_ERROR", str(error))

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response({"status": "healthy"})

    def _told(
        self, table: Callable[[], Mapping[str, JSON]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def told(request: web.Request) -> web.Response:
            return web.json_response(dict(table()))

        return told

    async def _reset(self, request: web.Request) -> web.Response:
        data = await _body(request)
        name = str(data.get("episode_id") or "")
        known = name in self._sessions
        session = self._session(name) if known else await self._begun(name)
        try:
            answer = await session.reset(data)
        except LotbenchError:
            if not known:
                self._sessions.pop(name, None)
            raise
        return web.json_response(dict(answer))

    async def _step(self, request: web.Request) -> web.Response:
        data = await _body(request)
        session = self._session(str(data.get("episode_id") or ""))
        action = data.get("action")
        if not isinstance(action, dict):
            raise UsageError("action: an object is wanted")
        return web.json_response(dict(await session.step(action)))

    async def _state(self, request: web.Request) -> web.Response:
        return web.json_response(dict(self._session(request.query.get("episode_id", "")).state()))

    def _session(self, name: str) -> Session:
        if name not in self._sessions:
            raise UsageError(f"no episode {name!r}: reset first" if name else "no episode: reset first")
        self._sessions.move_to_end(name)
        return self._sessions[name]

    async def _begun(self, name: str) -> Session:
        """A session for single requests; it has its place at once, whoever else comes meanwhile."""
        leaving = self._leaving()
        session = self._sessions[name] = self._environment.session()
        if leaving is not None:
            await leaving.close()
        return session

    def _leaving(self) -> Session | None:
        """The session that has to make room, if there are too many: one that is over, else that unused for longest."""
        if len(self._sessions) + self._connected < self._most:
            return None
        if not self._sessions:
            raise UsageError(f"all {self._most} sessions are taken")
        over = (name for name, session in self._sessions.items() if session.over)
        return self._sessions.pop(next(over, next(iter(self._sessions))))

    async def _socket(self, request: web.Request) -> web.WebSocketResponse:
        """A session for as long as the connection stands; messages are answered in their order."""
        socket = web.WebSocketResponse(max_msg_size=LARGEST)
        await socket.prepare(request)
        try:
            leaving = self._leaving()
        except UsageError as error:
            await socket.send_json(_error("CAPACITY_REACHED", str(error)))
            await socket.close()
            return socket
        self._connected += 1
        session, waiting = self._environment.session(), asyncio.Queue[str](WAITING)
        # Beside the reading, which answers pings: a judge may take longer than a client waits for one.
        answering = asyncio.create_task(_answered(socket, session, waiting))
        try:
            if leaving is not None:
                await leaving.close()
            async for message in socket:
                if message.type != WSMsgType.TEXT or answering.done():
                    break
                await waiting.put(message.data)
        finally:
            self._connected -= 1
            answering.cancel()
            with suppress(asyncio.CancelledError, ConnectionError):
                await answering
            await session.close()
        return socket


async def _answered(socket: web.WebSocketResponse, session: Session, waiting: asyncio.Queue[str]) -> None:
    while True:
        try:
            answer = await _answer(session, await waiting.get())
        except Exception:  # noqa: BLE001 - whoever waits for the answer must not wait for ever
            _log.exception("a message could not be answered")
            answer = _error("EXECUTION_ERROR", "the server failed: what happened is told where it runs")
        if answer is None:
            await socket.close()
            return
        await socket.send_json(answer)


async def _answer(session: Session, message: str) -> dict[str, Any] | None:
    """What is said to a message; None to the last."""
    try:
        told = json.loads(message)
    except (ValueError, RecursionError) as error:
        return _error("INVALID_JSON", f"not JSON: {error}")
    kind, data = (told.get("type"), told.get("data", {})) if isinstance(told, dict) else (None, {})
    if not isinstance(data, dict):
        return _error("VALIDATION_ERROR", "data: an object is wanted")
    try:
        match kind:
            case "reset":
                return {"type": "observation", "data": dict(await session.reset(data))}
            case "step":
                return {"type": "observation", "data": dict(await session.step(data))}
            case "state":
                return {"type": "state", "data": dict(session.state())}
            case "close":
                return None
    except UsageError as error:
        return _error("VALIDATION_ERROR", str(error))
    except LotbenchError as error:
        return _error("EXECUTION_ERROR", str(error))
    return _error("UNKNOWN_TYPE", f"type {kind!r}: reset, step, state or close is wanted")


def _error(code: str, message: str) -> dict[str, Any]:
    return {"type": "error", "data": {"code": code, "message": message}}


def _refused(status: int, code: str, message: str) -> web.Response:
    return web.json_response({"detail": message, "code": code}, status=status)


async def _body(request: web.Request) -> dict[str, Any]:
    """The JSON object that a request brings; none is an empty one.

    Raises:
        UsageError: It is something else.
    """
    try:
        found = json.loads(await request.text() or "{}")
    except (ValueError, LookupError, RecursionError):
        raise UsageError("the body is no JSON") from None
    if not isinstance(found, dict):
        raise UsageError("the body: an object is wanted")
    return found


async def serve_environment(
    environment: Environment, port: int, key: str, ready: Callable[[str], None], most: int
) -> None:
    """Serve an environment on the loopback until it is cancelled.

    Args:
        environment: What is served.
        port: The port; 0 takes a free one.
        key: What a client must show.
        ready: Is told the address once clients can come.
        most: Sessions at once.

    Raises:
        UsageError: The port is taken.
    """
    runner = web.AppRunner(
        Server(environment, key, most).application(), access_log=None, shutdown_timeout=0.5
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, HOST, port)
        try:
            await site.start()
        except (OSError, OverflowError) as error:
            raise UsageError(f"{HOST}, port {port}: {getattr(error, 'strerror', '') or error}") from None
        ready(f"http://{HOST}:{runner.addresses[0][1]}")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
