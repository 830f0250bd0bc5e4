"""The rules of the house for tests hold: the network is shut, the environment is clean."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from tests.conftest import Gate, NetworkShut

ROOT = Path(__file__).parents[2]
# An address set aside for documentation: nobody answers there, even if the gate were open.
ELSEWHERE = "192.0.2.1"


def test_another_machine_cannot_be_reached(shut_network: Gate) -> None:
    with socket.socket() as sock, pytest.raises(NetworkShut, match=f"{ELSEWHERE}:443"):
        sock.connect((ELSEWHERE, 443))
    with socket.socket() as sock, pytest.raises(NetworkShut):
        sock.connect_ex((ELSEWHERE, 443))
    with pytest.raises(NetworkShut, match=r"api\.example"):
        socket.create_connection(("api.example", 443))
    assert shut_network.attempts == [f"{ELSEWHERE}:443", f"{ELSEWHERE}:443", "api.example:443"]
    shut_network.attempts.clear()


async def test_neither_can_asyncio(shut_network: Gate) -> None:
    for host in (ELSEWHERE, "api.example"):
        with pytest.raises(NetworkShut):
            await asyncio.open_connection(host, 443)
    assert len(shut_network.attempts) == 2
    shut_network.attempts.clear()


async def test_the_loopback_can() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


def run_pytest(folder: Path, test: str, *options: str) -> str:
    """Run one test file under this project's rules, with keys in the environment; returns what it prints."""
    (folder / "test_it.py").write_text(test, encoding="utf-8")
    (folder / "conftest.py").write_text("from tests.conftest import *\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    keys = {
        "OPENAI_API_KEY": "k",
        "SOME_API_KEY": "k",
        "LANGSMITH_TRACING": "true",
        "HTTPS_PROXY": "http://p",
    }
    environment = os.environ | keys | {"PYTHONPATH": str(ROOT)}
    command += ["-p", "no:cacheprovider", str(folder / "test_it.py"), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_swallowed_attempt_fails_the_test(tmp_path: Path, workers: tuple[str, ...]) -> None:
    test = (
        "import contextlib, socket\n"
        "def test_it():\n"
        "    with contextlib.suppress(Exception):\n"
        f"        socket.create_connection(('{ELSEWHERE}', 1))\n"
    )
    assert f"the test tried to reach {ELSEWHERE}:1" in run_pytest(tmp_path, test, *workers)


CLEAN = """
import os, pytest, warnings
def keys(): return sorted(k for k in os.environ if k.endswith("_KEY") or "PROXY" in k or "LANGSMITH" in k)
def test_fast(): assert not keys() and "home-" in os.environ["LOTBENCH_HOME"]
@pytest.mark.slow
def test_slow(): assert not keys()
@pytest.mark.live
def test_live(): assert {"HTTPS_PROXY", "LANGSMITH_TRACING", "OPENAI_API_KEY", "SOME_API_KEY"} <= set(keys())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "passed"),
    [
        ((), 1),
        (("-m", "slow"), 1),
        (("-m", "not live"), 2),
        (("-m", "live"), 1),
        (("-m", "slow or not slow"), 3),
    ],
)
def test_markers_choose_and_only_live_tests_have_keys(
    tmp_path: Path, options: tuple[str, ...], passed: int
) -> None:
    printed = run_pytest(tmp_path, CLEAN, *options)
    assert f"{passed} passed" in printed and "failed" not in printed, printed


@pytest.mark.slow
def test_workers_have_the_rules_too(tmp_path: Path) -> None:
    """Warnings are errors there, and a home of one test is no other's."""
    test = (
        "import os, pytest, warnings\n"
        "@pytest.mark.parametrize('n', range(4))\n"
        "def test_home(n):\n"
        f"    with open({str(tmp_path / 'homes')!r}, 'a') as file: file.write(os.environ['LOTBENCH_HOME'] + '\\n')\n"
        "def test_warning(): warnings.warn('old', DeprecationWarning)\n"
    )
    (tmp_path / "test_also.py").write_text(test, encoding="utf-8")
    printed = run_pytest(tmp_path, test, str(tmp_path / "test_also.py"), "-n", "2")
    assert "2 failed, 8 passed" in printed and "DeprecationWarning: old" in printed
    homes = (tmp_path / "homes").read_text(encoding="utf-8").splitlines()
    assert len(set(homes)) == len(homes) == 8 and len({Path(home).parent for home in homes}) == 2


def test_a_warning_is_an_error() -> None:
    with pytest.raises(DeprecationWarning, match="old"):
        warnings.warn("old", DeprecationWarning, stacklevel=1)


def drawn() -> list[int]:
    numbers: list[int] = []

    @hypothesis.given(strategies.integers())
    def collect(number: int) -> None:
        numbers.append(number)

    collect()
    return numbers


def test_properties_draw_the_same_examples_each_time() -> None:
    assert len(set(drawn())) > 10
    assert drawn() == drawn()
