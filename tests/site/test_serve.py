"""The local server under those who mean it no good: half requests, slow messages, names that are none."""

import asyncio
import contextlib
import gc
import logging
import os
import re
import socket
import struct
import zlib
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urlsplit

import aiohttp
import pytest

from lotbench.errors import UsageError
from lotbench.site import serve
from lotbench.site.page import Served
from lotbench.types import JSON

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


class Pages:
    """One page, and whatever was sent to it."""

    def get(self, path: str) -> Served:
        return Served(b"<p>here</p>")

    async def post(self, path: str, sent: object) -> Mapping[str, JSON]:
        return {"sent": repr(sent)}


@pytest.fixture
async def address(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A server's address; the parameter, if any, is how long a connection may be idle."""
    monkeypatch.setattr(serve, "IDLE_S", getattr(request, "param", serve.IDLE_S))
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve.serve(Pages(), 0, ready.set_result))
    try:
        yield await asyncio.wait_for(ready, 10)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def raw(address: str, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(sent)
    return reader, writer


async def status_of(address: str, head: str, body: str = "") -> int:
    """The status of a request that a well-behaved client would not send."""
    reader, writer = await raw(address, f"{head}\r\n\r\n{body}".encode())
    answer = await asyncio.wait_for(reader.readline(), 10)
    writer.close()
    return int(answer.split()[1])


@pytest.mark.parametrize("rude", [True, False])
async def test_a_dropped_connection_prints_nothing(
    address: str, rude: bool, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    place = urlsplit(address)
    head = f"{place.path} HTTP/1.1\r\nHost: {place.netloc}\r\n"
    post = f"POST {head}Content-Type: application/json\r\n"
    for said in (
        "GE",
        f"GET {head}",
        f"GET {head}\r\n",
        f"{post}Content-Length: 90\r\n\r\n{{",
        f"{post}Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        f"{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x00\xff\r\n\r\n",
    ):
        one = socket.create_connection((place.hostname, place.port))
        if rude:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.sendall(said.encode("latin-1"))
        await asyncio.sleep(0.02)
        one.close()
    await asyncio.sleep(0.1)
    gc.collect()
    assert capfd.readouterr() == ("", "")
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


async def test_a_burst_of_half_requests_leaves_no_more_open_than_there_may_be(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,145 of them made the pages unreachable, and no more files could be opened."""
    monkeypatch.setattr(serve, "MAX_OPEN", 20)
    place, held = urlsplit(address), []
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(6):
        # Without a turn for the server: it finds all of them waiting when it comes to accept.
        for _ in range(60):
            one = socket.create_connection((place.hostname, place.port))
            one.send(HALF)
            held.append(one)
        for _ in range(20):
            await asyncio.sleep(0.01)
    async with aiohttp.ClientSession() as client, client.get(address) as answer:
        assert answer.status == 200
    # What is open here, less the clients' own ends.
    assert len(os.listdir("/proc/self/fd")) - before - len(held) <= 60 + 20 + 3
    for one in held:
        one.close()


@pytest.mark.parametrize("address", [0.2], indirect=True)
async def test_a_connection_that_says_nothing_whole_is_closed(address: str) -> None:
    reader, writer = await raw(address, HALF)
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


async def test_a_message_that_drips_is_given_up(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MESSAGE_S", 0.2)
    place = urlsplit(address)
    head = (
        f"POST {place.path}mark HTTP/1.1\r\nHost: {place.netloc}\r\n"
        "Content-Type: application/json\r\nContent-Length: 90000"
    )
    assert await status_of(address, head, '{"a":') == 408


@pytest.mark.parametrize(
    ("host", "origin", "kind", "status"),
    [
        ("[", "", "application/json", 403),
        ("127.0.0.1:{port}", "http://[", "application/json", 403),
        ("127.0.0.1:{port}", "http://elsewhere", "application/json", 403),
        ("127.0.0.1:{port}", "", "application/json; charset=no-such-thing", 200),
        ("127.0.0.1:{port}", "", "text/plain", 415),
    ],
)
async def test_names_that_are_none_are_refused_and_no_fault_of_ours(
    address: str, host: str, origin: str, kind: str, status: int
) -> None:
    place = urlsplit(address)
    lines = [
        f"POST {place.path}mark HTTP/1.1",
        f"Host: {host.format(port=place.port)}",
        f"Content-Type: {kind}",
    ]
    lines += [f"Origin: {origin}"] if origin else []
    assert await status_of(address, "\r\n".join([*lines, "Content-Length: 2"]), "{}") == status


@pytest.mark.parametrize("body", [zlib.compress(b'{"a": 1}'), b"rubbish"])
async def test_a_packed_message_is_not_unpacked(address: str, body: bytes) -> None:
    how = {"Content-Encoding": "deflate", "Content-Type": "application/json"}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{address}mark", data=body, headers=how) as got,
    ):
        assert (got.status, await got.json()) == (400, {"error": "not JSON"})


async def test_the_server_listens_on_the_loopback_alone_and_a_port_that_cannot_be_had_is_said(
    address: str,
) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/", address)
    for port in (urlsplit(address).port, 80808):
        with pytest.raises(UsageError, match=str(port)):
            await serve.serve(Pages(), port, lambda address: None)
