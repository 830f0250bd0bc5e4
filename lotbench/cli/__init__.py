"""The front door: `lotbench COMMAND`. It parses and prints; everything it does is done elsewhere.

Nothing heavy is imported before a command runs, so that `--help` is instant.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from lotbench.cli.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code.

    0 done, 1 error, 2 usage, 3 stopped by a limit, 4 too many failures, 130 interrupted; a run that ended
    with 3, 4 or 130 can be resumed.
    """
    if arguments is None and not sys.warnoptions:
        _keep_libraries_quiet()
    parsed = parser().parse_args(arguments)
    from lotbench.errors import LotbenchError
    from lotbench.storage.dotenv_file import read_env_file

    try:
        read_env_file(Path.cwd())
        _name_latest(parsed)
        code: int = parsed.run_command(parsed)
        return code
    except LotbenchError as error:
        from lotbench.report.markdown import visible

        # An error may hold what a server said: a terminal obeys escape sequences.
        print(f"lotbench: {visible(str(error))}", file=sys.stderr)
        if error.run is not None and error.exit_code != 2:
            print(f"lotbench: go on with: lotbench resume {error.run}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        print("lotbench: interrupted", file=sys.stderr)
        if interrupt.args:
            print(f"lotbench: go on with: lotbench resume {interrupt.args[0]}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (a pager, head) has seen enough.
        sys.stderr.close()
        return 0


def _keep_libraries_quiet() -> None:
    """Keep the warnings of libraries off the console, ours on it; -W and PYTHONWARNINGS bring all back."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module="lotbench")
    if logging.lastResort is not None:
        # What prints the log of a library that nobody has set up.
        logging.lastResort.addFilter(logging.Filter("lotbench"))


def _name_latest(parsed: argparse.Namespace) -> None:
    """Say which run `latest` is, beside what is printed."""
    named = [getattr(parsed, name, None) for name in ("run", "root", "what")] + list(
        getattr(parsed, "runs", None) or ()
    )
    if "latest" in named:
        from lotbench.storage import run_folder

        print(f"latest: {run_folder.find('latest', getattr(parsed, 'kept', None))}", file=sys.stderr)
