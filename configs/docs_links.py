"""A hook of MkDocs: links to files outside docs/ lead nowhere on a site, so they are shown as the names of files."""

from __future__ import annotations

import re
from typing import Any

LINK = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s]*)\)")


def on_page_markdown(markdown: str, *, page: Any, **given: Any) -> str:
    """The text of a page, with a file's path in the place of a link to it."""
    out = "../" * (page.file.src_uri.count("/") + 1)

    def shown(found: re.Match[str]) -> str:
        target = found[2]
        if not target.startswith(out):
            return found[0]
        name = target.removeprefix(out)
        return f"`{name}`" if found[1].strip("`") in name else f"{found[1]} (`{name}`)"

    return LINK.sub(shown, markdown)
