"""Pages to look through runs, to play and to vote: the report's visual language, with a script of our own.

Every page carries its one style sheet and its one script in itself, and a content policy that allows these
two by their digests, pictures of the same site, and nothing else. A page is the same from a server and from
a disk.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from lotbench.edge.serve import Served
from lotbench.report.html import page as report_page

FRAMES = "; frame-ancestors 'none'"
"""What only a header can say."""

STYLES = {name: ("play.css",) for name in ("join", "play", "result", "daily")}
SCRIPTS = {"play": ("play.js",), "result": ("play.js",), "daily": ("play.js", "daily.js")}
"""What pages have beside the sheet and the script of all, by template."""


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The template engine of the reports, with the templates of this room before theirs."""
    reports = report_page.environment()
    ours = PackageLoader("lotbench.site")
    return reports.overlay(loader=ChoiceLoader([ours, reports.loader] if reports.loader else [ours]))


def screen(template: str, up: str = "", **values: Any) -> Served:
    """A page from a template of this package.

    Args:
        template: Its name, without `.html`.
        up: The way from the page to the site's root (`../`).
        **values: What the template names.
    """
    style = "".join(map(_part, ("style.css", "screen.css", *STYLES.get(template, ()))))
    script = "".join(map(_part, ("screen.js", *SCRIPTS.get(template, ()))))
    policy = (
        f"default-src 'none'; img-src 'self' data:; connect-src 'self'; style-src 'sha256-{_digest(style)}'; "
        f"script-src 'sha256-{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    given: Mapping[str, Any] = {"up": up, "live": False, **values}
    page = environment().get_template(f"{template}.html")
    html = page.render(style=Markup(style), script=Markup(script), policy=Markup(policy), **given)
    return Served(html.encode(errors="replace"), policy=policy + FRAMES)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@lru_cache(maxsize=16)
def _part(name: str) -> str:
    return environment().get_template(name).render()
