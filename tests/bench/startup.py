"""What `lotbench --help` costs beside a bare interpreter: CPU seconds, turn about, in one run.

python -m tests.bench.startup [REPEATS]
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
BARE = [sys.executable, "-c", "pass"]
HELP = [sys.executable, "-c", "from lotbench.cli import main; main(['--help'])"]
REPEATS = 20
AIM = 4.0
"""Times the CPU of the bare interpreter, at most."""


def cpu(command: Sequence[str]) -> float:
    """The CPU seconds, user and system, of a command."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def ratios(repeats: int) -> list[tuple[float, float]]:
    """The CPU of the bare interpreter and of the help, by turns, so that a busy machine burdens both."""
    for command in (BARE, HELP):
        # Compiled and in the page cache, as after the first use.
        cpu(command)
    return [(cpu(BARE), cpu(HELP)) for _ in range(repeats)]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    measured = ratios(int(arguments[0]) if arguments else REPEATS)
    bare, told = (median(one[side] for one in measured) for side in (0, 1))
    each = sorted(two / one for one, two in measured)
    print(f"python -c pass    {bare * 1000:6.1f} ms CPU (median of {len(measured)})")
    print(f"lotbench --help   {told * 1000:6.1f} ms CPU")
    print(
        f"ratio             {median(each):6.2f}  (from {each[0]:.2f} to {each[-1]:.2f}; aim {AIM:g} at most)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
