"""Pages in a real browser: a site on the loopback in a thread of its own, and headless Chromium before it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lotbench.edge import serve

CHROMIUM = "/usr/bin/chromium"


@contextmanager
def serving(pages: serve.Pages) -> Iterator[str]:
    """Serve a site for as long as the block lasts; yields its address, token and all."""
    ready, address = threading.Event(), ""
    loop = asyncio.new_event_loop()

    def told(where: str) -> None:
        nonlocal address
        address = where
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
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


@contextmanager
def chromium(**options: Any) -> Iterator[Any]:
    """A page of headless Chromium that keeps what went wrong in it in `page.faults`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        browser = found.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            page = browser.new_context(**options).new_page()
            page.faults = []
            page.on("pageerror", lambda error: page.faults.append(str(error)))
            page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
            page.on("dialog", lambda dialog: (page.faults.append(dialog.message), dialog.dismiss()))
            yield page
        finally:
            browser.close()


def serious(page: Any) -> list[str]:
    """The serious and critical faults that axe-core finds on a page, each with where it is."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
