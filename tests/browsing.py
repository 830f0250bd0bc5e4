"""A real browser in a test: Debian's Chromium, headless, driven by playwright, with axe-core to look for faults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window; in a container, where root runs it, without a sandbox."""
    with sync_playwright() as player:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        made = player.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        try:
            yield made
        finally:
            made.close()


@contextmanager
def opened(made: Browser, address: str, **context: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page, and everything that it complained of, went for or tried to open."""
    faults: list[str] = []
    where = made.new_context(**({"viewport": DESKTOP} | context))
    page = where.new_page()
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: None if request.url == address else faults.append(request.url))
    try:
        page.goto(address)
        yield page, faults
    finally:
        where.close()


def serious(page: Page) -> list[str]:
    """The serious and critical faults that axe-core finds, by rule, with what they are in."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0].get('failureSummary', '')}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def contrast(page: Page, selector: str) -> float:
    """The contrast of an element's text or fill with the page's ground, as WCAG counts it."""
    found: float = page.evaluate(
        """(selector) => {
          const element = document.querySelector(selector), style = getComputedStyle(element);
          const colour = element instanceof SVGElement ? style.fill : style.color;
          const light = (text) => {
            const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
            const linear = parts.map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
            return .2126 * linear[0] + .7152 * linear[1] + .0722 * linear[2];
          };
          const [one, other] = [light(colour), light(getComputedStyle(document.body).backgroundColor)];
          return (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
        }""",
        selector,
    )
    return found
