"""Commands for people: view runs, play, vote."""

from __future__ import annotations

import argparse
import asyncio
import webbrowser
from pathlib import Path

from lotbench.edge import serve
from lotbench.errors import UsageError


def view(parsed: argparse.Namespace) -> int:
    """Carry out `lotbench view`."""
    from lotbench.annotations import Annotations
    from lotbench.cli.review import clock
    from lotbench.gallery import Gallery, export

    root = Path(parsed.root)
    if not root.is_dir():
        raise UsageError(f"{root}: no such folder")
    if parsed.export:
        count, size = export(Gallery(root), Path(parsed.export))
        print(f"{parsed.export}: {count} files, {size / 1e6:.1f} MB; open {Path(parsed.export) / 'index.html'}")
        return 0
    return _serve(Gallery(root, Annotations(root, parsed.name, clock)), parsed)


def _serve(pages: serve.Pages, parsed: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""

    def ready(address: str) -> None:
        print(f"open {address}\nend with Ctrl-C", flush=True)
        if not parsed.no_browser:
            webbrowser.open(address)

    try:
        asyncio.run(serve.serve(pages, parsed.port, ready, parsed.host))
    except KeyboardInterrupt:
        print()
    return 0
