"""The fake server: it speaks as a real one does, its faults are what they are called, its log tells the truth."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from lotbench.prompting.reply import schema
from lotbench.types import Reply
from tests.abilities import Abilities
from tests.fakes import RuleModel, game_rule
from tests.faults import CONTENT, FAULTS, MIXTURES, TRANSPORT, Faults, Mixed, Status, mixture
from tests.of_tests.test_fakes import Filling, Verdict, body, request
from tests.prefixes import Prefixes
from tests.server import FakeServer

ROOT = Path(__file__).parents[2]
HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello there"}]}
PICTURE = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]


def form(kind: str = "json_schema", name: str | None = "Filling") -> dict[str, Any]:
    if kind != "json_schema":
        return HELLO | {"response_format": {"type": kind}}
    inner = {"schema": schema(Filling), "strict": True} | ({"name": name} if name else {})
    return HELLO | {"response_format": {"type": kind, "json_schema": inner}}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def post(
    server: FakeServer, sent: Any = HELLO, path: str = "/chat/completions", key: str = "x"
) -> tuple[int, Any]:
    """Status and JSON of a response, by a client that has no opinions."""
    data = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
    asked = urllib.request.Request(server.url + path, data=data, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(asked, timeout=5) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def said(server: FakeServer, sent: Any = HELLO) -> str:
    return str(post(server, sent)[1]["choices"][0]["message"]["content"])


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=server.url, api_key="x", max_retries=0, timeout=5, http_client=openai.DefaultAioHttpClient()
    ) as made:
        yield made


async def test_the_openai_client_reads_what_it_says(client: openai.AsyncOpenAI) -> None:
    made = await client.chat.completions.create(**form())
    assert made.model == "m-2026"
    assert json.loads(made.choices[0].message.content or "").keys() == {"filling"}
    assert made.choices[0].finish_reason == "stop"
    assert made.usage and made.usage.prompt_tokens == 2
    assert [model.id async for model in client.models.list()] == ["m"]


async def test_the_wire_changes_nothing_in_what_a_rule_says(server: FakeServer) -> None:
    model = RuleModel(game_rule())
    for number in range(20):
        asked = request(f"round {number}", form=Verdict if number % 2 else Filling, seed=number)
        sent = body(asked)
        sent["response_format"]["json_schema"]["name"] = "Form"
        assert said(server, sent) == (await model(asked)).text


@pytest.mark.parametrize(
    ("abilities", "sent", "status", "words", "param"),
    [
        (
            {"structured": {"json_object"}},
            form(),
            400,
            "'response_format' of type 'json_schema'",
            "response_format",
        ),
        ({"structured": set()}, form("json_object"), 400, "type 'json_object'", "response_format"),
        ({}, form("json_object"), 400, "must contain the word 'json'", "messages"),
        ({}, form(name=None), 400, "json_schema.name", "response_format.json_schema.name"),
        ({"rejects": {"maxLength"}}, form(), 400, "'maxLength' is not permitted", "response_format"),
        (
            {"rejects": {"max_tokens"}},
            HELLO | {"max_tokens": 9},
            400,
            "'max_completion_tokens'",
            "max_tokens",
        ),
        ({"rejects": {"temperature"}}, HELLO | {"temperature": 0}, 400, "'temperature'", "temperature"),
        ({"rejects": {"seed", "top_p"}}, HELLO | {"seed": 1}, 400, "'seed' is not supported", "seed"),
        (
            {"pictures": False},
            HELLO | {"messages": [{"role": "user", "content": PICTURE}]},
            400,
            "image_url",
            None,
        ),
        ({"models": ["known"]}, HELLO, 404, "`m` does not exist", None),
        ({"api_key": "right"}, HELLO, 401, "Incorrect API key", None),
        ({}, HELLO | {"stream": True}, 400, "Streaming", "stream"),
        ({}, b"{", 400, "parse the JSON", None),
        ({}, {"model": "m"}, 400, "parse the JSON", None),
    ],
)
def test_what_it_cannot_do_it_refuses_as_a_real_one(
    abilities: dict[str, Any], sent: Any, status: int, words: str, param: str | None
) -> None:
    with FakeServer(**abilities) as server:
        code, answer = post(server, sent)
        assert (code, server.log()["by_status"]) == (status, {str(status): 1})
        assert words in answer["error"]["message"]
        assert param is None or answer["error"]["param"] == param
        assert server.log()["finished"] == 0


def test_what_it_can_do_it_does_not_refuse() -> None:
    able = Abilities(rejects={"max_tokens"}, models=["m"], api_key="x", structured={"json_schema"})
    with FakeServer(
        **{name: getattr(able, name) for name in ("rejects", "models", "api_key", "structured")}
    ) as server:
        assert post(server, form() | {"max_completion_tokens": 50, "temperature": 0})[0] == 200


def test_reasoning_comes_before_the_text_or_beside_it() -> None:
    with FakeServer(reasoning="think") as server:
        assert said(server).startswith("<think>\n") and said(server).partition("</think>\n\n")[2]
    with FakeServer(lambda sent: Reply("text", "m", reasoning="because"), reasoning="field") as server:
        answer = post(server)[1]
        assert answer["choices"][0]["message"]["reasoning_content"] == "because"
        assert answer["choices"][0]["message"]["content"] == "text"
        assert answer["usage"]["completion_tokens"] == 2
        assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 1}


def test_a_reply_keeps_its_refusal_its_finish_and_the_limit_of_tokens() -> None:
    with FakeServer(lambda sent: Reply("", "m", refusal="no")) as server:
        message = post(server)[1]["choices"][0]["message"]
        assert (message["content"], message["refusal"]) == (None, "no")
    with FakeServer(lambda sent: Reply("one two three", "m", finish="content_filter")) as server:
        assert post(server)[1]["choices"][0]["finish_reason"] == "content_filter"
        for limit in ({"max_tokens": 2}, {"max_completion_tokens": 2}):
            choice = post(server, HELLO | limit)[1]["choices"][0]
            assert (choice["message"]["content"], choice["finish_reason"]) == ("one two", "length")


@pytest.mark.parametrize(
    ("texts", "cached"),
    [
        (["a b c", "a b d", "a b c e", "x"], [0, 2, 3, 0]),
        (["alarm clock", "alarm cloth"], [0, 1]),
        (["a b", "a b"], [0, 2]),
        (["b", "a c", "a d", "b e"], [0, 0, 1, 1]),
    ],
)
def test_cached_tokens_are_the_words_of_a_start_heard_before(texts: list[str], cached: list[int]) -> None:
    known = Prefixes()
    assert [known.add("m", text) for text in texts] == cached
    assert known.add("another", texts[0]) == 0


def test_only_the_latest_texts_are_kept() -> None:
    known = Prefixes(most=2)
    assert [known.add("m", text) for text in ("a x", "b x", "c x", "a x", "c x")] == [0, 0, 0, 0, 2]


def raw(server: FakeServer, sent: Any = HELLO, timeout: float = 5) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and bytes of a response, as they came."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(sent))
        response = connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("name", "status", "retry_after", "code"),
    [
        ("429", 429, None, "rate_limit_exceeded"),
        ("429_soon", 429, "0.05", "rate_limit_exceeded"),
        ("429_second", 429, "1", "rate_limit_exceeded"),
        ("429_late", 429, "121", "rate_limit_exceeded"),
        ("429_quota", 429, None, "insufficient_quota"),
        ("500", 500, None, None),
        ("401", 401, None, "invalid_api_key"),
        ("403", 403, None, "unsupported_country_region_territory"),
        ("404", 404, None, "model_not_found"),
    ],
)
def test_errors_have_their_status_header_and_code(
    server: FakeServer, name: str, status: int, retry_after: str | None, code: str | None
) -> None:
    server.change(faults=[name])
    got, headers, sent = raw(server)
    assert (got, headers.get("retry-after"), json.loads(sent)["error"]["code"]) == (status, retry_after, code)


@pytest.mark.parametrize("name", ["502", "503"])
def test_a_gateway_answers_with_a_page(server: FakeServer, name: str) -> None:
    server.change(faults=[name])
    status, headers, sent = raw(server)
    assert (status, headers["content-type"].split(";")[0]) == (int(name), "text/html")
    assert sent.startswith(b"<html>")


def test_a_fault_can_be_made_for_the_occasion(server: FakeServer) -> None:
    server.change(faults=[Status(529, "overloaded", retry_after="7")])
    assert raw(server)[:2][0] == 529
    assert server.log()["by_fault"] == {"529": 1}


def test_responses_that_hold_no_reply(server: FakeServer) -> None:
    server.change(faults=["truncated", "invalid_json", "html", "wrong_type"])
    for _ in range(2):
        status, headers, sent = raw(server)
        assert (status, headers["content-type"]) == (200, "application/json")
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            json.loads(sent)
    status, headers, sent = raw(server)
    assert (status, headers["content-type"], sent[:6]) == (200, "text/html", b"<html>")
    status, headers, sent = raw(server)
    assert (status, headers["content-type"]) == (200, "text/plain") and json.loads(sent)["choices"]
    log = server.log()
    assert (log["finished"], log["spoilt"]) == (0, 4)


def test_connections_that_break(server: FakeServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.change(faults=["cut_before", "cut_within", None])
    with pytest.raises(http.client.RemoteDisconnected):
        raw(server)
    with pytest.raises(http.client.IncompleteRead) as error:
        raw(server)
    assert len(error.value.partial) > 50
    assert raw(server)[0] == 200
    log = server.log()
    assert (log["requests"], log["finished"], log["aborted"], log["in_flight"]) == (3, 1, 0, 0)
    assert capfd.readouterr() == ("", "")


def test_a_hang_lasts_until_the_client_leaves(server: FakeServer) -> None:
    server.change(faults=["hang"])
    with pytest.raises(TimeoutError):
        raw(server, timeout=0.2)
    wait_for(lambda: server.log()["aborted"] == 1)
    log = server.log()
    assert (log["finished"], log["in_flight"], log["requests"]) == (0, 0, 1)


def test_a_drip_takes_its_time_and_arrives(server: FakeServer) -> None:
    server.change(faults=["drip"])
    start = time.perf_counter()
    assert json.loads(raw(server)[2])["choices"]
    assert time.perf_counter() - start > 0.4
    assert server.log()["finished"] == 1


def wait_for(true: Any, seconds: float = 5) -> None:
    end = time.perf_counter() + seconds
    while not true():
        assert time.perf_counter() < end, "it never came true"
        time.sleep(0.01)


@pytest.mark.parametrize("name", [*CONTENT, "no_choices", "huge"])
def test_replies_that_are_not_the_answer(server: FakeServer, name: str) -> None:
    whole = said(server, form())
    server.change(faults=[name])
    choices = post(server, form())[1]["choices"]
    message = choices[0]["message"] if choices else {"content": ""}
    finish = choices[0]["finish_reason"] if choices else None
    assert {
        "no_choices": choices == [],
        "null": choices and message["content"] is None and finish == "stop",
        "tool_calls": message["content"] is None and finish == "tool_calls" and message.get("tool_calls"),
        "length": finish == "length" and message["content"] == whole[: len(whole) // 2],
        "content_filter": finish == "content_filter" and message["content"] == "",
        "refusal": message["content"] is None and message.get("refusal"),
        "huge": message["content"] and len(message["content"]) >= 1_000_000,
        "garbage": message["content"] and "{" not in message["content"] and "\n" in message["content"],
        "unclosed": message["content"] and "<think>" in message["content"] and "</" not in message["content"],
    }[name]
    wait_for(lambda: server.log()["spoilt"] == 1)


def test_a_plan_is_a_list_in_order_a_function_or_a_name() -> None:
    listed = Faults(["500", None, FAULTS["hang"]])
    assert [listed.next({}, "d", 0) for _ in range(4)] == [FAULTS["500"], None, FAULTS["hang"], None]
    chosen = Faults(lambda index, sent: "429" if index % 2 and sent["model"] == "m" else None)
    assert [chosen.next(HELLO, "d", 0) for _ in range(3)] == [None, FAULTS["429"], None]
    named = Faults(mixture("500,,hang"))
    assert [named.next({}, "d", 0) for _ in range(4)] == [FAULTS["500"], None, FAULTS["hang"], None]
    assert Faults("none").next({}, "d", 0) is None
    with pytest.raises(KeyError):
        mixture("no-such-fault")


def test_a_mixture_depends_on_seed_body_and_count_alone() -> None:
    mixed = Mixed(rate=0.3, seed=1)
    digests = [f"body-{number}" for number in range(3000)]
    first = [mixed.draw(digest, 0) for digest in digests]
    assert first == [mixed.draw(digest, 0) for digest in digests]
    assert first != [mixed.draw(digest, 1) for digest in digests]
    assert first != [Mixed(rate=0.3, seed=2).draw(digest, 0) for digest in digests]
    # Four standard errors of a share of 0.3 over 3000 are 0.034.
    assert abs(sum(fault is not None for fault in first) / 3000 - 0.3) < 0.034
    assert {fault for fault in first if fault} == {FAULTS[kind] for kind in mixed.kinds}
    always = Mixed(rate=1.0, most=2)
    assert [always.draw("d", seen) is None for seen in range(4)] == [False, False, True, True]


def test_every_mixture_names_faults_that_are_there() -> None:
    assert all(kind in FAULTS for mixed in MIXTURES.values() if mixed for kind in mixed.kinds)
    found = mixture("transport", 0.9, 7)
    assert isinstance(found, Mixed)
    assert (found.rate, found.seed, found.kinds) == (0.9, 7, TRANSPORT)


def test_the_log_counts_by_model_form_and_body() -> None:
    with FakeServer(keep_bodies=True, faults=["500"]) as server:
        for sent in (HELLO, HELLO, HELLO, form(), HELLO | {"seed": 1}):
            post(server, sent)
        log = server.log()
        assert server.bodies[3] == form()
        with urllib.request.urlopen(server.url.removesuffix("/v1") + "/control/log") as response:
            assert json.load(response) == log
    assert log["by_model"] == {"m": 5}
    assert log["by_form"] == {"text": 4, "respond": 1}
    assert log["by_status"] == {"500": 1, "200": 4}
    assert log["by_fault"] == {"500": 1}
    assert sorted(counts["seen"] for counts in log["bodies"].values()) == [1, 1, 3]
    assert log["finished"] == 4
    assert list(log["repeated"].values()) == [2]


def test_bodies_are_kept_only_when_asked(server: FakeServer) -> None:
    post(server)
    assert server.bodies == []


def test_faults_can_be_changed_from_outside(server: FakeServer) -> None:
    assert post(server, {"faults": ["500", "429"]}, "/control/rules") == (200, {"ok": True})
    assert [post(server)[0] for _ in range(3)] == [500, 429, 200]
    post(server, {"faults": "transport", "rate": 1.0, "seed": 3, "latency": [0.0, 0.1]}, "/control/rules")
    assert server.service.faults.plan == Mixed(1.0, 3, TRANSPORT)
    assert post(server, {"faults": ["no-such-fault"]}, "/control/rules")[0] == 400
    assert post(server, {}, "/elsewhere")[0] == 404


async def test_calls_are_answered_side_by_side_after_the_latency(
    server: FakeServer, client: openai.AsyncOpenAI
) -> None:
    server.change(latency=(0.2, 0.3))
    start = time.perf_counter()
    sent = [HELLO | {"seed": number} for number in range(20)]
    await asyncio.gather(*(client.post("/chat/completions", body=one, cast_to=object) for one in sent))
    assert 0.2 < time.perf_counter() - start < 2
    log = server.log()
    assert (log["peak"], log["finished"], log["repeated"]) == (20, 20, {})


async def test_a_client_with_retries_gets_through_a_mixture(server: FakeServer) -> None:
    server.change(
        faults=Mixed(rate=0.5, seed=1, kinds=("429_soon", "500", "503", "cut_before", "cut_within"))
    )
    async with openai.AsyncOpenAI(
        base_url=server.url, api_key="x", max_retries=3, timeout=5, http_client=openai.DefaultAioHttpClient()
    ) as client:
        client._calculate_retry_timeout = lambda *rest, **more: 0.0  # type: ignore[method-assign]
        sent = [HELLO | {"seed": number} for number in range(40)]
        await asyncio.gather(*(client.post("/chat/completions", body=one, cast_to=object) for one in sent))
    log = server.log()
    assert (log["finished"], log["repeated"], len(log["bodies"])) == (40, {}, 40)
    assert log["requests"] == 40 + sum(log["by_fault"].values()) > 60


def test_a_port_in_use_is_an_error_of_the_one_who_asks(server: FakeServer) -> None:
    with pytest.raises(OSError, match="address already in use"), FakeServer(port=server.port):
        pass


def test_as_a_process_it_prints_its_url_first_and_stops_when_told() -> None:
    command = [sys.executable, "-m", "tests.server", "--rule", "game", "--faults", "500,,429", "--solve", "0"]
    command += ["--filling", "Filling: (.*)", "--key", "Key: (.*)", "--latency", "0-0.01", "--seed", "1"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        running = FakeServer(port=int(process.stdout.readline().removesuffix("/v1\n").rpartition(":")[2]))
        asked = body(request("Key: ladder\nFilling: ladder", form=Verdict))
        asked["response_format"]["json_schema"]["name"] = "Verdict"
        assert post(running, asked)[0] == 500
        verdict = json.loads(said(running, asked))
        assert verdict["same_creative_point"] and verdict["same_function"]
        assert post(running, asked)[0] == 429
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
        assert process.stdout.read() == ""
