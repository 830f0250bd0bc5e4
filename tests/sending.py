"""How the fake server sends: whole, as a real one does, or in one of the broken ways that have a name."""

import asyncio
import gzip
import json
from collections.abc import Mapping

from aiohttp import web

from tests.abilities import Body, Refused
from tests.faults import Status, Wire

HTML = "<html><head><title>Oh no</title></head><body><h1>Something went wrong</h1></body></html>"


class Cut(ConnectionError):
    """The server has closed the connection before the end of a response, as its fault wants."""


async def send(request: web.BaseRequest, sent: bytes, fault: Wire | None) -> web.StreamResponse:
    """Send a response to its last byte, or as far as its fault lets it come."""
    how = fault.how if fault else None
    if how in ("cut_before", "cut_within", "drip"):
        return await _in_pieces(request, sent, how, fault.seconds if fault else 0.0)
    kind = "application/json"
    match how:
        case "truncated":
            sent = sent[: len(sent) // 2]
        case "invalid_json":
            sent = b"{'id': chatcmpl-fake, 'choices': [}"
        case "html":
            sent, kind = HTML.encode(), "text/html"
        case "wrong_type":
            kind = "text/plain"
        case "bomb":
            sent = gzip.compress(b"[" + b" " * 40_000_000)
    coded = {"Content-Encoding": "gzip"} if how == "bomb" else {}
    away = {"Location": "http://127.0.0.2:9/v1/chat/completions"} if how == "elsewhere" else {}
    response = web.Response(
        body=sent, status=307 if away else 200, headers={"Content-Type": kind, **coded, **away}
    )
    await response.prepare(request)
    await response.write_eof()
    return response


async def _in_pieces(
    request: web.BaseRequest, sent: bytes, how: str | None, seconds: float
) -> web.StreamResponse:
    headers = {"Content-Type": "application/json", "Content-Length": str(len(sent))}
    response = web.StreamResponse(headers=headers)
    if how != "cut_before":
        await response.prepare(request)
        pieces = 10 if how == "drip" else 1
        size = len(sent) // (pieces * (1 if how == "drip" else 2)) + 1
        for start in range(0, size * pieces, size):
            await asyncio.sleep(seconds / pieces)
            await response.write(sent[start : start + size])
    if how == "drip":
        await response.write_eof()
        return response
    if request.transport is not None:
        request.transport.close()
    raise Cut(how)


def status_of(fault: Status) -> web.Response:
    """The error response of a fault."""
    headers = {"Retry-After": fault.retry_after} if fault.retry_after is not None else {}
    if fault.html:
        page = HTML.replace("Something went wrong", fault.message)
        return web.Response(text=page, status=fault.status, content_type="text/html", headers=headers)
    error = Refused(fault.status, fault.message, code=fault.code).error
    return to_json({"error": error}, fault.status, headers)


def to_json(value: Body, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """A response that holds a JSON value."""
    sent = json.dumps(value, ensure_ascii=False).encode()
    return web.Response(
        body=sent, status=status, headers={"Content-Type": "application/json", **(headers or {})}
    )
