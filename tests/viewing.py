"""A site on the loopback in a thread of its own, for a browser to look at."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lotbench.site import serve


@contextmanager
def serving(pages: serve.Pages) -> Iterator[str]:
    """Serve a site for as long as the block lasts, then close it; yields its address, token and all."""
    close = getattr(pages, "close", None)
    ready, address = threading.Event(), ""
    loop = asyncio.new_event_loop()

    def told(where: str) -> None:
        nonlocal address
        address = where
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        if close:
            loop.run_until_complete(close())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    task = loop.create_task(serve.serve(pages, 0, told))
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20), "the site did not begin"
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
