"""How many connections this process may have open: the limit on its files, read and raised before the first call.

A run that meets the limit in its middle can neither call nor write its summary, and most systems begin a process with
1,024 files although it may have many more.
"""

from __future__ import annotations

import resource
from contextlib import suppress

RESERVED = 128
"""Files that are no connections: journal, traces, pictures, what packages open, connections of before that end."""


def room(connections: int) -> tuple[int, str]:
    """See that so many connections can be open at once.

    Returns:
        How many can be, and what to tell a person; "" if there was room.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= need:
        return connections, ""
    able = need if hard == resource.RLIM_INFINITY else max(soft, min(need, hard))
    # A system may have a limit of its own beside the one that it names.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (able, hard))
    now = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if now >= need:
        return connections, f"files that may be open at once: raised from {soft} to {now}"
    available = max(1, now - RESERVED)
    return (
        available,
        f"at most {now} files may be open at once (ulimit -n), so {available} calls in flight, not {connections}",
    )
