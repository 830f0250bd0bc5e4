"""A hook of MkDocs: links to files outside docs/ lead nowhere on a site, so they are shown as the names of files."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s]*)\)")


def on_page_markdown(markdown: str, **given: Any) -> str:
    """The text of a page, with a file's path in the place of a link to it."""
    return OUTSIDE.sub(lambda found: f"{found[1]} (`{found[2].removeprefix('../')}`)", markdown)
