"""What lotbench keeps on this machine outside of all runs: its folder, and where the latest run was made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lotbench.storage import atomic_write

LATEST = "latest"
"""The file that names the latest run."""


def home() -> Path:
    """Return the folder: $LOTBENCH_HOME, by default ~/.cache/lotbench."""
    return Path(os.environ.get("LOTBENCH_HOME") or Path.home() / ".cache" / "lotbench")


def remember(run: Path) -> None:
    """Write down that this run is the latest; where nothing can be written, `latest` is looked for in runs/ alone."""
    with suppress(OSError):
        atomic_write.write(home() / LATEST, f"{run.resolve()}\n")


def remembered() -> Path | None:
    """Return the latest run that was made on this machine; None if it is gone, or none was."""
    try:
        run = Path((home() / LATEST).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
    return run if run.is_absolute() and (run / "run.json").is_file() else None
