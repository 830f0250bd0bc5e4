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
        return f"{found[1]} (`{target.removeprefix(out)}`)" if target.startswith(out) else found[0]

    return LINK.sub(shown, markdown)
