"""The folder that lotbench keeps on this machine apart from runs."""

import os
from pathlib import Path


def home() -> Path:
    """Return lotbench's own folder: $LOTBENCH_HOME, by default ~/.cache/lotbench."""
    return Path(os.environ.get("LOTBENCH_HOME") or Path.home() / ".cache" / "lotbench")
