"""Pages to look through runs, to play and to vote: the report's visual language, with a script of our own.

Every page carries its one style sheet and its one script in itself, and a content policy that allows these
two by their digests, pictures of the same site, and nothing else. A page is the same from a server and from
a disk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader

from lotbench.report.html import page as report_page
from lotbench.site.serve import Served

FRAMES = "; frame-ancestors 'none'"
"""What only a header can say."""

COMMON = ("style.css", "screen.css", "screen.js")
PLAY = (*COMMON, "play.css", "play.js")
PARTS = {
    "join": (*COMMON, "play.css"),
    "play": PLAY,
    "result": PLAY,
    "daily": (*PLAY, "daily.js"),
    "review": ("review.css", "review.js"),
}
"""The sheets and scripts of a page, by its template; of any other, the common ones."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the template engine of the reports, with the templates of this room before theirs."""
    reports = report_page.environment()
    ours = PackageLoader("lotbench.site")
    return reports.overlay(loader=ChoiceLoader([ours, reports.loader] if reports.loader else [ours]))


def screen(template: str, up: str = "", **values: Any) -> Served:
    """Return a page from a template of this package.

    Args:
        template: Its name, without `.html`.
        up: The way from the page to the site's root (`../`).
        **values: What the template names.
    """
    parts = PARTS.get(template, COMMON)
    style = "".join(_render(name) for name in parts if name.endswith(".css"))
    script = "".join(_render(name) for name in parts if name.endswith(".js"))
    html, policy = report_page.sealed(environment(), f"{template}.html", style, script, {"up": up, **values})
    return Served(html.encode(errors="replace"), policy=policy + FRAMES)


@lru_cache(maxsize=16)
def _render(name: str) -> str:
    return environment().get_template(name).render()
