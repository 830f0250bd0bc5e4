"""A real browser in a test: any Chromium, headless, driven by playwright, with axe-core to look for faults."""

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

NAMED = "LOTBENCH_CHROMIUM"
"""The environment variable that names a browser; what it names is used or complained of, never passed over."""
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


class NoBrowser(Exception):
    """No place has a Chromium that runs."""


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser without a window; in a container, where root runs it, without a sandbox.

    Raises:
        NoBrowser: There is none on this machine.
        FileNotFoundError: `$LOTBENCH_CHROMIUM` names one that does not run.
    """
    with sync_playwright() as player:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        program = chromium(os.environ, (*PLACES, player.chromium.executable_path))
        launched = player.chromium.launch(executable_path=program, args=arguments)
        try:
            yield launched
        finally:
            launched.close()


PLACES = ("chromium", "chromium-browser", "google-chrome", "/usr/bin/chromium")
"""Programs on PATH and paths, in the order in which they are tried; playwright's own install comes last."""


def chromium(environment: Mapping[str, str], places: Iterable[str]) -> str:
    """The path of the first Chromium that runs: the one that is named, or else one of the places.

    Raises:
        NoBrowser: None does.
        FileNotFoundError: One is named, and it does not run.
    """
    if named := environment.get(NAMED):
        if program := _running(named):
            return program
        raise FileNotFoundError(f"${NAMED}: {named} is no browser that runs")
    if program := next(filter(None, map(_running, places)), None):
        return program
    raise NoBrowser("no Chromium on this machine")


def _running(place: str) -> str | None:
    """The path of a program that tells its version: what a distribution leaves in a browser's stead does not."""
    program = shutil.which(place)
    if program is None:
        return None
    try:
        subprocess.run([program, "--version"], capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        return None
    return program


@contextmanager
def opened(made: Browser, address: str, **context: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page, and everything that it complained of, tried to open, or went for outside its site."""
    faults: list[str] = []
    site = address if address.startswith("file:") else address[: address.index("/", 8)]
    where = made.new_context(**({"viewport": DESKTOP} | context))
    page = where.new_page()
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    page.on("request", lambda request: None if request.url.startswith(site) else faults.append(request.url))
    try:
        page.goto(address)
        yield page, faults
    finally:
        where.close()


def serious(page: Page) -> list[str]:
    """The serious and critical faults that axe-core finds, by rule, with what they are in."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
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
