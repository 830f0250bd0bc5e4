"""An OpenAI-compatible model server on the loopback: real HTTP, a rule instead of a model, faults by plan.

The log counts a response as finished only after its last byte was handed to the socket, so a test can
assert that nobody paid twice for one reply.

    with FakeServer(rule=game_rule(solve=0.1), faults=Mixed(rate=0.3, seed=1)) as server: server.url
    python -m tests.server --port 0 --rule game --latency 0.05 --faults mixed --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

from aiohttp import web

from tests.abilities import Abilities
from tests.faults import Mixed, Plan, mixture
from tests.rules import Rule, game_rule, same
from tests.service import Service

__all__ = ["Abilities", "FakeServer", "Mixed", "main", "serving"]

T = TypeVar("T")


@contextlib.asynccontextmanager
async def serving(service: Service, port: int = 0) -> AsyncIterator[int]:
    """Serve on the loopback inside the running loop; yields the port."""
    # The low-level server: no router and no middlewares, which would cost as much as the answer does.
    server = web.Server(service.handle, handler_cancellation=True, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port, backlog=1024).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


class FakeServer:
    """The server in a thread of its own, for as long as the `with` block lasts.

    Args:
        rule: What the model says; `game_rule()` by default.
        faults: See `tests.faults.Plan`.
        latency: Seconds before an answer, or a pair to draw from by the body.
        keep_bodies: Keep every body, as parsed, in `bodies`.
        **abilities: See `Abilities`.
    """

    def __init__(
        self,
        rule: Rule | None = None,
        *,
        faults: Plan = None,
        latency: float | tuple[float, float] = 0.0,
        keep_bodies: bool = False,
        port: int = 0,
        **abilities: Any,
    ) -> None:
        self.service = Service(rule or game_rule(), faults, latency, Abilities(**abilities), keep_bodies)
        self.port = port
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="fake-server", daemon=True)

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies of the chat requests so far, in order of arrival; needs `keep_bodies`."""
        return self._call(lambda: list(self.service.bodies))

    def log(self) -> dict[str, Any]:
        """What came and went so far; as GET /control/log says it."""
        return self._call(self.service.log)

    def change(self, *, faults: Plan = None, latency: float | tuple[float, float] | None = None) -> None:
        """Begin another plan of faults, with another latency if one is given."""
        self._call(lambda: self.service.change(faults, latency))

    def __enter__(self) -> FakeServer:
        self._thread.start()
        self._ready.wait()
        if self._failure:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits for the port
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with serving(self.service, self.port) as self.port:
            self._ready.set()
            await self._stop.wait()


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.server", description="A fake model server.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rule", choices=["game"], default="game")
    parser.add_argument("--solve", type=float, default=0.05, help="share of verdicts that accept")
    parser.add_argument("--unreadable", type=float, default=0.0)
    parser.add_argument("--refuse", type=float, default=0.0)
    parser.add_argument("--guess", help="pattern of the guess in a judge's prompt, with one group")
    parser.add_argument("--key", help="pattern of the key text; the same words are always accepted")
    parser.add_argument("--latency", default="0", help="seconds, or LOW-HIGH")
    parser.add_argument(
        "--faults", default="none", help="none, transport, mixed, content, all, hang, or names"
    )
    parser.add_argument("--rate", type=float, default=None, help="share of requests that meet a fault")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--keep-bodies", action="store_true")
    parser.add_argument("--api-key")
    parser.add_argument("--no-caches", action="store_true", help="tell of no cached tokens")
    return parser.parse_args(arguments)


def _service(options: argparse.Namespace) -> Service:
    accepts = same(options.guess, options.key) if options.guess and options.key else None
    rule = game_rule(options.solve, options.unreadable, options.refuse, accepts=accepts)
    low, _, high = options.latency.partition("-")
    latency = (float(low), float(high or low))
    plan = mixture(options.faults, options.rate, options.seed)
    return Service(
        rule,
        plan,
        latency,
        Abilities(api_key=options.api_key, caches=not options.no_caches),
        options.keep_bodies,
    )


async def _until_told(service: Service, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(service, port) as bound:
        print(f"http://127.0.0.1:{bound}/v1", flush=True)
        await stop.wait()


def main(arguments: list[str] | None = None) -> None:
    """Serve until SIGTERM; the first line printed is the base URL."""
    options = _options(arguments)
    running: Coroutine[Any, Any, None] = _until_told(_service(options), options.port)
    asyncio.run(running)


if __name__ == "__main__":
    main()
