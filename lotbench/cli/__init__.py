"""The entry point of the program `lotbench`: it parses the arguments, runs one command and prints its error.

The module of a command is imported when the command runs, so that `--help` is instant.
"""

import argparse
import errno
import io
import logging
import os
import shlex
import signal
import stat
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from lotbench.cli.parser import parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` name (None: those of the process) and return its exit code.

    0 done, 1 error, 2 usage, 3 stopped by a limit, 4 too many failures, 130 interrupted. A run that ended
    with 3, 4 or 130 can be resumed.

    Raises:
        SystemExit: The arguments cannot be parsed (code 2), or ask for help (code 0).
    """
    _prepare_streams()
    if arguments is None and not sys.warnoptions:
        _keep_libraries_quiet()
    parsed = parser().parse_args(arguments)
    from lotbench.errors import LotbenchError

    try:
        _name_latest(parsed)
        parsed.run_command(parsed)
    except LotbenchError as error:
        from lotbench.report.markdown import visible

        # An error may quote a server, and a terminal would obey escape sequences in the quote.
        print(f"lotbench: {visible(str(error))}", file=sys.stderr)
        if error.run is not None and error.exit_code != 2:
            _name_command(parsed, error.run)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        # The process ends, and another Ctrl-C must not cut off what it says.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("lotbench: interrupted", file=sys.stderr)
        if interrupt.args:
            _name_command(parsed, interrupt.args[0])
        return 130
    except OSError as error:
        return _name_file(error)
    return 0


class _Output(io.FileIO):
    """A standard stream whose reader (a pager, head) may close it: what is written then is dropped, and the command goes on."""

    def write(self, data: Any, /) -> int:
        """Write bytes, and return their number."""
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _prepare_streams() -> None:
    """Replace standard streams that the caller has closed by empty ones, and let no character fail to be printed."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - it stays open as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe may be set to an encoding that lacks characters of what is printed.
            stream.reconfigure(errors="backslashreplace")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        with suppress(OSError, ValueError):
            if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
                raw = io.BufferedWriter(_Output(stream.fileno(), "wb", closefd=False))
                how = {"encoding": stream.encoding, "errors": stream.errors}
                setattr(sys, name, io.TextIOWrapper(raw, **how, line_buffering=stream.line_buffering))


def _name_command(parsed: argparse.Namespace, run: object) -> None:
    """Print the command that goes on with a stopped run, or with the duel whose runs are in `parsed.folders`."""
    folders = getattr(parsed, "folders", ())
    command = shlex.join(["lotbench", *(["duel", *map(str, folders)] if folders else ["resume", str(run)])])
    print(f"lotbench: go on with: {command}", file=sys.stderr)


def _name_file(error: OSError) -> int:
    """Print which file cannot be used and why, and return exit code 2.

    Raises:
        OSError: The error names no file: it is a bug, or of the network.
    """
    # Writing to standard output names no file.
    place = "the output" if error.errno == errno.ENOSPC and error.filename is None else error.filename
    if not isinstance(place, str | bytes | os.PathLike):
        raise error
    from lotbench.report.markdown import visible

    print(f"lotbench: {visible(os.fsdecode(place))}: {error.strerror}", file=sys.stderr)
    return 2


def _keep_libraries_quiet() -> None:
    """Keep warnings and log lines of libraries off the console, and show those of lotbench; not called under -W or PYTHONWARNINGS."""
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module="lotbench")
    if logging.lastResort is not None:
        # The handler that prints the log of libraries for which no handler is set up.
        logging.lastResort.addFilter(logging.Filter("lotbench"))


def _name_latest(parsed: argparse.Namespace) -> None:
    """Print to standard error which run `latest` stands for, if an argument of the command is `latest`."""
    named = [getattr(parsed, name, None) for name in ("run", "root", "what")]
    named += getattr(parsed, "runs", None) or ()
    if "latest" in named:
        from lotbench.storage import run_folder

        print(f"latest: {run_folder.find('latest', getattr(parsed, 'runs_folder', None))}", file=sys.stderr)
