"""The folder that lotbench keeps on this machine apart from runs, and the path of the latest run in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lotbench.storage import atomic_write

LATEST = "latest"
"""The file that names the latest run."""


def home() -> Path:
    """Return lotbench's own folder: $LOTBENCH_HOME, by default ~/.cache/lotbench."""
    return Path(os.environ.get("LOTBENCH_HOME") or Path.home() / ".cache" / "lotbench")


def remember(run: Path) -> None:
    """Record a run as the latest one; do nothing if the record cannot be written."""
    with suppress(OSError):
        atomic_write.write(home() / LATEST, f"{run.resolve()}\n")


def remembered() -> Path | None:
    """Return the folder of the latest recorded run; None if there is no record or the folder is gone."""
    try:
        run = Path((home() / LATEST).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return None
    return run if run.is_absolute() and (run / "run.json").is_file() else None
