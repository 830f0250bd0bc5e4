"""The limit on open files, read and raised before the first call.

A run that hits the limit can neither call nor write its summary. Most systems start a process with a soft limit of
1,024 files, far below the hard limit.
"""

from __future__ import annotations

import resource
from contextlib import suppress

RESERVED = 128
"""Files kept free for other uses: journal, traces, pictures, packages, connections that are closing."""


def room(connections: int) -> tuple[int, str]:
    """Raise the limit on open files so that this many connections fit.

    Returns:
        How many connections can be open, and a note for the user ("" if the limit was high enough).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= need:
        return connections, ""
    able = need if hard == resource.RLIM_INFINITY else max(soft, min(need, hard))
    # Some systems refuse values below the hard limit that they report.
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
