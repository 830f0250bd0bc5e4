"""Servers that send what none should: bombs, other hosts, numbers that are none, our own key."""

import asyncio
import gc
import gzip
import io
import json
import logging
import re
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from langchain_core.messages import AIMessage

from lotbench.calls.budget import discarded
from lotbench.calls.caller import storable
from lotbench.calls.journal import Entry, Journal
from lotbench.cli import main
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import CallFailed, Unescapable, UsageError
from lotbench.models import chat, chat_format
from lotbench.models.chat import ChatModel
from lotbench.models.retrying import PassingError, Waiting
from lotbench.types import Message, Reply, Usage
from tests.asking import asked, question
from tests.faults import Status
from tests.recorded import copied, recorded
from tests.server import FakeServer

QUESTION = question(form=None)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def completion(text: str = "fine", **more: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]} | more


def answering(body: Any, **how: Any) -> Answer:
    async def answer(request: web.Request) -> web.Response:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(body=raw, content_type="application/json", **how)

    return answer


@asynccontextmanager
async def answered(answer: Answer, retries: int = 0) -> AsyncIterator[ChatModel]:
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    app.router.add_post("/v1/elsewhere", answering(completion("found")))
    async with TestServer(app) as server:
        url = f"http://127.0.0.1:{server.port}/v1"
        async with asked(url, retries=retries, timeout_s=20) as model:
            yield model


async def fails(
    at: AbstractAsyncContextManager[ChatModel], why: str, how: type[Exception] = CallFailed
) -> None:
    """The call of a model that is opened so fails for this reason."""
    async with at as model:
        with pytest.raises(how, match=why):
            await model(QUESTION)


async def reply_to(body: Any, **how: Any) -> Reply:
    async with answered(answering(body, **how)) as model:
        return await model(QUESTION)


def written_and_read(reply: Reply, folder: Path) -> Reply:
    """The reply after it went through a journal."""
    with Journal(folder / "calls.jsonl") as journal:
        journal.put(Entry(QUESTION.key, "candidate", 0, "m", "call", 0.0, storable(reply)))
        found = journal.get(QUESTION.key)
        assert found is not None
        return found.reply


async def test_a_body_larger_than_any_answer_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 MB of gzip took 2.9 GB."""
    unpacked = 0
    whole = zlib.decompressobj

    def counted(*args: Any, **named: Any) -> Any:
        inner = whole(*args, **named)

        class Counted:
            def decompress(self, data: bytes, *more: Any) -> bytes:
                nonlocal unpacked
                made: bytes = inner.decompress(data, *more)
                unpacked += len(made)
                return made

            def __getattr__(self, name: str) -> Any:
                return getattr(inner, name)

        return Counted()

    bomb = gzip.compress(b"[" + b" " * 100_000_000)
    monkeypatch.setattr(zlib, "decompressobj", counted)
    with pytest.raises(CallFailed, match="larger than 16,000,000 bytes"):
        await reply_to(bomb, headers={"Content-Encoding": "gzip"})
    assert unpacked < 60_000_000


async def test_a_body_without_end_is_given_up() -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while sent < 200_000_000:
            await response.write(b" " * 1_000_000)
            sent += 1_000_000
        return response

    await fails(answered(endless), "larger than")
    assert sent < 100_000_000


@pytest.mark.parametrize("key", ["sk-open-sesame-123456", r"sk\u002dopen\u002dsesame-123456"])
async def test_a_key_that_an_answer_repeats_is_not_kept(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with escapes, which are gone once the answer's JSON is read."""
    monkeypatch.setenv("LOTBENCH_API_KEY", "sk-open-sesame-123456")
    told = f"Your header: Bearer {key}"
    body = completion("{}") | {
        "choices": [{"message": {"content": told, "reasoning": told, "refusal": told}}]
    }
    reply = await reply_to(body)
    assert (reply.text, reply.reasoning, reply.refusal) == ("Your header: Bearer ***",) * 3


@pytest.mark.parametrize(
    "choice",
    [{"finish_reason": "error"}, {"error": {"code": 502}}, {"finish_reason": "insufficient_system_resource"}],
)
async def test_an_answer_that_ends_with_an_error_is_none(choice: dict[str, Any]) -> None:
    """It counted as an answer that cannot be read."""
    body = completion("{}") | {"choices": [{"message": {"content": "half"}, **choice}]}
    await fails(answered(answering(body)), "no chat completion")


@pytest.mark.parametrize(
    ("told", "finish"),
    [
        ({"stopReason": "max_tokens"}, "length"),
        ({"stopReason": "guardrail_intervened"}, "content_filter"),
        ({"done_reason": "length"}, "length"),
        ({"status": "incomplete"}, "length"),
        ({"finish_reason": "SAFETY"}, "content_filter"),
        ({"finish_reason": "content_filter: RECITATION"}, "content_filter"),
        ({"finish_reason": "model_context_window_exceeded"}, "length"),
        ({"stopReason": "content_filtered"}, "content_filter"),
        ({"finish_reason": "ERROR_TOXIC"}, "content_filter"),
        ({"finish_reason": "max_new_tokens"}, "length"),
        ({"finish_reason": "eos_token"}, "other"),
        ({"status": "completed"}, "other"),
        ({}, "stop"),
    ],
)
def test_every_provider_of_langchain_says_in_its_own_way_that_a_reply_was_cut(told: Any, finish: str) -> None:
    assert chat_format.reply(AIMessage("The idea is to", response_metadata=told), 1.0, {}).finish == finish


async def test_a_text_longer_than_any_answer_is_cut_and_said(tmp_path: Path) -> None:
    reply = written_and_read(await reply_to(completion("a" * 3_000_000)), tmp_path)
    assert (len(reply.text), reply.finish, reply.sent["cut_from"]) == (1_000_000, "length", 3_000_000)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_prompt_goes_to_no_other_host(status: int) -> None:
    reached: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        reached.append(await request.text())
        return web.json_response(completion())

    app = web.Application()
    app.router.add_route("*", "/v1/elsewhere", elsewhere)
    async with TestServer(app) as other:
        away = {"Location": f"http://127.0.0.1:{other.port}/v1/elsewhere"}
        with pytest.raises(Unescapable, match="redirects to another host"):
            await reply_to(b"", status=status, headers=away)
    assert reached == []


async def test_another_path_of_the_same_host_is_followed_and_a_circle_is_not() -> None:
    assert (await reply_to(b"", status=308, headers={"Location": "/v1/elsewhere"})).text == "found"
    with pytest.raises(CallFailed, match="in a circle"):
        await reply_to(b"", status=307, headers={"Location": "/v1/chat/completions"})


async def test_a_redirection_to_no_address_is_a_failed_call() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nContent-Length: 0\r\nLocation: /\xff\r\n\r\n"
    await fails(talking(saying(moved)), "redirects to no address")


async def test_a_redirection_with_a_user_name_is_not_followed() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=307, headers={"Location": f"http://a:b@{request.host}/v1/elsewhere"})

    await fails(answered(answer), "redirects to another host", Unescapable)


@pytest.mark.parametrize("charset", ["punycode", "idna", "hex", "utf-16"])
async def test_an_error_is_not_decoded_as_the_server_says(charset: str) -> None:
    """A megabyte of punycode held the whole process up."""
    how = {"Content-Type": f"text/plain; charset={charset}"}
    started = time.monotonic()
    await fails(talking(saying(_response("400 Bad", how, b"-" + b"a" * 1_000_000))), "400")
    assert time.monotonic() - started < 5


async def test_a_header_that_is_not_ascii_loses_no_reply() -> None:
    how = {"X-Greeting": "gr\u00fc\u00df", "Date": "\u4e2d"}
    async with talking(saying(_response("200 OK", how, json.dumps(completion()).encode()))) as model:
        assert (await model(QUESTION)).text == "fine"


def _response(status: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


@pytest.mark.parametrize("count", [10**400, -1, True, 1.5, "7", None, [], 10**11 + 1])
async def test_counts_that_are_none_are_zero(count: Any, tmp_path: Path) -> None:
    more = {"prompt_tokens_details": {"cached_tokens": count}}
    usage = {"prompt_tokens": count, "completion_tokens": 7, **more}
    reply = written_and_read(await reply_to(completion(usage=usage)), tmp_path)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (0, 7)


async def test_a_404_after_a_reply_is_of_one_prompt() -> None:
    """One prompt to which OpenRouter found no endpoint ended the run, at each resume again."""
    replies = [
        web.json_response({"error": "no endpoint for it"}, status=404),
        web.json_response(completion()),
    ]

    async def answer(request: web.Request) -> web.Response:
        return replies.pop()

    async with answered(answer) as model:
        await model(QUESTION)
        with pytest.raises(CallFailed, match="404"):
            await model(QUESTION)


async def test_an_id_is_no_page_and_never_our_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", "sk-sesame-123")
    reply = await reply_to(completion(model="you\nsent\x0bsk-sesame-123" + "x" * 999))
    assert reply.model.startswith("you sent ***x"), "in one line"
    assert len(reply.model) <= chat_format.MAX_ID


@pytest.mark.parametrize(
    "told", ["sk-sesame-123", "sk-se\u200bsame-123", "s\u200bk\u2060-\ufe0fsesame-1\n23"]
)
@pytest.mark.parametrize("before", [0, 190, 198])
async def test_no_id_or_error_has_part_of_our_key(
    told: str, before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", "sk-sesame-123")
    reply = await reply_to(completion(model="x" * before + told))
    assert reply.model == ("x" * before + "***")[: chat_format.MAX_ID]
    for status, kind in ((400, CallFailed), (401, Unescapable)):
        for error in ({"error": {"message": told}}, {"detail": told}):
            with pytest.raises(kind) as caught:
                await reply_to(error, status=status)
            assert "***" in str(caught.value) and "sesame" not in str(caught.value)


AZURE = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}}
MODERATED = {"reasons": ["violence"], "flagged_input": "my account", "provider_name": "OpenAI"}


@pytest.mark.parametrize(
    ("error", "withheld"),
    [
        ({"message": "This user has been flagged", "type": "invalid_request_error", "code": None}, False),
        ({"message": "Your account is under review: content_filter. Your input was flagged"}, False),
        ("content_filter", False),
        # Words of the request, which some servers quote.
        ({"message": "cannot read: a poem on insufficient_quota", "code": None}, False),
        ({"message": "Your prompt was flagged", "code": "invalid_prompt"}, True),
        ({"message": "It was filtered", "code": "content_filter", "innererror": AZURE}, True),
        ({"message": "high risk", "type": "content_filter"}, True),
        ({"message": "no", "code": "400", "provider_specific_fields": {"innererror": AZURE}}, True),
        ({"message": "m requires moderation", "code": 403, "metadata": MODERATED}, True),
        ({"message": "no", "code": "DataInspectionFailed"}, True),
    ],
)
async def test_a_content_filter_is_known_by_a_code_and_not_by_words(error: Any, withheld: bool) -> None:
    """An account that was blocked in words that were not foreseen was scored as a model without ideas."""
    for status in (400, 403):
        with nullcontext() if withheld else pytest.raises(CallFailed):
            assert (await reply_to({"error": error}, status=status)).finish == "content_filter"


@pytest.mark.parametrize("packed", ["gzip, gzip", "zstd", "br"])
async def test_a_body_packed_as_was_not_asked_for_is_not_unpacked(packed: str) -> None:
    """Packed twice, 16 kB unpack to 16 GB."""
    # aiohttp itself refuses what it has no library for.
    with pytest.raises(CallFailed, match=r"packed as was not asked for|\(ContentEncodingError\)"):
        await reply_to(b"1", headers={"Content-Encoding": packed})


@asynccontextmanager
async def talking(talk: Talk, timeout_s: float = 20, retries: int = 0) -> AsyncIterator[ChatModel]:
    """A model whose server talks so on each connection, and hangs up."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            await talk(reader, writer)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        async with asked(url, retries=retries, timeout_s=timeout_s) as model:
            yield model
    finally:
        server.close()


def saying(said: bytes, times: int = 1) -> Talk:
    """Says these bytes to whatever it is asked, so many times."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(times):
            writer.write(said)
            await writer.drain()

    return talk


async def test_interim_responses_without_end_are_given_up() -> None:
    started = time.monotonic()
    endless = saying(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000, 100_000)
    await fails(talking(endless, timeout_s=1), "no answer within 1 s")
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"no HTTP at all\r\n\r\n",
    ],
)
async def test_a_dropped_connection_is_a_failed_call_and_prints_nothing(
    said: bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    await fails(talking(saying(said)), "no connection to")
    gc.collect()
    await asyncio.sleep(0.01)
    assert capfd.readouterr() == ("", "")
    assert not [one for one in caplog.records if one.levelno >= logging.WARNING]


async def test_a_callback_finds_no_key_in_the_error_that_it_sees() -> None:
    packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
    async with talking(saying(packed)) as model:
        with pytest.raises(PassingError) as caught:
            await model._open_chat("m").ainvoke("hello")
    # The context would be aiohttp's error, which has the headers of the request.
    assert caught.value.__context__ is None


USED = {"prompt_tokens": 70, "completion_tokens": 30}


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ({"choices": [], "usage": USED}, [Usage(70, 0, 30)] * 4),
        ({"choices": []}, [None] * 4),
        (b"no JSON", [None] * 4),
        ({"error": "overloaded"}, []),
        (completion(usage=USED), []),
    ],
)
async def test_what_was_billed_and_thrown_away_is_counted(
    said: Any, counted: list[Usage | None], waits: list[float]
) -> None:
    seen: list[Usage | None] = []
    discarded.set(seen.append)
    async with answered(answering(said), retries=3) as model:
        with suppress(CallFailed):
            await model(QUESTION)
    assert seen == counted


@pytest.mark.parametrize(("status", "counted"), [(200, [None]), (500, [])])
async def test_an_answer_that_stops_after_its_head_is_counted(
    status: int, counted: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Usage | None] = []
    discarded.set(seen.append)
    await fails(
        talking(saying(b"HTTP/1.1 %d OK\r\nContent-Length: 999\r\n\r\n{" % status)), "no connection to|500"
    )
    assert seen == counted


@pytest.mark.parametrize(
    ("head", "counted"), [(b"", [None, None]), (b"HTTP/1.1 500 Bad\r\nContent-Length: 99\r\n\r\n", [])]
)
async def test_a_request_sent_and_not_answered_in_time_is_counted(head: bytes, counted: list[None]) -> None:
    """A server that was slow billed 17 replies, and the limit on money saw none of them."""
    seen: list[Usage | None] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        await reader.read()

    discarded.set(seen.append)
    await fails(talking(talk, timeout_s=0.5, retries=1), "no answer within")
    assert seen == counted


@pytest.mark.parametrize(
    "address", ["https://me:sesame@host/v1", "https://host/v1?key=sesame", "ftp://host", "http://"]
)
def test_an_address_out_of_the_environment_is_refused_as_a_named_one_is(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with pytest.raises(UsageError, match=r"\$OPENAI_BASE_URL") as caught:
        chat.ChatModel(parse("gpt-4o-mini"), lambda sha: "", Limits(), Waiting())
    assert "sesame" not in str(caught.value)


async def test_no_escape_sequence_of_a_server_reaches_the_terminal() -> None:
    with pytest.raises(CallFailed) as caught:
        await reply_to({"error": {"message": "\x1b[2J\x1b]0;owned\x07 no"}}, status=400)
    assert not {"\x1b", "\x07"} & set(str(caught.value))


def guessed(first: str, tmp_path: Path) -> Path:
    """A recorded run in which each guess begins so."""
    run = copied(recorded("lotbench"), tmp_path)
    traces = re.sub(r',"crc":"\w+"', "", (run / "traces.jsonl").read_text(encoding="utf-8"))
    (run / "traces.jsonl").write_text(traces.replace('"guess":"', f'"guess":"{first}'), encoding="utf-8")
    return run


def test_replay_prints_no_escapes_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(guessed("\\u001b[2J", tmp_path))]) == 0
    out = capsys.readouterr().out
    assert "\ufffd[2J" in out
    assert "\x1b" not in out


def test_replay_is_printed_without_what_an_encoding_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, "ascii", write_through=True))
    assert main(["replay", str(guessed("\u00fc", tmp_path))]) == 0
    assert b"\\xfc" in printed.getvalue()


async def test_what_a_server_says_unasked_is_no_answer_to_the_next_question() -> None:
    """aiohttp took a second answer over a kept connection for that to the question after."""
    served = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served
        while head := await reader.readuntil(b"\r\n\r\n"):
            [size] = re.findall(rb"(?i)content-length: (\d+)", head)
            heard = json.loads(await reader.readexactly(int(size)))["messages"][0]["content"]
            served += 1
            for text in (heard, f"{heard} once more"):
                said = json.dumps(completion(text)).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
                await writer.drain()
                await asyncio.sleep(0.02)

    async with talking(talk, timeout_s=5) as model:
        for text in ("one", "two", "three"):
            reply = await model(replace(QUESTION, messages=(Message("user", (text,)),)))
            assert reply.text == text
            await asyncio.sleep(0.1)
    # The last of its connections is closed at its next word.
    await asyncio.sleep(0.05)
    assert served == 3


@pytest.mark.parametrize("word", ["temperature", "seed", "response_format", "max_tokens"])
async def test_what_a_reply_has_come_with_is_not_left_out_later(word: str) -> None:
    """A server that quotes prompts in its errors would have a judge asked otherwise than in its check."""
    quoted = Status(400, f"Invalid prompt: '{word}' is not allowed here")
    with FakeServer(faults=[None, quoted, None], keep_bodies=True) as server:
        async with asked(server.url) as model:
            await model(question())
            with pytest.raises(CallFailed, match="Invalid prompt"):
                await model(question(number=1))
            await model(question(number=2))
        assert [word in body for body in server.bodies] == [True] * len(server.bodies)
