"""The rendering of pages to view runs, to play, to vote and to review, in the style of the reports but with scripts.

Each page contains one style sheet and one script. Its content security policy allows these two by their digests,
pictures and connections of the same site, and nothing else. A page is the same from a server and from a disk.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader

from lotbench.report.html import page as report_page

NOTHING = "default-src 'none'; frame-ancestors 'none'"
"""The content security policy of responses that are not pages."""
FRAMES = "; frame-ancestors 'none'"
"""The part of the policy that browsers accept only in an HTTP header."""

COMMON = ("style.css", "screen.css", "screen.js")
PLAY = (*COMMON, "play.css", "play.js")
PARTS = {
    "join": (*COMMON, "play.css"),
    "play": PLAY,
    "result": PLAY,
    "daily": (*PLAY, "daily.js"),
    "review": ("review.css", "review.js"),
}
"""The style sheets and scripts of a page, by the name of its template; other pages have `COMMON`."""


@dataclass(frozen=True, slots=True)
class Served:
    """The response to a GET request.

    Attributes:
        kind: The media type.
        policy: The content security policy of a page.
        lasting: Whether the address contains a digest of the content, so that a browser may keep it.
    """

    body: bytes
    kind: str = "text/html"
    policy: str = NOTHING
    lasting: bool = False


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the template engine of the reports, which looks for a template in this package first."""
    reports = report_page.environment()
    ours = PackageLoader("lotbench.site")
    return reports.overlay(loader=ChoiceLoader([ours, reports.loader] if reports.loader else [ours]))


def screen(template: str, up: str = "", **values: Any) -> Served:
    """Return a page from a template of this package.

    Args:
        template: The name of the template, without `.html`.
        up: The relative address of the site's root, seen from the page (`../`).
        **values: The values of the template's variables.
    """
    parts = PARTS.get(template, COMMON)
    style = "".join(_render(name) for name in parts if name.endswith(".css"))
    script = "".join(_render(name) for name in parts if name.endswith(".js"))
    html, policy = report_page.sealed(environment(), f"{template}.html", style, script, {"up": up, **values})
    return Served(html.encode(errors="replace"), policy=policy + FRAMES)


@lru_cache(maxsize=16)
def _render(name: str) -> str:
    return environment().get_template(name).render()
