"""The limits of `lotbench serve`, over real sockets: who is shown out, and who never is."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from lotbench.environment import http_limits

KEY = "Authorization: Bearer sesame\r\n"
REQUEST = f"GET / HTTP/1.1\r\nHost: here\r\n{KEY}\r\n".encode()
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answer with the body, /slow after a while."""
    body = (await receive())["body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(3 * http_limits.PATIENCE_S)
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]}
    )
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MAX_OPEN", 4), ("LARGEST", 1000), ("PATIENCE_S", 0.3)):
        monkeypatch.setattr(http_limits, name, value)


@asynccontextmanager
async def served() -> AsyncIterator[Callable[[], Awaitable[Connection]]]:
    """A server; yields what opens a connection to it."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        http_limits.guarded(echo, "sesame"), http=http_limits.Limited, log_level="error", lifespan="off"
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve([listener]))
    opened: list[Connection] = []

    async def connect() -> Connection:
        opened.append(await asyncio.open_connection(*listener.getsockname()))
        return opened[-1]

    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield connect
    finally:
        for _, writer in opened:
            writer.close()
        server.should_exit = True
        await running
        listener.close()


async def answer(connection: Connection, *sent: bytes) -> bytes:
    """The first line of the answer to these bytes; empty if it is hung up."""
    reader, writer = connection
    for piece in sent:
        writer.write(piece)
    async with asyncio.timeout(10):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
    return head.splitlines()[0]


async def test_idle_connections_shut_nobody_out(limits: None) -> None:
    async with served() as connect:
        first = await connect()
        assert b"200" in await answer(first, REQUEST)
        idle = [await connect() for _ in range(20)]
        assert b"200" in await answer(await connect(), REQUEST)
        assert await answer(first) == b""
        assert [await answer(one) for one in idle] == [b""] * 20


async def test_work_under_way_is_never_cut_to_make_room(limits: None) -> None:
    async with served() as connect:
        slow = [
            asyncio.create_task(answer(await connect(), REQUEST.replace(b" / ", b" /slow ")))
            for _ in range(3)
        ]
        await asyncio.sleep(0.1)
        for _ in range(10):
            await connect()
        assert all(b"200" in one for one in await asyncio.gather(*slow))


@pytest.mark.parametrize("before", [b"", REQUEST])
async def test_half_a_request_is_shown_out_also_after_a_whole_one(before: bytes, limits: None) -> None:
    async with served() as connect:
        connection = await connect()
        if before:
            assert b"200" in await answer(connection, before)
        assert await answer(connection, REQUEST[:20]) == b""


@pytest.mark.parametrize(
    ("head", "body", "status"),
    [
        ("Content-Length: 1000\r\n", b"{" + b" " * 998 + b"}", b"200"),
        ("Content-Length: 1001\r\n", b"a" * 1001, b"413"),
        (
            "Transfer-Encoding: chunked\r\n",
            b"200\r\n" + b"a" * 512 + b"\r\n200\r\n" + b"a" * 512 + b"\r\n",
            b"413",
        ),
        ("Content-Length: 9\r\n", b"half", b"413"),
        ("Content-Length: 2\r\n", b"[]", b"400"),
        ("Content-Length: 9\r\n", b'{"a":NaN}', b"400"),
        ("Content-Length: 14\r\n", b'{"a":"\\ud800"}', b"400"),
    ],
)
async def test_a_body_is_bounded_in_size_or_time(head: str, body: bytes, status: bytes, limits: None) -> None:
    async with served() as connect:
        asked = f"POST / HTTP/1.1\r\nHost: here\r\n{KEY}{head}\r\n".encode()
        assert status in await answer(await connect(), asked, body)


async def test_a_message_that_is_no_object_gets_an_error_and_the_session_goes_on() -> None:
    texts = ["[]", "", '{"a":NaN}', '{"a":' + "[" * 9999, '{"a":1}']
    came, sent = ({"type": "websocket.receive", "text": text} for text in texts), []

    async def receive() -> Any:
        return next(came)

    async def send(message: Any) -> None:
        sent.append(json.loads(message["text"])["data"]["code"])

    async def session(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["text"] == '{"a":1}'

    scope = {"type": "websocket", "path": "/ws", "headers": [(b"authorization", b"Bearer sesame")]}
    await http_limits.guarded(session, "sesame")(scope, receive, send)
    assert sent == ["INVALID_JSON"] * 4


async def test_who_has_no_key_is_not_listened_to(limits: None) -> None:
    async with served() as connect:
        asked = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 999999\r\n\r\n"
        assert b"401" in await answer(await connect(), asked)
