"""The embedded model: what is said when a part is missing, and real weights behind a real server."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from lotbench.errors import UsageError
from lotbench.models import chat_format, embedded

INSTALLED = "json"
"""Stands for a runtime that can be imported."""


def test_missing_runtime_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded, "RUNTIME", "no_such_runtime")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    for name in ("local", f"local:{model}"):
        with pytest.raises(UsageError, match="lotbench local install") as raised:
            embedded.weights(name)
        assert raised.value.exit_code == 2


def test_missing_weights_name_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "RUNTIME", INSTALLED)
    monkeypatch.setattr(embedded, "CARRIER", "no-such-distribution")
    with pytest.raises(UsageError, match=r"weights .* not installed.*lotbench local install"):
        embedded.weights("local")


def test_named_weights_are_checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(embedded, "RUNTIME", INSTALLED)
    with pytest.raises(UsageError, match="no file"):
        embedded.weights(f"local:{tmp_path / 'absent.gguf'}")
    text = tmp_path / "text.gguf"
    text.write_text("not a model", encoding="utf-8")
    with pytest.raises(UsageError, match="not a GGUF file"):
        embedded.weights(f"local:{text}")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF and so on")
    assert embedded.weights(f"local:{model}") == model


def test_identity_follows_the_bytes(tmp_path: Path) -> None:
    model = tmp_path / "tiny.Q4.gguf"
    model.write_bytes(b"GGUF one")
    first = embedded.identity(model)
    assert first == "tiny.Q4@583a3ee3"
    model.write_bytes(b"GGUF another")
    assert embedded.identity(model) != first


def test_the_server_has_one_thread_where_openmp_may_have_one() -> None:
    assert (os.environ["OMP_NUM_THREADS"], embedded.THREADS) == ("1", 1)


@pytest.fixture
def fake_uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without pip, without weights, and with a `uv` that notes what it was asked."""
    monkeypatch.setattr(embedded, "CARRIER", "no-such-distribution")
    monkeypatch.setattr(embedded, "find_spec", lambda name: None)
    noted = tmp_path / "asked"
    uv = tmp_path / "uv"
    uv.write_text(f'#!/bin/sh\necho "$@" > {noted}\n', encoding="utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return noted


def test_install_falls_back_to_uv(fake_uv: Path) -> None:
    embedded.install()
    asked = fake_uv.read_text(encoding="utf-8").split()
    assert asked == [
        *("pip", "install", "-q", "--python", sys.executable, "--no-deps"),
        *("no-such-distribution==0.1.2", "xllamacpp>=2026.10"),
    ]


def test_install_says_when_it_failed_and_when_neither_pip_nor_uv_is_there(fake_uv: Path) -> None:
    (fake_uv.parent / "uv").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    with pytest.raises(UsageError, match="exit code 7"):
        embedded.install()
    (fake_uv.parent / "uv").unlink()
    with pytest.raises(UsageError, match="neither pip nor uv"):
        embedded.install()


def test_install_leaves_alone_what_is_there(monkeypatch: pytest.MonkeyPatch, fake_uv: Path) -> None:
    monkeypatch.setattr(embedded, "_carried", lambda: Path("model.gguf"))
    monkeypatch.setattr(embedded, "find_spec", lambda name: object())
    embedded.install()
    assert not fake_uv.exists()


@pytest.fixture(scope="module")
def served() -> Iterator[embedded.Embedded]:
    server = embedded.Embedded.start(embedded.weights("local"), slots=2, n_ctx=512)
    yield server
    server.close()


def post(url: str, key: str, **body: object) -> tuple[int, dict[str, object]]:
    """The status and the body of the answer to one chat request."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.slow
def test_the_schema_holds(served: embedded.Embedded) -> None:
    form = {
        "type": "object",
        "properties": {
            "guess": {"type": "string", "maxLength": 20},
            "score": {"type": "integer", "minimum": 0, "maximum": 5},
            "solved": {"type": "boolean"},
            "why": {"enum": ["theme", "wording", "neither"], "type": "string"},
        },
        "required": ["guess", "score", "solved", "why"],
        "additionalProperties": False,
    }
    status, answer = post(
        served.base_url,
        served.api_key,
        messages=said("Write a long story about a cat."),
        response_format={"type": "json_schema", "json_schema": {"name": "form", "schema": form}},
        seed=1,
        max_tokens=200,
    )
    assert status == 200
    choice = answer["choices"][0]  # type: ignore[index]
    filled = json.loads(choice["message"]["content"])
    assert list(filled) == ["guess", "score", "solved", "why"]
    assert len(filled["guess"]) <= 20
    assert 0 <= filled["score"] <= 5
    assert filled["solved"] in (True, False)
    assert answer["model"] == served.model_id == "SmolLM2-135M-Instruct.Q4_1@b179c952"
    assert answer["usage"]["completion_tokens"] > 0  # type: ignore[index]


@pytest.mark.slow
def test_one_seed_one_reply(served: embedded.Embedded) -> None:
    def draw(seed: int) -> object:
        body = {"messages": said("Name an animal."), "seed": seed, "temperature": 1.0, "max_tokens": 24}
        return post(served.base_url, served.api_key, **body)[1]["choices"][0]["message"]  # type: ignore[index]

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


@pytest.mark.slow
def test_each_slot_holds_what_was_asked_for(served: embedded.Embedded) -> None:
    status, answer = post(
        served.base_url, served.api_key, messages=said("word " * 450), max_tokens=500, ignore_eos=True
    )
    assert status == 200
    assert answer["choices"][0]["finish_reason"] == "length"  # type: ignore[index]
    assert answer["usage"]["total_tokens"] == 512  # type: ignore[index]


@pytest.mark.slow
def test_a_prompt_that_does_not_fit_is_told_apart(served: embedded.Embedded) -> None:
    status, answer = post(served.base_url, served.api_key, messages=said("word " * 560))
    assert status == 400
    assert chat_format.too_long(json.dumps(answer))


@pytest.mark.slow
def test_only_the_key_opens(served: embedded.Embedded) -> None:
    assert served.base_url.startswith("http://127.0.0.1:")
    assert post(served.base_url, "guess", messages=said("hi"))[0] == 401


@pytest.mark.slow
def test_a_broken_file_is_a_usage_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and no more")
    with pytest.raises(UsageError, match=r"cannot serve .*broken\.gguf"):
        embedded.Embedded.start(broken)


@pytest.mark.slow
def test_close_does_not_wait_for_an_open_request() -> None:
    server = embedded.Embedded.start(embedded.weights("local"), slots=1, n_ctx=2048)
    broken: list[BaseException] = []

    def endless() -> None:
        try:
            post(server.base_url, server.api_key, messages=said("Go on."), max_tokens=2000, ignore_eos=True)
        except OSError as error:
            broken.append(error)

    asking = threading.Thread(target=endless)
    asking.start()
    time.sleep(1.0)
    assert asking.is_alive()
    began = time.monotonic()
    server.close()
    server.close()
    assert time.monotonic() - began < 2.0
    with pytest.raises(OSError, match="refused"):
        post(server.base_url, server.api_key, messages=said("Go on."))
    asking.join(5.0)
    assert broken, "the request outlived its server"


# Whoever started the tests in the background had them ignore Ctrl-C, and children inherit that.
PLAYER = """
import signal, sys, threading, time, urllib.request
signal.signal(signal.SIGINT, signal.default_int_handler)
from lotbench.models import embedded
server = embedded.Embedded.start(embedded.weights("local"), slots=1, n_ctx=2048)
print(server._process.pid, flush=True)
body = b'{"messages": [{"role": "user", "content": "Go on."}], "max_tokens": 2000, "ignore_eos": true}'
request = urllib.request.Request(
    server.base_url + "/chat/completions", body, {"Authorization": "Bearer " + server.api_key}
)
threading.Thread(target=urllib.request.urlopen, args=(request,), daemon=True).start()
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


def gone(pid: int) -> bool:
    """Whether a process has ended, waiting up to five seconds for it."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/status")
        if status.exists() and "State:\tZ" in status.read_text(encoding="utf-8"):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_the_server_never_outlives_us_nor_keeps_us(blow: signal.Signals) -> None:
    player = subprocess.Popen(
        [sys.executable, "-c", PLAYER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert player.stdout is not None
    server = int(player.stdout.readline())
    time.sleep(1.0)
    player.send_signal(blow)
    out, err = player.communicate(timeout=90)
    if blow is signal.SIGINT:
        assert (out, player.returncode) == ("interrupted\n", 130)
    assert err == ""
    assert gone(server)
