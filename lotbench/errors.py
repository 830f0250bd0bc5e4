"""The errors of lotbench, each with its cause and the exit code of the command.

    LotbenchError
    ├── UsageError          a fault in a flag, a config or a file that a person gave   exit 2
    │   ├── DataError       ... in a data set, with file, line and field
    │   └── RunFolderError  a run folder in use, damaged, or of another experiment
    ├── Unread              a reply that came and could not be read                    (recorded)
    ├── CallFailed          a call that brought no reply                               (recorded)
    ├── EpisodeFailed       an episode that ended because a role failed                (recorded)
    ├── Unescapable         a failed call to a model; every other would fail too       exit 1
    │   ├── UnknownModel    no such model at its address
    │   └── Unreachable     nothing listens at its address
    ├── LimitReached        a budget that a person set is used up                      exit 3
    └── TooManyFailures     more failed episodes than the run may have                 exit 4

An `Unread`, `CallFailed` or `EpisodeFailed` is recorded in the episode and gives no score; the others end the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError


class LotbenchError(Exception):
    """The base of all errors that lotbench raises; the message is written for people."""

    exit_code = 1
    run: Path | None = None
    """The folder of the run that the error stopped; None if it stopped no run."""

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows of the error: the message and the command to go on with, and no lines of our code."""
        resume = [] if self.run is None else [f'go on: run = await lotbench.resume("{self.run}")']
        return [f"{type(self).__name__}: {self}", *resume]


class UsageError(LotbenchError):
    """A flag, a config or a file that a person gave cannot be used as it is."""

    exit_code = 2


class DataError(UsageError):
    """A data set has faults; each names its file, line and field."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def refuse_faults(faults: list[str]) -> None:
    """Raise `DataError` with the faults, if there are any."""
    if faults:
        raise DataError(faults)


class RunFolderError(UsageError):
    """A run folder is in use by another process, damaged, or belongs to another experiment."""


class Unread(LotbenchError):
    """A reply came and could not be read.

    Attributes:
        kind: `unparsed`, `refused` or `truncated`, or a benchmark's own word for a reply of the wrong kind.
        reason: The fault of the reply, in words that can be shown to the model that wrote it.
    """

    def __init__(self, kind: str, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind}: {reason}")


class CallFailed(LotbenchError):
    """A call brought no reply, after all retries; it ends the episode with the outcome ROLE_failed, such as judge_failed."""


class EpisodeFailed(LotbenchError):
    """An episode cannot go on: a call brought no reply, or a reply that it needs could not be read.

    Attributes:
        role: The role whose model failed.
        why: The reason, in words for people.
        arrived: False if a reply never came; a resumed run then plays the episode again.
    """

    def __init__(self, role: str, why: str, *, arrived: bool = True) -> None:
        self.role = role
        self.why = why
        self.arrived = arrived
        super().__init__(f"{role} failed: {why}")


class Unescapable(LotbenchError):
    """A call failed, and every other call to its model would fail too: wrong key, unknown model, no credit, no picture input."""


class UnknownModel(Unescapable):
    """The server at an address has no model of this name, or no longer has it."""


class Unreachable(Unescapable):
    """The connection test found nothing that listens at an address."""


class LimitReached(LotbenchError):
    """A budget of cost, tokens or time is used up; the run can be resumed with a higher one."""

    exit_code = 3


class TooManyFailures(LotbenchError):
    """More episodes failed than `max_failed` allows; the run can be resumed."""

    exit_code = 4


@contextmanager
def file_errors(path: Path | str, kind: type[UsageError] = UsageError, advice: str = "") -> Iterator[None]:
    """Turn an error of the operating system in the block into one of the class `kind`, as `path: reason` with the advice.

    Raises:
        UsageError: A file cannot be read or written.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{path}: {error.strerror or error}{advice}") from None


@contextmanager
def shape_errors(*runs: Path) -> Iterator[None]:
    """Turn an error that a trace of another shape causes in the block into one that names the runs and the place in the code.

    Raises:
        RunFolderError: A step or a score lacks a field, or has one of another type.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        last = extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
        files = " or ".join(str(run / "traces.jsonl") for run in runs)
        message = f"a trace has another shape than its benchmark writes ({place}: {error})"
        raise RunFolderError(f"{files}: {message}") from error


def install_hint(extra: str) -> str:
    """Return the command that installs the packages of an extra; lotbench is on no index, so it runs in a clone."""
    return f'pip install -e ".[{extra}]" in a clone of lotbench'


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return `; did you mean NAME?` with the known name that is most like an unknown one; "" if none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - its import takes longer than most of what imports this

    near = get_close_matches(name, list(names), n=1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else ""


def among(name: str, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the known name most like it, if there is one, and all known names."""
    known = list(names)
    near = suggestion(name, known)
    return f"{near} There are: {', '.join(known)}" if near else f"; there are: {', '.join(known)}"


def at(path: Path | str, line: int | None = None, field: str | None = None) -> str:
    """Return the place of a fault in a file as `path:line: field`, without the parts that are not given."""
    place = f"{path}:{line}" if line is not None else f"{path}"
    return ": ".join(part for part in (place, field) if part)


def _message(fault: Any) -> str:
    return str(fault["msg"]).removeprefix("Value error, ")


def faults_of(
    error: ValidationError,
    path: Path | str = "",
    line: int | None = None,
    *,
    field: Callable[[str], str] = str,
    message: Callable[[Any], str] = _message,
) -> list[str]:
    """Return the faults that a pydantic class found in data, one line each: `path:line: field: message`.

    Args:
        error: The error of pydantic.
        path: The file of the data; "" for none.
        line: The line of the data in the file, from 1; None for the whole file.
        field: Returns the name of a field to print, given pydantic's dotted name ("" for the data as a whole).
        message: Returns the message to print, given pydantic's record of the fault.
    """
    lines = []
    for fault in error.errors():
        place = at(path, line, field(".".join(map(str, fault["loc"]))))
        lines.append(": ".join(filter(None, (place, message(fault)))))
    return lines
