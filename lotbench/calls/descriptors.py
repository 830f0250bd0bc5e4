"""The limit on open files, read and raised before the first call.

A run that hits the limit can neither call nor write its summary. Most systems start a process with a soft limit of
1,024 files, far below the hard limit.
"""

import resource
from contextlib import suppress

RESERVED = 128
"""Files kept free for other uses: journal, traces, pictures, packages, connections that are closing."""


def room(connections: int) -> int:
    """Raise the limit on open files so that this many connections fit, and return how many can be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    need = connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= need:
        return connections
    able = need if hard == resource.RLIM_INFINITY else max(soft, min(need, hard))
    # Some systems refuse values below the hard limit that they report.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (able, hard))
    return max(1, min(connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED))
