"""How many connections this process may have open: the limit on its files, read and raised before the first call.

A run that meets the limit in its middle can neither call nor write its summary, and most systems begin a process with
1,024 files although it may have many more.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

RESERVED = 128
"""Files that are no connections: journal, traces, pictures, what packages open, connections of before that end."""


def room(wanted: int) -> tuple[int, str]:
    """See that so many connections can be open at once.

    Returns:
        How many can be, and what to tell a person; "" if there was room.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = wanted + RESERVED + _open()
    if soft == resource.RLIM_INFINITY or soft >= need:
        return wanted, ""
    able = need if hard == resource.RLIM_INFINITY else min(need, hard)
    if able > soft:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (able, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    left = max(1, wanted - max(0, need - now))
    if left == wanted:
        return wanted, f"files that may be open at once: raised from {soft} to {now}"
    return (
        left,
        f"at most {now} files may be open at once (ulimit -n), so {left} calls in flight, not {wanted}",
    )


def _open() -> int:
    """How many files are open now; 0 where that cannot be seen."""
    try:
        return len(os.listdir(Path("/proc/self/fd")))
    except OSError:
        return 0
