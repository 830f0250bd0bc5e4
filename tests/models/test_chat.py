"""The client over real HTTP: what an endpoint refuses is learned once, and keys go where they belong."""

import asyncio
import itertools
import json
import sys
import threading
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from PIL import Image as Pillow
from pydantic import SecretStr

from lotbench.calls.budget import discarded
from lotbench.calls.journal import read_journal
from lotbench.config.experiment import Limits
from lotbench.config.model_names import parse
from lotbench.errors import CallFailed, Unescapable, UsageError
from lotbench.models import chat_format
from lotbench.models.chat import ChatModel
from lotbench.models.chat_format import Abilities, callback_config
from lotbench.models.python_models import CallableModel, LangChainModel, own_mark
from lotbench.models.registry import Models
from lotbench.models.retrying import Waiting
from lotbench.prompting.reply import read_form, visible
from lotbench.run.loading import Run
from lotbench.storage.datasets import Pictures
from lotbench.types import Image, Reply, Sampling, Usage
from tests.asking import Guess, asked, question
from tests.faults import FAULTS, Status
from tests.playing import play
from tests.server import FakeServer

OPENAI = "https://api.openai.com/v1"


def forms(server: FakeServer) -> list[str]:
    """How each request asked for the form of its answer."""
    return [body.get("response_format", {}).get("type", "text") for body in server.bodies]


@pytest.mark.parametrize(
    ("abilities", "ladder"),
    [
        ({}, ["json_schema"]),
        ({"rejects": {"maxLength"}}, ["json_schema", "json_schema"]),
        ({"structured": {"json_object"}}, ["json_schema", "json_schema", "json_object"]),
        ({"structured": set()}, ["json_schema", "json_schema", "json_object", "text"]),
        ({"rejects": {"response_format"}}, ["json_schema", "json_schema", "json_object", "text"]),
    ],
)
async def test_the_form_is_asked_for_as_strictly_as_the_server_takes_it_and_refused_only_once(
    abilities: dict[str, Any], ladder: list[str]
) -> None:
    with FakeServer(keep_bodies=True, **abilities) as server:
        async with asked(server.url) as model:
            first = await model(question())
            assert forms(server) == ladder
            for number in range(1, 4):
                await model(question(number=number))
            assert forms(server) == ladder + [ladder[-1]] * 3
    assert read_form(first, Guess).guess
    bounded = "maxLength" in json.dumps(server.service.bodies[-1].get("response_format", {}))
    assert bounded == (ladder == ["json_schema"])
    recorded = "json_schema_unbounded" if "rejects" in abilities and len(ladder) == 2 else ladder[-1]
    assert first.sent["structured"] == recorded


async def test_calls_side_by_side_learn_one_refusal_together() -> None:
    """Ten calls that are refused at once take one step down the ladder, not ten."""
    with FakeServer(keep_bodies=True, structured={"json_object"}, latency=0.02) as server:
        async with asked(server.url) as model:
            await asyncio.gather(*(model(question(number=number)) for number in range(10)))
            counts = [forms(server).count(form) for form in ("json_schema", "json_object", "text")]
    assert 2 <= counts[0] <= 20
    assert counts[1:] == [10, 0]


@pytest.mark.parametrize(
    ("rejects", "requests", "dropped"),
    [
        ({"temperature"}, 2, {"temperature"}),
        ({"top_p"}, 2, {"top_p"}),
        ({"seed"}, 2, {"seed"}),
        ({"max_tokens"}, 2, {"max_tokens"}),
        ({"max_tokens", "max_completion_tokens"}, 3, {"max_tokens", "max_completion_tokens"}),
        ({"temperature", "top_p", "seed", "max_tokens"}, 5, {"temperature", "top_p", "seed", "max_tokens"}),
    ],
)
async def test_parameters_that_are_refused_are_left_out_from_then_on(
    rejects: set[str], requests: int, dropped: set[str]
) -> None:
    with FakeServer(keep_bodies=True, rejects=rejects) as server:
        async with asked(server.url) as model:
            first = await model(question())
            assert len(server.bodies) == requests
            await model(question(number=1))
            assert len(server.bodies) == requests + 1
            last = server.bodies[-1]
    names = {"temperature", "top_p", "seed", "max_tokens"}
    if dropped == {"max_tokens"} or len(dropped) == 4:
        names = names | {"max_completion_tokens"}
    assert names - dropped == last.keys() & {*names, "max_completion_tokens"}
    assert first.sent.keys() == (names - dropped) | {"structured"}
    assert last["response_format"]["type"] == "json_schema"


def test_openai_itself_is_not_asked_what_it_is_known_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    model = ChatModel(parse("gpt-4o-mini"), lambda sha256: "", Limits(), Waiting())
    assert model._able == Abilities("json_schema_unbounded", ("max_completion_tokens",), detail=True)


@pytest.mark.parametrize("kind", ["think", "field"])
async def test_reasoning_is_kept_out_of_the_answer(kind: str) -> None:
    with FakeServer(reasoning=kind) as server:
        async with asked(server.url) as model:
            answer = await model(question())
    assert read_form(answer, Guess).guess
    assert "funny" not in visible(answer)
    assert ("funny" in answer.text) == (kind == "think")
    assert (answer.reasoning is not None) == (kind == "field")


async def test_the_id_that_the_server_returns_and_the_cached_tokens_are_recorded() -> None:
    with FakeServer(suffix="-2026-01-01") as server:
        async with asked(server.url) as model:
            first, second = [await model(question()) for _ in range(2)]
    assert first.model == "m-2026-01-01"
    assert first.usage.cached_input_tokens == 0
    assert second.usage.cached_input_tokens == second.usage.input_tokens == first.usage.input_tokens > 0
    assert first.usage.output_tokens > 0
    assert first.seconds >= 0


async def test_pictures_are_data_urls(tmp_path: Path) -> None:
    for name, colour in (("a", "teal"), ("b", "red")):
        Pillow.new("RGB", (64, 48), colour).save(tmp_path / f"{name}.png")
    rows: Any = [SimpleNamespace(id=name, image=f"{name}.png", language="en") for name in ("a", "b")]
    pictures = Pictures(tmp_path, rows, 32)
    with FakeServer(keep_bodies=True) as server:
        async with asked(server.url, picture=pictures.data_url) as model:
            for number in range(3):
                for name in ("a", "b"):
                    await model(question(image=pictures[name], number=number))
            parts = [body["messages"][1]["content"][0] for body in server.bodies]
    assert all(part["type"] == "image_url" and part["image_url"].keys() == {"url"} for part in parts)
    urls = [part["image_url"]["url"] for part in parts]
    assert len(set(urls)) == 2 and all(url.startswith("data:image/png;base64,iVBOR") for url in urls)


@pytest.mark.parametrize("structured", [{"json_schema"}, set()])
async def test_a_model_without_picture_input_stops_the_run_and_names_a_way_out(structured: set[str]) -> None:
    with FakeServer(pictures=False, structured=structured) as server:
        async with asked(server.url) as model:
            with pytest.raises(Unescapable, match="--set arm=caption") as caught:
                await model(question(image=Image("ab")))
        assert server.log()["requests"] == 1
    assert caught.value.exit_code == 1


async def test_a_picture_refused_by_a_model_that_sees_is_that_pictures_fault() -> None:
    with FakeServer(keep_bodies=True) as server:
        async with asked(server.url) as model:
            await model(question(image=Image("ab")))
            server.service.abilities = type(server.service.abilities)(pictures=False)
            with pytest.raises(CallFailed, match="400"):
                await model(question(image=Image("cd")))


@asynccontextmanager
async def answering(heed: Callable[[web.BaseRequest], object]) -> AsyncIterator[str]:
    """A server that answers everything and lets each request be looked at; its base URL."""

    async def answer(request: web.BaseRequest) -> web.Response:
        heed(request)
        await request.read()
        return web.json_response(
            {"model": "m", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}
        )

    async with RawTestServer(answer) as server:
        yield f"http://127.0.0.1:{server.port}/v1"


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[str, list[dict[str, str]]]]:
    """A server that answers everything and keeps the headers of what it was sent."""
    heard: list[dict[str, str]] = []

    def heed(request: web.BaseRequest) -> None:
        heard.append({name.lower(): value for name, value in request.headers.items()})

    async with answering(heed) as url:
        yield url, heard


PRIVATE = {
    "OPENAI_API_KEY": "sk-openai-secret",
    "OPENAI_ORG_ID": "org-secret",
    "OPENAI_PROJECT_ID": "proj-secret",
    "OPENAI_ADMIN_KEY": "sk-admin-secret",
    "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer sk-secret\nUser-Agent: secret\nAccept: secret\nX-More: secret",
    "LANGSMITH_API_KEY": "ls-secret",
}


@pytest.mark.parametrize(("given", "sent"), [(None, "none"), ("", "none"), (" my-key\n", "my-key")])
async def test_an_address_gets_its_own_key_and_nothing_that_is_openais(
    monkeypatch: pytest.MonkeyPatch, given: str | None, sent: str
) -> None:
    for name, value in PRIVATE.items():
        monkeypatch.setenv(name, value)
    if given is not None:
        monkeypatch.setenv("LOTBENCH_API_KEY", given)
    async with listening() as (url, heard), asked(url) as model:
        await model(question())
    names = "accept accept-encoding authorization connection content-length content-type host user-agent"
    assert heard[0].keys() <= {*names.split()}
    assert heard[0]["authorization"] == f"Bearer {sent}"
    assert heard[0]["user-agent"].startswith("AsyncOpenAI/Python ") and "secret" not in str(heard)


async def test_models_of_a_run_share_their_connections() -> None:
    peers: set[Any] = set()

    def heed(request: web.BaseRequest) -> None:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))

    async with answering(heed) as url, Models(Pictures(Path(), [], 32), Limits(), {}) as models:
        names = {role: [parse(f"{role}@{url}")] for role in ("candidate", "judge")}
        for [one] in models.role_models(names).values():
            await one.model(question())
            await one.model(question(number=1))

    assert len(peers) == 1


async def test_openais_key_goes_to_openai_or_the_address_set_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in PRIVATE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("OPENAI_CUSTOM_HEADERS")
    async with asked("", name="gpt-4o-mini") as model:
        assert model.url == OPENAI
    async with listening() as (url, heard):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        async with asked("", name="gpt-4o-mini") as model:
            await model(question())
        async with asked(url) as other:
            await other(question())
    assert heard[0]["authorization"] == "Bearer sk-openai-secret"
    assert heard[0]["openai-organization"] == "org-secret"
    assert heard[1]["authorization"] == "Bearer none"


async def test_a_proxy_of_the_environment_is_used_where_it_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening() as (proxy, heard), listening() as (direct, alone):
        monkeypatch.setenv("http_proxy", proxy.removeprefix("http://").removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        async with asked("http://models.invalid/v1") as model:
            await model(question())
        async with asked(direct) as model:
            await model(question())
    assert [one["host"] for one in heard] == ["models.invalid"]
    assert len(alone) == 1


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
async def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Prompts and keys for a server on the loopback went to the proxy, which has another loopback."""
    async with listening() as (proxy, heard), listening() as (direct, alone):
        monkeypatch.setenv(name, proxy.removesuffix("/v1"))
        for url in (direct, direct.replace("127.0.0.1", "localhost")):
            async with asked(url) as model:
                await model(question())
    assert (len(heard), len(alone)) == (0, 2)


async def test_a_proxy_without_http_is_refused_and_hears_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SOCKS proxy was sent the prompt and the key, as if it were an HTTP one."""
    async with listening() as (proxy, heard):
        socks = proxy.replace("http://", "socks5://me:sesame@").removesuffix("/v1")
        monkeypatch.setenv("all_proxy", socks)
        async with asked("http://models.invalid/v1") as model:
            with pytest.raises(UsageError, match=r"kind socks5://.*\$http_proxy") as caught:
                await model(question())
        # A password with a slash makes no address, and the parser's error quotes it.
        monkeypatch.setenv("http_proxy", socks.replace("socks5", "http").replace("sesame", "sesame/x"))
        with pytest.raises(UsageError, match=r"http_proxy .*is no address") as slashed:
            async with asked("http://models.invalid/v1") as model:
                await model(question())
    assert heard == [] and "sesame" not in f"{caught.value} {slashed.value}"


def test_a_provider_gets_its_own_key_and_stays_at_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-deepseek")
    model = ChatModel(parse("deepseek/deepseek-chat"), lambda sha256: "", Limits(), Waiting())
    assert model.url == "https://api.deepseek.com/v1"
    assert model.secret == "sk-deepseek"
    assert ChatModel(parse("ollama/x"), lambda sha256: "", Limits(), Waiting()).secret == "none"


@pytest.mark.parametrize("name", ["gpt-4o-mini", "openai/gpt-4o-mini", "openrouter/x", "gemini/x"])
def test_a_missing_key_is_named_with_a_way_to_try_without(name: str) -> None:
    with pytest.raises(UsageError, match=r"\$[A-Z]+_API_KEY is not set; to try without a key") as caught:
        ChatModel(parse(name), lambda sha256: "", Limits(), Waiting())
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["sk-…abc", "sk-a\nb", "sk-\x00"])
def test_a_key_no_header_can_hold_is_refused_unrepeated(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": value})
    with pytest.raises(UsageError, match=r"\$OPENAI_API_KEY holds characters that no key has") as caught:
        ChatModel(parse("gpt-4o"), lambda sha256: "", Limits(), Waiting())
    assert "sk-" not in str(caught.value)


def models(own: dict[str, Any]) -> Models:
    pictures = SimpleNamespace(data_url=lambda sha256: f"data:image/png;base64,{sha256}")
    return Models(pictures, Limits(timeout_s=1), own)  # type: ignore[arg-type]


async def test_an_async_callable_hears_messages_and_says_text() -> None:
    heard: list[Any] = []

    async def mine(messages: list[dict[str, Any]]) -> Mapping[str, str]:
        heard.extend(messages)
        return MappingProxyType({"guess": "a"})

    async with models({"python:mine": mine}) as made:
        (index,) = made.role_models({"candidate": [parse("python:mine")]})["candidate"]
        assert isinstance(index.model, CallableModel)
        answer = await index.model(question(image=Image("ab")))

    assert (answer.text, answer.model) == ('{"guess": "a"}', "python:mine")
    assert heard[1]["content"][0]["image_url"]["url"] == "data:image/png;base64,ab"


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        (ValueError("no"), CallFailed, "python:mine: ValueError: no"),
        (CallFailed("mine"), CallFailed, "^mine$"),
        (Unescapable("mine"), Unescapable, "^mine$"),
        (None, Unescapable, "python:mine: returned NoneType; it has to return text, a dictionary or"),
        ((said for said in "ab"), Unescapable, "python:mine: returned generator; it has to return text"),
        ({"a": object()}, Unescapable, "python:mine: returned what JSON cannot hold: Object of type object"),
        (Reply("a", "m", seconds=float("nan")), Unescapable, "a Reply with a fault: seconds: Input should"),
        (Reply("a", "m", usage=Usage(-1)), Unescapable, "usage.input_tokens: Input should be greater"),
        (Reply("a", "m", reasoning=3), Unescapable, "reasoning: Input should be a valid string"),  # type: ignore[arg-type]
        ("hang", CallFailed, r"python:mine: no answer within 1 s"),
        (SystemExit(2), CallFailed, "python:mine: SystemExit: 2"),
        (GeneratorExit("bye"), CallFailed, "python:mine: GeneratorExit: bye"),
    ],
)
async def test_a_fault_in_a_callable_fails_a_call(said: Any, error: type[Exception], message: str) -> None:
    async def mine(messages: list[dict[str, Any]]) -> Any:
        for _ in range(2 if said == "hang" else 0):
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3)
        if isinstance(said, BaseException):
            raise said
        return said

    async with models({"python:mine": mine}) as made:
        (index,) = made.role_models({"candidate": [parse("python:mine")]})["candidate"]
        with pytest.raises(error, match=message):
            await index.model(question())


def fake() -> GenericFakeChatModel:
    return GenericFakeChatModel(messages=itertools.cycle(["text"]))


async def test_a_judge_that_is_a_python_object_has_an_id_that_no_other_object_has() -> None:
    """A check of one counted for another with other settings, or with other helpers in the next process."""
    code = (lambda messages: HELPER).__code__  # type: ignore[name-defined]  # noqa: F821
    said = ("yes", "no", Reply("yes", "m"), Reply("no", "m"))
    objects = [*(FunctionType(code, {"HELPER": verdict}) for verdict in said), fake(), fake()]

    async def ids(role: str) -> list[str]:
        replies = []
        for one in objects:
            async with models({"python:judge": one}) as built:
                [index] = built.role_models({role: [parse("python:judge")]})[role]
                replies.append((await index.model(question())).model)
        return replies

    assert await ids("candidate") == ["python:judge"] * 2 + ["m"] * 2 + ["GenericFakeChatModel"] * 2
    judges = await ids("judge")
    assert len({*judges}) == 6 and judges == await ids("judge")
    assert len({own_mark(one.invoke) for one in [*objects[-2:], *objects[-2:]]}) == 2  # type: ignore[attr-defined]
    assert [one.partition("#")[0] for one in judges] == await ids("candidate")


async def test_functions_that_are_not_async_neither_wait_for_each_other_nor_hold_the_process() -> None:
    """At most six ran at once, the others' time was up before they began, and one that hung was waited for at the exit."""
    together = threading.Barrier(40)

    def mine(messages: list[dict[str, Any]]) -> str:
        together.wait(5)
        return str(threading.current_thread().daemon)

    model = CallableModel(mine, lambda sha256: "", "python:mine", 5)
    assert {(await reply).text for reply in [*map(asyncio.ensure_future, map(model, [question()] * 40))]} == {
        "True"
    }


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        (lambda heard: Reply(heard.key.sample, "m"), None, "lot-0001"),
        (lambda heard: next(iter(())), CallFailed, "RuntimeError: coroutine raised StopIteration"),
        (lambda heard: Reply("text", ""), None, "text"),
        (lambda heard: 3, Unescapable, "python:mine: returned int"),
        (lambda heard: sys.exit("bye"), CallFailed, "python:mine: SystemExit: bye"),
    ],
)
async def test_a_function_that_takes_requests_need_not_be_async_and_its_faults_are_told(
    said: Any, error: Any, message: str
) -> None:
    said.takes_requests = True
    async with models({"python:mine": said}) as made:
        [index] = made.role_models({"judge": [parse("python:mine")]})["judge"]
        with pytest.raises(error, match=message) if error else nullcontext():
            reply = await index.model(question())
            assert reply.text == message and reply.model.partition("#")[0] in ("m", "python:mine")


async def test_a_chain_that_ends_in_text_is_no_chat_model() -> None:
    chain = fake() | RunnableLambda(lambda message: "text")
    with pytest.raises(Unescapable, match="ainvoke returned str, not the message of a chat model"):
        await LangChainModel(lambda _: chain, lambda sha256: "")(question())


async def test_a_message_that_ends_because_the_server_failed_is_no_reply() -> None:
    half = AIMessage("half", response_metadata={"finish_reason": "error"})
    chat = GenericFakeChatModel(messages=iter([half]))
    with pytest.raises(CallFailed, match="the server failed while it wrote"):
        await LangChainModel(lambda _: chat, lambda sha256: "")(question())


async def test_a_model_object_that_is_not_there_any_more_is_named() -> None:
    async with models({}) as made:
        with pytest.raises(UsageError, match="python:mine is a Python object: run or resume it from Python"):
            made.role_models({"candidate": [parse("python:mine")]})
        with pytest.raises(UsageError, match=r"lotbench\.checks\.judge_check\.judge_check checks a judge"):
            made.role_models({"judge": [parse("python:mine")]})


@pytest.mark.parametrize(("cached", "counted"), [(4, 4), (40, 9)])
async def test_any_langchain_chat_model_answers(cached: int, counted: int) -> None:
    said = AIMessage(
        content=[{"type": "text", "text": '{"guess": "a"}'}],
        usage_metadata={
            "input_tokens": 9,
            "output_tokens": 2,
            "total_tokens": 11,
            "input_token_details": {"cache_read": cached},
        },
        response_metadata={"model_name": "fake-2026", "stop_reason": "max_tokens"},
    )
    chat = GenericFakeChatModel(messages=iter([said, "plain"]))
    async with models({"python:chat": chat}) as made:
        (index,) = made.role_models({"candidate": [parse("python:chat")]})["candidate"]
        assert isinstance(index.model, LangChainModel)
        first, second = [await index.model(question()) for _ in range(2)]
    assert (first.text, first.model, first.finish) == ('{"guess": "a"}', "fake-2026", "length")
    assert (first.usage.input_tokens, first.usage.cached_input_tokens, first.usage.output_tokens) == (
        9,
        counted,
        2,
    )
    assert (second.text, second.model, second.finish) == ("plain", "GenericFakeChatModel", "stop")


@pytest.mark.parametrize("told", ["sk-sesame-123", "sk-se\u200bsame-123"])
@pytest.mark.parametrize("kind", [CallFailed, Unescapable])
async def test_a_langchain_model_never_repeats_a_key(
    kind: type[Exception], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failed(Exception):
        status_code = 401 if kind is Unescapable else 500

    class Chat:
        def __init__(self, **held: Any) -> None:
            vars(self).update(held)

        async def ainvoke(self, messages: Any, config: Any) -> Any:
            raise Failed(f"no {told} here")

    async def failing(messages: Any) -> str:
        raise Failed(f"no {told} here")

    async def refusal(model: Any) -> str:
        with pytest.raises(kind) as caught:
            await model(question())
        return "".join(traceback.format_exception(caught.value))

    def picture(sha256: str) -> str:
        return ""

    shown = [await refusal(LangChainModel(lambda _: Chat(api_key=SecretStr("sk-sesame-123")), picture))]
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-sesame-123")
    shown += [await refusal(LangChainModel(lambda _: Chat(), picture))]
    shown += [await refusal(CallableModel(failing, picture, "python:mine"))]
    assert all("no *** here" in text and "sesame" not in text for text in shown)
    monkeypatch.setenv("MISTRAL_API_KEY", key := "sk-sesame-" + "1" * 20)
    repeats = CallableModel(lambda heard: f"I got {key}", picture, "mine")
    assert (await repeats(question())).text == "I got ***"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "langchain:anthropic:claude-sonnet-4-5",
            "candidate: langchain:anthropic:.*pip install langchain-anthropic",
        ),
        ("langchain:nobody:m", "Unsupported provider"),
        ("langchain:openai:gpt-4o", "OPENAI_API_KEY"),
    ],
)
async def test_what_a_named_langchain_model_lacks_is_said(name: str, message: str) -> None:
    async with models({}) as made:
        with pytest.raises(UsageError, match=message) as caught:
            made.role_models({"candidate": [parse(name)]})
    assert "\n" not in str(caught.value)


async def test_a_langchain_model_answers_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(keep_bodies=True) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        async with models({}) as made:
            (index,) = made.role_models({"candidate": [parse("langchain:openai:gpt-4o-mini")]})["candidate"]
            reply = await index.model(question())
        [body] = server.bodies
    assert read_form(reply, Guess).guess
    assert (body["model"], body["temperature"]) == ("gpt-4o-mini", 0.5)
    assert reply.usage.input_tokens > 0 and index.price is not None


NO_REPLY = {"no_choices": (1, "IndexError"), "refused": (0, "tries: 2")}  # requests and error


@pytest.mark.parametrize("fault", [*NO_REPLY, "cut_before", "cut_within", "truncated", "503"])
async def test_a_langchain_model_is_asked_again(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    with FakeServer(faults=[FAULTS[fault]] if fault in FAULTS else None) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/v1" if fault == "refused" else server.url)
        discarded.set((seen := list[Any]()).append)
        async with models({}) as made:
            made._limits = Limits(timeout_s=1, retries=1)
            (index,) = made.role_models({"candidate": [parse("langchain:openai:gpt-4o-mini")]})["candidate"]
            with pytest.raises(CallFailed, match=NO_REPLY[fault][1]) if fault in NO_REPLY else nullcontext():
                await index.model(question())
        assert server.log()["requests"] == NO_REPLY.get(fault, (2,))[0]
        assert seen == [None] * (fault not in ("503", "refused"))


class Listening(AsyncCallbackHandler):
    """Keeps what callbacks are told of the calls."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.failed: list[BaseException] = []

    async def on_chat_model_start(self, serialized: Any, messages: Any, **told: Any) -> None:
        self.told.append((serialized, told))

    async def on_llm_error(self, error: BaseException, **told: Any) -> None:
        self.failed.append(error)


async def test_callbacks_hear_which_call_it_is_and_never_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOTBENCH_API_KEY", "sk-sesame-123")
    listening = Listening()
    monkeypatch.setattr(
        chat_format, "callback_config", lambda request: callback_config(request) | {"callbacks": [listening]}
    )
    refused = Status(500, "you sent sk-sesame-123")
    with FakeServer(faults=[refused]) as server:
        async with asked(server.url) as model:
            await model(replace(question(number=3), role="judge"))
    assert len(listening.told) == 2 and len(listening.failed) == 1
    first = listening.told[0][1]["metadata"]
    wanted = {"role": "judge", "sample": "lot-0001", "repeat": 1, "round": 3, "step": "respond", "draw": 0}
    assert first | wanted == first
    assert "***" in str(vars(listening.failed[0])) and listening.failed[0].__context__ is None
    assert "sesame" not in f"{listening.told} {listening.failed!r} {vars(listening.failed[0])}"


async def test_chat_openai_makes_every_call_of_a_run_and_outer_callbacks_hear_of_it(tmp_path: Path) -> None:
    listening = Listening()

    async def outer(_: object) -> Run:
        return await play(server, tmp_path)

    with FakeServer() as server:
        run = await RunnableLambda(outer).ainvoke(None, {"callbacks": [listening]})
        assert server.log()["requests"] == len(listening.told)
    told = Counter((one["metadata"]["role"], one["metadata"]["step"]) for _, one in listening.told)
    assert told == Counter((one.role, one.key.step) for one in read_journal(run.path / "calls.jsonl"))
    assert {one["name"] for _, one in listening.told} >= {"candidate respond", "judge preflight"}


async def test_one_model_in_two_roles_is_built_once() -> None:
    async with models({}) as made:
        name = parse("m@http://127.0.0.1:1/v1")
        by_role = made.role_models({"candidate": [name], "judge": [name, parse("n@http://127.0.0.1:1/v1")]})
    assert by_role["candidate"][0].model is by_role["judge"][0].model
    assert by_role["judge"][1].model is not by_role["judge"][0].model
    # They stand behind one address, so they share its rate.
    assert by_role["judge"][1].requests is by_role["candidate"][0].requests


async def test_the_sampling_and_the_form_of_a_question_go_out_and_where_there_is_none_none() -> None:
    with FakeServer(keep_bodies=True) as server:
        async with asked(server.url) as model:
            await model(question(form=None, sampling=Sampling()))
            await model(question(sampling=Sampling(temperature=0.0, seed=3)))
            bare, drawn = server.bodies
        assert forms(server) == ["text", "json_schema"]
    assert not {"temperature", "top_p", "seed", "max_tokens"} & bare.keys()
    assert (drawn["temperature"], drawn["seed"]) == (0.0, 3)
