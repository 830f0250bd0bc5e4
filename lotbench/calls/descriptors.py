"""How many connections this process may have open: the limit on its files, read and raised before the first call.

A run that meets the limit in its middle can neither call nor write its summary, and most systems begin a process with
1,024 files although it may have many more.
"""

from __future__ import annotations

import resource
from contextlib import suppress

RESERVED = 128
"""Files that are no connections: journal, traces, pictures, what packages open, connections of before that end."""


def room(wanted: int) -> tuple[int, str]:
    """See that so many connections can be open at once.

    Returns:
        How many can be, and what to tell a person; "" if there was room.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = wanted + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= need:
        return wanted, ""
    able = need if hard == resource.RLIM_INFINITY else max(soft, min(need, hard))
    # A system may have a limit of its own beside the one that it names.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (able, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if now >= need:
        return wanted, f"files that may be open at once: raised from {soft} to {now}"
    left = max(1, now - RESERVED)
    return (
        left,
        f"at most {now} files may be open at once (ulimit -n), so {left} calls in flight, not {wanted}",
    )
