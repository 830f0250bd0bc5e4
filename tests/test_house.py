"""The rules for all tests hold: the network is shut, only live tests have keys, a skip in CI needs a reason."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Gate, NetworkShut, not_allowed

ROOT = Path(__file__).parents[1]
# An address set aside for documentation: nobody answers there, even if the gate were open.
ELSEWHERE = "192.0.2.1"
SKIPPED = ["tests/test_a.py::test_one", "tests/test_a.py::test_two[x]", "tests/test_b.py"]
HOUSE = f"""
import contextlib, os, pytest, socket, warnings
def keys(): return sorted(k for k in os.environ if k.endswith("_KEY"))
def test_no_keys(): assert not keys() and "home-" in os.environ["LOTBENCH_HOME"]
def test_warns(): warnings.warn("old", DeprecationWarning)
def test_skips(): pytest.skip("no such device")
def test_hides_an_attempt():
    with contextlib.suppress(Exception): socket.create_connection(("{ELSEWHERE}", 1))
@pytest.mark.live
def test_live(): assert keys()
"""


async def test_another_machine_cannot_be_reached_and_the_loopback_can(shut_network: Gate) -> None:
    with socket.socket() as sock, pytest.raises(NetworkShut, match=f"{ELSEWHERE}:443"):
        sock.connect((ELSEWHERE, 443))
    for host in (ELSEWHERE, "api.example"):
        with pytest.raises(NetworkShut):
            await asyncio.open_connection(host, 443)
    assert shut_network.attempts == [f"{ELSEWHERE}:443", f"{ELSEWHERE}:443", "api.example:443"]
    shut_network.attempts.clear()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        ("# only a remark", SKIPPED),
        ("tests/test_a.py::test_one  # needs a graphics card", SKIPPED[1:]),
        ("tests/test_a.py  # needs a browser\ntests/test_b.py # so does this", []),
        ("tests/test_a.py  #", SKIPPED),
    ],
)
def test_a_skip_is_allowed_by_a_line_with_a_reason(listed: str, left: list[str]) -> None:
    assert not_allowed(SKIPPED, listed) == left


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ("not skips", ("DeprecationWarning: old", f"the test tried to reach {ELSEWHERE}:1", "3 passed")),
        ("skips or no_keys", ("skipped, and not in allowed_skips.txt: test_it.py", "no such device")),
    ],
)
def test_ci_fails_on_warnings_skips_and_attempts(tmp_path: Path, chosen: str, told: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text(HOUSE, encoding="utf-8")
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    command += ["-p", "no:cacheprovider", "-m", "slow or not slow", "-n", "2", "-k", chosen]
    environment = os.environ | {"OPENAI_API_KEY": "k", "CI": "true", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(tmp_path / "test_it.py")], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode and all(words in done.stdout for words in told), done.stdout
