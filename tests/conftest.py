"""What holds for every test: no network but the loopback, no keys, a store of its own, no chance.

A client may turn the error of a shut network into a failed call and go on, so an attempt fails the test
again when it ends. Tests marked `live` get the network and the keys back.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import math
import os
import pathlib
import socket
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from xdist.scheduler import LoadScopeScheduling
    from xdist.workermanage import WorkerController

ROOT = pathlib.Path(__file__).parents[1]
LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::"})
PRIVATE = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

# Examples are drawn alike on every machine, and a busy machine is no failure. The fast tier draws fewer: see pytest_configure.
hypothesis.settings.register_profile("lotbench", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("fast", hypothesis.settings.get_profile("lotbench"), max_examples=25)
# Libraries that look for a name on the hub are told at once that there is none; processes inherit it.
os.environ["HF_HUB_OFFLINE"] = "1"
# The matrices of tests are small: more threads than one wait for each other, a hundred times as long on busy cores.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def pytest_configure(config: pytest.Config) -> None:
    hypothesis.settings.load_profile("fast" if "not slow" in config.option.markexpr else "lotbench")


class NetworkShut(RuntimeError):
    """A test tried to reach another machine."""


class Gate:
    """Stands before every connection of this process; `attempts` are the places that it kept out."""

    def __init__(self) -> None:
        self.open = False
        self.attempts: list[str] = []

    def check(self, host: object, port: object) -> None:
        """Raise NetworkShut unless the host is this one."""
        name = host.decode() if isinstance(host, bytes) else host
        if self.open or name is None or name in LOOPBACK or str(name).startswith("127."):
            return
        self.attempts.append(f"{name}:{port}")
        raise NetworkShut(f"a test tried to reach {name}:{port}; only tests marked `live` may")


@pytest.fixture(scope="session", autouse=True)
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """The network, shut but for the loopback; and a store for what a file of tests sets up, which is nobody's own."""
    shut = Gate()
    lookup, connect, connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex

    def checked_lookup(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        shut.check(host, port)
        return lookup(host, port, *rest, **more)

    def checked_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            shut.check(*address[:2])
        connect(self, address)

    def checked_connect_ex(self: socket.socket, address: Any) -> int:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            shut.check(*address[:2])
        return connect_ex(self, address)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", checked_lookup)
        patch.setattr(socket.socket, "connect", checked_connect)
        patch.setattr(socket.socket, "connect_ex", checked_connect_ex)
        patch.setenv("LOTBENCH_HOME", str(tmp_path_factory.getbasetemp() / "home"))
        yield shut


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """Every client makes a TLS context, which takes 35 ms and which no loopback test ever uses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", functools.cache(ssl.create_default_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def shipped_once() -> Iterator[None]:
    """Nearly every run reads shipped samples and prompts, which nobody changes; the samples take 50 ms of CPU."""
    from lotbench.storage import datasets

    samples, prompts, home = datasets.samples, datasets.prompts, datasets.shipped("data")
    known, packed = functools.cache(samples), functools.cache(prompts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "samples", lambda at, it: (known if at.parent == home else samples)(at, it))
        patch.setattr(datasets, "prompts", lambda name, at="": prompts(name, at) if at else packed(name))
        yield


@pytest.fixture(scope="session", autouse=True)
def drawn_once(pytestconfig: pytest.Config) -> Iterator[None]:
    """A plot takes 80 ms of CPU and a small picture 150; runs of tests end with the same few. Tests of reports draw anew.

    In the fast tier a plot elsewhere stands for all of its kind at that place of a page, under their own descriptions.
    """
    from lotbench.report.html import plots
    from lotbench.run import results

    alike = "not slow" in pytestconfig.option.markexpr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "rendered", once(plots.rendered, alike=alike))
        patch.setattr(results, "encoded", once(results.encoded, alike=alike))
        yield


def once(draw: Callable[..., bytes], *, alike: bool) -> Callable[..., bytes]:
    """Draw what was not drawn before; a picture is known by its bytes, wherever it is, a plot by its data or its kind."""
    drawings: dict[str, bytes] = {}

    def key(part: object) -> object:
        if isinstance(part, pathlib.Path) and part.is_file():
            return part.read_bytes()
        if alike and (series := getattr(part, "series", None)):
            return part.kind, any(math.isfinite(x + y) for points in series.values() for x, y in points)
        return part

    def drawn(*what: object, **how: object) -> bytes:
        if os.environ.get("PYTEST_CURRENT_TEST", "").startswith("tests/report/"):
            return draw(*what, **how)
        known = hashlib.sha256(repr(([key(part) for part in what], how)).encode()).hexdigest()
        if known not in drawings:
            drawings[known] = draw(*what, **how)
        return drawings[known]

    return drawn


@pytest.fixture(autouse=True)
def shut_network(gate: Gate, request: pytest.FixtureRequest) -> Iterator[Gate]:
    """Fails a test that tried to reach another machine, even if the error was swallowed."""
    gate.attempts.clear()
    gate.open = request.node.get_closest_marker("live") is not None
    yield gate
    gate.open = False
    if gate.attempts:
        pytest.fail(f"the test tried to reach {', '.join(gate.attempts)}")


_homes = itertools.count()


@pytest.fixture(autouse=True)
def clean_environment(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No key, no tracing, no proxy, no terminal's width; a `$LOTBENCH_HOME` that nobody else has."""
    # Not made here: most tests never look, and a folder for each would cost more than the test.
    monkeypatch.setenv("LOTBENCH_HOME", str(tmp_path_factory.getbasetemp() / f"home-{next(_homes)}"))
    monkeypatch.delenv("COLUMNS", raising=False)
    if not request.node.get_closest_marker("slow"):
        # To a fast test the extra `embed` is not installed: a report would load torch by the way, which takes 10 s.
        monkeypatch.setattr("lotbench.calls.embeddings.find_spec", lambda package: None)
    if request.node.get_closest_marker("live"):
        return
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith(PRIVATE) or name.upper() in PROXIES:
            monkeypatch.delenv(name)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that calls waited to be tried again, none of which pass."""
    from lotbench.models.retrying import Waiting

    waited: list[float] = []

    async def wait(self: Waiting, seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(Waiting, "wait", wait)
    return waited


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a file; where there is none they are skipped."""
    from tests.browsing import NoBrowser, browser

    with contextlib.ExitStack() as stack:
        try:
            launched = stack.enter_context(browser())
        except NoBrowser as error:
            pytest.skip(str(error))
        yield launched


WANTED = {
    "openenv": ("--no-build-isolation", f"{ROOT}[openenv]"),
    "verifiers": ("verifiers==0.4.0", "uv", f"{ROOT}/examples/verifiers"),
    "inspect": ("--no-build-isolation", "--upgrade", "inspect_ai", str(ROOT)),
}
"""What is installed in the environments of tools whose pins fight ours."""


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Future[pathlib.Path]]]:
    """The programs of the environments of `WANTED`, made side by side, since pip mostly waits."""
    from tests.environments import environment

    with ThreadPoolExecutor() as pool:
        yield {
            name: pool.submit(environment, tmp_path_factory.mktemp(name), *what)
            for name, what in WANTED.items()
        }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if count := sum("no Chromium on this machine" in reason for reason in skipped.values()):
        terminalreporter.write_line(
            f"{count} tests of pages were left out, for want of a Chromium: apt-get install chromium,"
            " or playwright install chromium, or name one in $LOTBENCH_CHROMIUM"
        )


# ---- Skips: in CI (CI=true) one that tests/allowed_skips.txt does not list is a failure ----

ALLOWED = pathlib.Path(__file__).parent / "allowed_skips.txt"
skipped: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        skipped[report.nodeid] = str(report.longrepr)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        skipped[report.nodeid] = str(report.longrepr)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        # A file that is skipped whole is known to the worker alone.
        session.config.workeroutput["skipped"] = skipped
    elif os.environ.get("CI") and (unlisted := not_allowed(skipped, ALLOWED.read_text(encoding="utf-8"))):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        for name in unlisted:
            print(f"\nskipped, and not in {ALLOWED.name}: {name}: {skipped[name]}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    # One that died has no output, and fails the run by itself.
    skipped.update(getattr(node, "workeroutput", {}).get("skipped", {}))


def not_allowed(names: Iterable[str], listed: str) -> list[str]:
    """The skipped tests that no line of the list begins with; a line is `NODEID  # reason`."""
    lines = (line.split("#") for line in listed.splitlines())
    allowed = tuple(
        line[0].strip() for line in lines if len(line) > 1 and line[0].strip() and line[1].strip()
    )
    return [name for name in names if not name.startswith(allowed)]


# ---- Several workers (-n 2): a file is one worker's, so that what it sets up is set up once ----

TOGETHER = {
    "torch": (
        *("tests/clot_training/", "tests/calls/test_embeddings.py", "tests/models/test_transformers"),
        *("tests/cli/test_readme.py", "tests/cli/test_reproduce.py"),
    ),
    "environments": (
        "tests/environment/test_openenv.py",
        "tests/environment/test_verifiers.py",
        "tests/integrations/test_inspect.py",
    ),
}
"""Files that one worker takes, by what it imports or makes once: torch takes 10 s, and each environment 20 s."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return together(nodeid)

    # As collected: by number of tests, as is its way, the longest would come last.
    config.option.loadscopereorder = False
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what one worker takes together, then files with slow tests: the end has small pieces."""
    assert "torch" not in sys.modules, "a file of tests that imports torch costs every worker 8 s"
    if any(hasattr(item.config, "workerinput") for item in items[:1]):
        slow = {together(item.nodeid) for item in items if item.get_closest_marker("slow")}
        items.sort(
            key=lambda item: (together(item.nodeid) not in TOGETHER, together(item.nodeid) not in slow)
        )


def together(nodeid: str) -> str:
    """What a test is handed out with: a name of TOGETHER, or its file."""
    return next((name for name, files in TOGETHER.items() if nodeid.startswith(files)), nodeid.split("::")[0])
